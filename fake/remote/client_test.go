package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
)

// observe is a call of a client.
func observe(tb testing.TB, r *Remote) error {
	tb.Helper()
	_, err := r.Provider.Observe(tb.Context(), lbmodel.Owner{Cluster: "c"}, nil)
	return err
}

// Why: an address is the one thing that Open can be wrong about.
func TestOpen(t *testing.T) {
	for _, c := range []struct{ name, address, want string }{
		{"none", "", "unix:///path/of/the.sock"},
		{"TCP", "http://localhost:80", "unix:///path/of/the.sock"},
		{"relative", "unix://run/s", "unix:///path/of/the.sock"},
		{"too long", "unix:///" + strings.Repeat("x", 200), "use a shorter one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Open(Config{Address: c.address}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Open: %v, want %q", err, c.want)
			}
			if _, err := OpenAdmin(Config{Address: c.address}); err == nil {
				t.Error("OpenAdmin takes it")
			}
		})
	}
}

// Why: whoever cannot prove who they are is refused, whatever the reason, and a
// token may be replaced under a client that runs.
func TestToken(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t)})
	good, err := os.ReadFile(s.TokenFile())
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, Config{Address: s.Address(), TokenFile: s.TokenFile() + ".mine"})
	cases := []struct {
		name, token string
		want        lbmodel.Code
		text        string
	}{
		{"missing", "", lbmodel.CodeDenied, "no such file"},
		{"empty", "\n", lbmodel.CodeDenied, "holds 0 characters"},
		{"cut off", string(good[:10]), lbmodel.CodeDenied, "holds 10 characters"},
		{"another", strings.Repeat("z", 64), lbmodel.CodeDenied, "not that of this cloud"},
		{"a part", string(good[:63]), lbmodel.CodeDenied, "not that of this cloud"},
		{"not a header", "zzzzzzzzzzzzzzzzzz\r\nX: y", lbmodel.CodeUnavailable, "invalid header"},
		{"the right one", string(good), lbmodel.CodeOK, ""},
		{"another again", strings.Repeat("z", 64), lbmodel.CodeDenied, "not that of this cloud"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.token != "" {
				if err := os.WriteFile(s.TokenFile()+".mine", []byte(c.token), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := observe(t, r)
			if lbmodel.CodeOf(err) != c.want || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Errorf("%v, want %s with %q", err, c.want, c.text)
			}
			if err != nil && c.token != "" && len(c.token) > 5 && strings.Contains(err.Error(), c.token) {
				t.Errorf("the error tells the token: %v", err)
			}
		})
	}
}

// Why: a cloud that is not there is one that comes back: the text says what to do,
// and the client needs nothing done to it.
func TestSocketGone(t *testing.T) {
	dir := directory(t)
	r := open(t, Config{Address: scheme + dir + "/cloud.sock"})
	gone := func(when string) {
		t.Helper()
		err := observe(t, r)
		if lbmodel.CodeOf(err) != lbmodel.CodeUnavailable || !strings.Contains(err.Error(), "gatehouse fake-cloud --state DIR --socket "+dir) {
			t.Errorf("%s: %v, want it Unavailable, with the way out", when, err)
		}
	}
	gone("before it was ever started")
	for range 2 {
		s := start(t, ServerConfig{StateDir: dir})
		if err := observe(t, r); err != nil {
			t.Errorf("while it runs: %v", err)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		gone("after it has ended")
	}
	l, err := listen(t.Context(), dir+"/cloud.sock")
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	gone("after it was killed")
}

// Why: a deadline is the caller's, and a call that hangs must not outlive it, on
// either side.
func TestDeadline(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t), Faults: true})
	if err := openAdmin(t, s.Address()).Spoil(t.Context(), Fault{Kind: Hang}); err != nil {
		t.Fatal(err)
	}
	r := open(t, Config{Address: s.Address()})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := r.client.List(ctx, cloud.ListRequest{})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 3*time.Second {
		t.Errorf("after %s: %v, want the deadline's own error", time.Since(began), err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := r.client.List(ctx, cloud.ListRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is over: %v", err)
	}
}

// Why: two replicas of a manager may both be at work for a moment, and neither may
// lose what the other does. Both know all gateways: what nobody wants is anybody's
// to delete.
func TestTwoClients(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t)})
	admin, at := openAdmin(t, s.Address()), backend(t)
	named := func(client, n int) lbmodel.Gateway { return gateway(fmt.Sprintf("g%d-%d", client, n), at) }
	var work sync.WaitGroup
	for client := range 2 {
		a := account(open(t, Config{Address: s.Address()}))
		for other := range 6 {
			a.Want(named(other/3, other%3))
		}
		for n := range 3 {
			p := plan(t, a, named(client, n))
			work.Go(func() {
				if err := a.Apply(t.Context(), p, nil).Err(); err != nil {
					t.Error(err)
				}
			})
		}
		work.Go(func() {
			for range 20 { // while it is being changed
				if err := admin.Program(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	if err := admin.Program(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := admin.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if state.Objects[cloud.KindBalancer] != 6 || len(state.Bound) != 6 {
		t.Errorf("%d balancers, %d sockets; want 6 of each", state.Objects[cloud.KindBalancer], len(state.Bound))
	}
	for client := range 2 {
		for n := range 3 {
			if err := says(s.Bound, fmt.Sprintf("g%d-%d", client, n))(); err != nil {
				t.Errorf("gateway %d-%d: %v", client, n, err)
			}
		}
	}
}

// Why: what is wrong must be told as the cloud itself would, or the engine would
// do another thing about it.
func TestErrorsKeepTheirCode(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t), Faults: true})
	admin, r := openAdmin(t, s.Address()), open(t, Config{Address: s.Address()})
	for _, code := range []cloud.FaultCode{
		cloud.InvalidArgument, cloud.UnknownLocation, cloud.NotFound, cloud.ReferenceNotFound, cloud.AlreadyExists, cloud.SlotTaken,
		cloud.InUse, cloud.Immutable, cloud.VersionMismatch, cloud.KeyMismatch, cloud.LimitExceeded, cloud.Throttled,
		cloud.AccessDenied, cloud.NotReady, cloud.ServiceDown, cloud.Unexplained,
	} {
		t.Run(string(code), func(t *testing.T) {
			fault := Fault{Kind: Refuse, Code: code, Message: "because", RetryAfter: lbmodel.Duration(1234 * time.Microsecond)}
			if err := admin.Spoil(t.Context(), fault); err != nil {
				t.Fatal(err)
			}
			_, err := r.client.Get(t.Context(), "fake/local/Rule/1")
			call, ok := errors.AsType[*cloud.CallError](err)
			if !ok || call.Code != code || call.Message != "because" || call.RetryAfter != 1234*time.Microsecond {
				t.Errorf("%v, %+v", err, call)
			}
		})
	}
}

// Why: nothing to do costs nothing.
func TestNothingToDoCallsNobody(t *testing.T) {
	s := start(t, ServerConfig{StateDir: directory(t)})
	a, gw := account(open(t, Config{Address: s.Address()})), gateway("g", backend(t))
	apply(t, a, gw)
	before := fmt.Sprint(s.State().Calls)
	for range 10 {
		apply(t, a, gw)
	}
	if after := fmt.Sprint(s.State().Calls); after != before {
		t.Errorf("calls: %s, before %s", after, before)
	}
}
