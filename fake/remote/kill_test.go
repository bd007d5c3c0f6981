package remote

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// childVariable makes the test binary the server that is killed, and says in which
// directory it works.
const childVariable = "GATEHOUSE_FAKE_REMOTE_CHILD"

// child is `gatehouse fake-cloud` without its flags. It prints a line when it
// listens.
func child(dir string) int {
	s, err := Start(context.Background(), ServerConfig{StateDir: dir, Ports: dataplane.PortsExact})
	if err == nil {
		fmt.Println(s.Address())
		err = s.Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// victim is a server in a process of its own.
type victim struct {
	process *exec.Cmd
	address string
}

func startVictim(tb testing.TB, dir string) *victim {
	tb.Helper()
	v := &victim{process: exec.Command(os.Args[0])}
	v.process.Env = append(os.Environ(), childVariable+"="+dir)
	v.process.Stderr = os.Stderr
	out, err := v.process.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := v.process.Start(); err != nil {
		tb.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatalf("the server does not start: %v, %v", err, v.process.Wait())
	}
	v.address = line[:len(line)-1]
	return v
}

// kill is kill -9.
func (v *victim) kill(tb testing.TB) {
	tb.Helper()
	if err := v.process.Process.Kill(); err != nil {
		tb.Error(err)
	}
	_ = v.process.Wait() // it says that it was killed
}

// crowd is a number of gateways that differ from round to round.
func crowd(round int, at netip.AddrPort) []lbmodel.Gateway {
	var out []lbmodel.Gateway
	for n := range 4 {
		gw := gateway(fmt.Sprintf("g%d", n), at)
		gw.Listeners[0].Rules[0].Source.Section = fmt.Sprint(round)
		gw.Listeners[0].Rules = append(gw.Listeners[0].Rules, gw.Listeners[0].Rules[0])
		gw.Listeners[0].Rules[0].Match.Path.Value = fmt.Sprintf("/round-%d", round)
		out = append(out, gw)
	}
	return out
}

// Why: a cloud may die at any moment, also in the middle of a call. What was
// confirmed is there afterwards, served at the same addresses with the same keys,
// and whoever was at work finishes in its next pass, with nothing there twice.
func TestKilled(t *testing.T) {
	dir, at := directory(t), backend(t)
	steady, keys := secure(t, "steady", at)
	v := startVictim(t, dir)
	r := open(t, Config{Address: v.address, Keyring: keys.key})
	apply(t, account(r), steady)
	admin := openAdmin(t, v.address)
	if err := admin.Program(t.Context()); err != nil {
		t.Fatal(err)
	}
	where := boundOf(t, admin, "steady")
	random := rand.New(rand.NewPCG(3, 3))
	interrupted := 0
	for round := range 8 {
		gateways := crowd(round, at)
		a := account(r)
		p := plan(t, a, gateways...)
		ended := make(chan error, 1)
		go func() { ended <- a.Apply(t.Context(), p, nil).Err() }()
		time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
		v.kill(t)
		if err := <-ended; err != nil {
			interrupted++
		}
		v = startVictim(t, dir)
		if got := shown(t, where); got != keys.leaf.SHA256 { // before anybody calls
			t.Fatalf("round %d: leaf %s is shown", round, got)
		}
		finish(t, account(r), gateways)
		expectOnce(t, admin, len(gateways)+1)
	}
	v.kill(t)
	if keys.asked != 1 {
		t.Errorf("the key was asked for %d times, want once", keys.asked)
	}
	if interrupted == 0 {
		t.Error("no apply was interrupted: the test shows nothing")
	}
}

func boundOf(tb testing.TB, admin *Admin, name string) netip.AddrPort {
	tb.Helper()
	state, err := admin.State(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	for _, b := range state.Bound {
		if b.Owner.Name == name {
			return b.Addr
		}
	}
	tb.Fatalf("%s is not bound: %+v", name, state)
	return netip.AddrPort{}
}

// finish is a new process that carries on.
func finish(tb testing.TB, a *providers.Account, gateways []lbmodel.Gateway) {
	tb.Helper()
	apply(tb, a, gateways...)
	if p := plan(tb, a, gateways...); !p.Empty() {
		tb.Errorf("there is still to do: %v", p.Steps)
	}
}

// expectOnce expects one balancer and one address for each gateway.
func expectOnce(tb testing.TB, admin *Admin, n int) {
	tb.Helper()
	state, err := admin.State(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if state.Objects[cloud.KindBalancer] != n || state.Objects[cloud.KindAddress] != n || state.Objects[cloud.KindCertificate] != 1 {
		tb.Errorf("objects: %v, want %d of a kind and one certificate", state.Objects, n)
	}
}

// Why: what the caller does, or that it dies, is nothing to traffic. Only while the
// cloud itself is down, nothing answers.
func TestTrafficOutlivesTheCaller(t *testing.T) {
	dir, at := directory(t), backend(t)
	v := startVictim(t, dir)
	apply(t, account(open(t, Config{Address: v.address})), gateway("g", at))
	admin := openAdmin(t, v.address)
	if err := admin.Program(t.Context()); err != nil {
		t.Fatal(err)
	}
	where := boundOf(t, admin, "g")
	ctx, cancel := context.WithCancel(t.Context())
	var asked, lost atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if got, err := get(where); err != nil || got != "200 hello" {
				lost.Add(1)
			}
			asked.Add(1)
		}
	}()
	for n := range 5 { // callers that come, change something, and are gone in the middle
		r := open(t, Config{Address: v.address})
		short, stop := context.WithTimeout(t.Context(), time.Duration(n)*5*time.Millisecond)
		a := account(r)
		p := plan(t, a, crowd(n, at)...)
		_ = a.Apply(short, p, nil) // some of it
		stop()
	}
	eventually(t, "traffic", func() error {
		if n := asked.Load(); n < 50 {
			return fmt.Errorf("%d requests", n)
		}
		return nil
	})
	cancel()
	<-done
	if lost.Load() > 0 {
		t.Errorf("%d of %d requests were lost", lost.Load(), asked.Load())
	}
	v.kill(t)
	if _, err := get(where); err == nil {
		t.Error("somebody answers for a dead cloud")
	}
	v = startVictim(t, dir)
	if got, err := get(where); err != nil || got != "200 hello" {
		t.Errorf("after the restart: %q, %v", got, err)
	}
	v.kill(t)
}
