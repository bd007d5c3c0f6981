package istioca

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/istiod"
	"gatehouse.dev/fake/mesh/signing"
	"gatehouse.dev/fake/mesh/tokens"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
)

// TestIssue: a week, for the account, without the root.
func TestIssue(t *testing.T) {
	w := newWorld(t)
	w.do(w.ca.Intermediate("a", 0))
	pair := w.get()
	if got := pair.Leaf.URIs[0].String(); got != id.SPIFFEID || len(pair.Certificate) != 2 {
		t.Errorf("%s with %d certificates, want leaf and intermediate", got, len(pair.Certificate))
	}
	calls := w.istiod.Calls()
	want := tokens.Account{Namespace: "gatehouse-system", Name: "gatehouse-1"}
	if len(calls) != 1 || calls[0].Account != want || calls[0].Life != Lifetime || calls[0].Key != x509.ECDSA {
		t.Errorf("calls %+v", calls)
	}
}

// TestFaults is every way in which a CA breaks.
func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name, why, says string
		fault           signing.Fault
		prepare         func(*world)
		want            lbmodel.Code // zero is a certificate
	}{
		{name: "refused", why: "the CA does not know us", fault: signing.Refuse, want: lbmodel.CodeDenied, says: "Unauthenticated"},
		{name: "token expired", why: "as a token that was kept for too long", prepare: func(w *world) { w.life = -time.Minute }, want: lbmodel.CodeDenied, says: "Unauthenticated"},
		{name: "no token", why: "the API server knows why", want: lbmodel.CodeDenied, says: "serviceaccounts/token", prepare: func(w *world) {
			w.config.Token = func(context.Context, string, meshsync.Account) (string, error) {
				return "", lbmodel.Errorf(lbmodel.CodeDenied, "CreateToken", lbmodel.ID{}, "cannot create serviceaccounts/token")
			}
		}},
		{name: "other audience", why: "TOKEN_AUDIENCES differs", prepare: func(w *world) { w.config.Audience = "other" }, want: lbmodel.CodeDenied, says: "Unauthenticated"},
		{name: "unavailable", why: "istiod restarts", fault: signing.Unavailable, want: lbmodel.CodeUnavailable, says: "istiod is not there"},
		{name: "nobody", why: "the address is wrong", prepare: func(w *world) { w.istiod.Close() }, want: lbmodel.CodeUnavailable, says: "to whom nothing was sent"},
		{name: "wrong key", why: "the answer of another request", fault: signing.WrongKey, want: lbmodel.CodeDenied, says: "another key"},
		{name: "wrong name", why: "it would be somebody else", fault: signing.WrongName, want: lbmodel.CodeDenied, says: "gatehouse-1-other"},
		{name: "expired", why: "backends refuse it", fault: signing.Expired, want: lbmodel.CodeDenied, says: "it ended at"},
		{name: "stranger", why: "no backend trusts it", fault: signing.Stranger, want: lbmodel.CodeDenied, says: "does not verify under the 1 roots"},
		{name: "garbage", why: "no certificate at all", fault: signing.Garbage, want: lbmodel.CodeDenied, says: "element 1: a certificate cannot be parsed"},
		{name: "no roots", why: "the leaf alone is no root", fault: signing.NoRoots},
		{name: "the root in the chain", why: "istio #39001: it is left out", fault: signing.RootTwice},
		{name: "too long", why: "the limit is told", want: lbmodel.CodeInvalid, says: "for 2160h0m0s at most", prepare: func(w *world) { id.Renew.Lifetime = lbmodel.Duration(91 * 24 * time.Hour) }},
		{name: "roots unknown", why: "the system's are not the mesh's", prepare: func(w *world) { w.config.Roots = func() *x509.CertPool { return nil } }, want: lbmodel.CodeUnresolved, says: "no roots are known"},
		{name: "no roots at all", why: "an empty pool believes nobody", prepare: func(w *world) { w.config.Roots = x509.NewCertPool }, want: lbmodel.CodeUnavailable, says: "nothing was sent"},
		{name: "another name", why: "a certificate of the mesh is not yet the CA's", prepare: func(w *world) { w.config.ServerName = "cart.apps.svc" }, want: lbmodel.CodeUnavailable, says: "nothing was sent"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			defer func(was lbmodel.Identity) { id = was }(id)
			if tc.prepare != nil {
				tc.prepare(w)
			}
			if tc.fault != "" {
				w.istiod.Break(tc.fault, 0)
			}
			if tc.want == lbmodel.CodeOK {
				if n := len(w.get().Certificate); n != 1 {
					t.Errorf("%d certificates, want the leaf: %s", n, tc.why)
				}
				return
			}
			if e := w.refused(tc.want); !strings.Contains(e.Error(), tc.says) {
				t.Errorf("%v, want %q: %s", e, tc.says, tc.why)
			}
			if n := len(w.istiod.Calls()); n > 1 {
				t.Errorf("%d calls: nothing is tried again here", n)
			}
		})
	}
}

