package rootsync

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/spiffe"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	spiffemesh "gatehouse.dev/meshsync/spiffe"
)

// byAgent is a binding whose gateways' certificates an agent has.
func byAgent(name, socket string) translate.Bound {
	b := &v1alpha1.MeshBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Spec.Identity.Socket = socket
	b.Spec.TrustBundles = []v1alpha1.TrustBundleReference{{Kind: "ConfigMap", Namespace: "spire", Name: "spire-bundle"}}
	return translate.Bound{Binding: b, Dialect: spiffemesh.Dialect{}}
}

// follow notes what is told of agents.
func (w *world) follow(known map[translate.Key]lbmodel.Held) translate.Change {
	change := w.Change()
	for _, obj := range change.Put {
		if h, is := obj.(*translate.Held); is {
			known[translate.HeldKey(h.Socket, h.SPIFFEID)] = h.Held
		}
	}
	for _, key := range change.Delete {
		delete(known, key)
	}
	return change
}

// await follows until what is known is as wanted.
func (w *world) await(what string, known map[translate.Key]lbmodel.Held, ok func() bool) {
	w.Helper()
	for deadline := time.After(soon); ; {
		w.follow(known)
		if ok() {
			return
		}
		select {
		case <-w.Changed():
		case <-deadline:
			w.Fatalf("waiting for %s: %v", what, known)
		}
	}
}

// TestAgents: the certificates of agents are followed by one stream for each socket, a
// renewal is no news and a taint is, and of an agent that nobody names nothing stays.
func TestAgents(t *testing.T) {
	m := newCA(t, ca.Config{})
	start := func(name string) *spiffe.Agent {
		a, err := spiffe.StartAgent(spiffe.AgentConfig{CA: m, Entries: []spiffe.Entry{{Path: "/a"}, {Path: "/b"}}, Socket: filepath.Join(t.TempDir(), name)})
		do(t, err)
		t.Cleanup(func() { a.Close() })
		return a
	}
	own, other := start("own"), start("other")
	w := newWorld(t, newClock(), Config{Socket: own.Addr()})
	bounds := []translate.Bound{byAgent("x", ""), byAgent("y", own.Addr()), byAgent("z", other.Addr())}
	w.Want(bounds)
	known := map[translate.Key]lbmodel.Held{}
	w.await("all certificates, of each socket as it is named", known, func() bool { return len(known) == 6 })
	if n := len(w.agents.all); n != 2 {
		t.Errorf("%d streams to two agents", n)
	}
	a := translate.HeldKey("", "spiffe://example.org/a")
	first := known[a]
	if first.Authority == "" || first.NotBefore.IsZero() {
		t.Errorf("it has %+v", first)
	}
	if got := known[translate.HeldKey(own.Addr(), "spiffe://example.org/a")]; got != first {
		t.Errorf("the same agent has %+v and %+v", first, got)
	}

	do(t, own.Rotate(), m.Add(ca.Root{Name: "b"})) // a renewal, and a root more
	w.Want(bounds)
	do(t, m.SignBy("b"), other.Rotate())
	z := translate.HeldKey(other.Addr(), "spiffe://example.org/a")
	w.await("the taint at the other agent", known, func() bool { return known[z].Authority != first.Authority })
	if known[a] != first {
		t.Errorf("a renewal of the same authority is told: %+v after %+v", known[a], first)
	}
	do(t, own.Rotate())
	w.await("the taint", known, func() bool { return known[a].Authority == known[z].Authority })
	if !known[a].NotBefore.After(first.NotBefore.Add(-time.Second)) {
		t.Errorf("it is older than what was before: %+v", known[a])
	}

	if all := w.All().Put; len(all) != 6 {
		t.Errorf("who has heard nothing is told of %d, want 6", len(all))
	}
	w.Want(bounds[2:])
	if gone := w.follow(known).Delete; len(known) != 2 || len(gone) != 4 || !slices.Contains(gone, a) {
		t.Errorf("of an agent that nobody names there is %v; deleted are %v", known, gone)
	}
	w.Want(nil)
	w.await("nothing", known, func() bool { return len(known) == 0 })
	b := byAgent("istio", own.Addr())
	b.Dialect = nil
	w.Want([]translate.Bound{b})
	if n := len(w.agents.all); n != 0 {
		t.Errorf("%d agents are followed that sign for nobody", n)
	}
}
