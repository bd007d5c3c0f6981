package spiffeca

import (
	"context"
	"crypto/x509"
	"path/filepath"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/spiffe"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// chain is the certificate that the agent has for an ID.
func (w *world) chain(id string) []*x509.Certificate {
	w.Helper()
	pair, err := New(w.agent.Addr()).Hold(w.Context(), meshsync.Request{Identity: lbmodel.Identity{SPIFFEID: id}})
	if err != nil {
		w.Fatal(err)
	}
	var out []*x509.Certificate
	for _, der := range pair.Certificate {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			w.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// second starts another agent.
func (w *world) second(socket string) {
	w.Helper()
	agent, err := spiffe.StartAgent(spiffe.AgentConfig{CA: w.ca, Socket: socket, Entries: []spiffe.Entry{{Path: "/gatehouse"}}})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { agent.Close() })
}

// soon bounds what is on its way.
const soon = 20 * time.Second

// told is what came last; the test fails when nothing does.
func told(t *testing.T, news <-chan map[string]lbmodel.Held) map[string]lbmodel.Held {
	t.Helper()
	select {
	case all := <-news:
		return all
	case <-time.After(soon):
		t.Fatal("nothing is told")
		return nil
	}
}

// TestWatch: what the agent has is told at once and with each renewal, a tainted root's
// too, of which its bundle says nothing.
func TestWatch(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	news, ended := make(chan map[string]lbmodel.Held, 10), make(chan struct{})
	go func() {
		defer close(ended)
		New(w.agent.Addr()).Watch(ctx, func(all map[string]lbmodel.Held) { news <- all })
	}()
	const id = "spiffe://example.org/gatehouse"
	first := told(t, news)
	if len(first) != 3 || first[id].Authority == "" || first[id].NotBefore.IsZero() {
		t.Fatalf("told %+v", first)
	}
	if err := w.ca.Add(ca.Root{Name: "b"}); err != nil { // prepare
		t.Fatal(err)
	}
	if got := told(t, news); got[id] != first[id] {
		t.Errorf("a root alone made it %+v of %+v", got[id], first[id])
	}
	if err := w.ca.SignBy("b"); err != nil { // activate
		t.Fatal(err)
	}
	told(t, news)
	if err := w.agent.Rotate(); err != nil { // taint
		t.Fatal(err)
	}
	got := told(t, news)
	roots, err := lbmodel.ParseRoots(w.ca.Bundle())
	if err != nil {
		t.Fatal(err)
	}
	if len(roots) != 2 || got[id].Authority == first[id].Authority || got[id].Authority != lbmodel.AuthorityOf(w.chain(id)) {
		t.Errorf("after a taint it is %+v, with %d roots; before %+v", got[id], len(roots), first[id])
	}
	cancel()
	<-ended
	New("").Watch(t.Context(), func(map[string]lbmodel.Held) { t.Error("nobody tells something") })
	New("no address").Watch(t.Context(), func(map[string]lbmodel.Held) { t.Error("nobody tells something") })
}

// TestWatchWaits: an agent that starts later is found.
func TestWatchWaits(t *testing.T) {
	w := newWorld(t)
	socket := filepath.Join(t.TempDir(), "b")
	ctx, cancel := context.WithCancel(t.Context())
	news, ended := make(chan map[string]lbmodel.Held, 10), make(chan struct{})
	go func() {
		defer close(ended)
		New("unix://"+socket).Watch(ctx, func(all map[string]lbmodel.Held) { news <- all })
	}()
	defer func() {
		cancel()
		<-ended
	}()
	w.second(socket)
	if got := told(t, news); len(got) != 1 {
		t.Errorf("told %+v", got)
	}
}