// TestStrangerGetsNoToken: a server that is not the mesh's CA is told nothing.
func TestStrangerGetsNoToken(t *testing.T) {
	w := newWorld(t)
	stranger, err := ca.New(ca.Config{Name: "stranger", Now: w.theirs.now})
	w.do(err)
	s, err := istiod.Start(istiod.Config{CA: stranger, Tokens: w.tokens.Check})
	w.do(err)
	defer s.Close()
	w.config.Address = s.Addr()
	w.refused(lbmodel.CodeUnavailable)
	if n := len(s.Calls()); n != 0 {
		t.Errorf("the stranger got %d calls", n)
	}
}

// TestPlainTextGetsNoToken: so is a server that speaks no TLS.
func TestPlainTextGetsNoToken(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.do(err)
	heard := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buffer := make([]byte, 4096)
		n, _ := conn.Read(buffer)
		heard <- string(buffer[:n])
	}()
	defer l.Close()
	var token string
	w.config.Address = l.Addr().String()
	w.config.Token = func(ctx context.Context, audience string, a meshsync.Account) (text string, err error) {
		token, err = w.token(ctx, audience, a)
		return token, err
	}
	w.refused(lbmodel.CodeUnavailable)
	if text := <-heard; token == "" || text == "" || strings.Contains(text, token) || text[0] != 0x16 {
		t.Errorf("it heard %.40q, want a TLS hello", text)
	}
}

// TestHang: who gives up is let go at once, and who does not waits for the deadline.
func TestHang(t *testing.T) {
	w := newWorld(t)
	w.istiod.Break(signing.Hang, 0)
	ctx, cancel := context.WithCancel(t.Context())
	came := make(chan error, 1)
	w.config.Token = func(c context.Context, audience string, a meshsync.Account) (string, error) {
		time.AfterFunc(100*time.Millisecond, cancel)
		return w.token(c, audience, a)
	}
	go func() {
		_, err := w.ring(ctx, id)
		came <- err
	}()
	select {
	case err := <-came:
		if lbmodel.CodeOf(err) != lbmodel.CodeUnavailable || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("a cancelled call goes on")
	}
	w.config.Token, w.timeout = w.token, 200*time.Millisecond
	w.start()
	if e := w.refused(lbmodel.CodeUnavailable); !strings.Contains(e.Error(), "did not answer in time") {
		t.Error(e)
	}
	w.istiod.Mend()
	w.timeout = 10 * time.Second
	w.start()
	w.get()
}

// TestClocks: ten minutes between our clock and the mesh's.
func TestClocks(t *testing.T) {
	for _, tc := range []struct {
		name, why string
		off       time.Duration
		want      lbmodel.Code
	}{
		{name: "ours is behind", why: "what was signed is not valid yet, and waits", off: -10 * time.Minute, want: lbmodel.CodePending},
		{name: "ours is ahead", why: "it is valid, and for long enough", off: 10 * time.Minute},
		{name: "ours is a little behind", why: "Istio dates back by two minutes", off: -150 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.get() // istiod's own certificate is from before
			w.theirs.pass(time.Hour)
			w.ours.pass(time.Hour + tc.off)
			w.start()
			if tc.want == lbmodel.CodeOK {
				w.get()
				return
			}
			w.refused(tc.want)
			w.ours.pass(8 * time.Minute)
			w.get()
			if n := len(w.istiod.Calls()); n != 2 {
				t.Errorf("%d calls, want no third: %s", n, tc.why)
			}
		})
	}
}

// TestRotation is the whole way of a plugged-in CA, by istiod on a socket whose own
// certificate rotates too: A, A and B, B signs, B.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	var published issue.Published
	see := func() { published.See(binding, w.roots(), w.ours.now()) }
	w.trusted = published.Trusted(func(string) time.Duration { return 10 * time.Minute })
	w.start()
	see()
	w.use(w.get())
	w.do(w.ca.Add(ca.Root{Name: "b"}), w.ca.Repeat("b"))
	see()
	w.use(w.get()) // A still signs
	w.do(w.ca.SignBy("b"))
	if e := w.refused(lbmodel.CodePending); !strings.Contains(e.Error(), "CN=b") {
		t.Error(e)
	}
	for _, c := range []*clock{w.ours, w.theirs} {
		c.pass(10 * time.Minute)
	}
	b := w.get()
	if n := len(w.istiod.Calls()); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	w.use(b)
	w.do(w.ca.Drop("a"))
	see()
	w.get()

	w.do(w.ca.Add(ca.Root{Name: "c"}), w.ca.SignBy("c"), w.ca.Drop("b")) // at once, which is a mistake
	see()
	w.refused(lbmodel.CodePending)
	w.start() // a restart does not open it
	w.refused(lbmodel.CodePending)
}
