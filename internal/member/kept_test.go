package member

import (
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/internal/rootsync"
	"gatehouse.dev/lbmodel"
)

// unreadableMesh is istioMesh with roots that are none.
var unreadableMesh = strings.Replace(istioMesh, "root-cert.pem: ROOTS", "root-cert.pem: junk", 1)

// TestUnreadable: while a mesh's roots cannot be read, certificates are renewed by the
// last good ones, and by none that has ended.
func TestUnreadable(t *testing.T) {
	w := newWorld(t)
	var err error
	w.ca, err = ca.New(ca.Config{Now: w.clock, RootLife: 48 * time.Hour})
	w.do(err)
	w.istiod()
	w.read(istioMesh, "")
	m := w.members()
	m.Over(w)
	w.read(unreadableMesh, "")
	m.See()
	if b, _ := w.Index().Bound("mesh"); !b.Trust.Unknown || len(b.Trust.Roots) > 0 {
		t.Fatalf("the binding's roots are %+v, want unknown ones", b.Trust)
	}
	w.pass(24 * time.Hour)
	pair, err := m.Keyring(noSecrets)(t.Context(), w.identity())
	if err != nil {
		t.Fatalf("after a day without roots: %v", err)
	}
	w.live(w.identity(), pair)
	w.pass(48 * time.Hour)
	if _, err := m.Keyring(noSecrets)(t.Context(), w.identity()); err == nil {
		t.Error("a certificate was issued under a root that has ended")
	}
	fresh := w.members()
	fresh.Over(w)
	if _, err := fresh.Keyring(noSecrets)(t.Context(), w.identity()); err == nil {
		t.Error("a certificate was issued by who never saw a root")
	}
}

// TestRecall: who goes on after a restart knows since when a root is published, and who
// remembers nothing, or too much, waits anew.
func TestRecall(t *testing.T) {
	w := newWorld(t)
	w.istiod()
	w.read(istioMesh, "")
	m := w.members()
	m.Over(w)
	id := w.identity()
	pair, err := m.Keyring(noSecrets)(t.Context(), id)
	w.do(err)
	w.live(id, pair)
	w.do(w.ca.Add(ca.Root{Name: "b"}))
	w.read(istioMesh, "")
	m.See()
	w.do(w.ca.SignBy("b"))
	w.pass(13 * time.Hour)
	kept := m.Remember()
	ahead := map[string]rootsync.Binding{"mesh": {Roots: kept["mesh"].Roots, Seen: map[string]time.Time{}}}
	for key := range kept["mesh"].Seen {
		ahead["mesh"].Seen[key] = w.clock().Add(time.Hour)
	}
	for _, c := range []struct {
		name, why string
		kept      map[string]rootsync.Binding
		mesh      string
		want      lbmodel.Code
	}{
		{"all of it", "proxies had the time", kept, istioMesh, lbmodel.CodeOK},
		{"and the roots cannot be read now", "they were, when it was written", kept, unreadableMesh, lbmodel.CodeOK},
		{"nothing", "a lost record makes it longer", nil, istioMesh, lbmodel.CodePending},
		{"of another binding", "", map[string]rootsync.Binding{"other": kept["mesh"]}, istioMesh, lbmodel.CodePending},
		{"without times", "too long ago: see rootsync.Decode", map[string]rootsync.Binding{"mesh": {Roots: kept["mesh"].Roots}}, istioMesh, lbmodel.CodePending},
		{"from a clock that was ahead", "", ahead, istioMesh, lbmodel.CodePending},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.read(c.mesh, "")
			next := w.members()
			next.Recall(c.kept)
			next.Over(w)
			if _, err := next.Keyring(noSecrets)(t.Context(), w.identity()); lbmodel.CodeOf(err) != c.want {
				t.Errorf("%s: %v, want %s", c.why, err, c.want)
			}
		})
	}
}

// TestForgets: a binding that is gone leaves nothing behind, so that one of its name
// begins anew.
func TestForgets(t *testing.T) {
	w := newWorld(t)
	w.read(istioMesh, "")
	m := w.members()
	m.Over(w)
	b, _ := w.Index().Bound("mesh")
	if root := b.Trust.Roots[0]; m.Since("mesh", root).IsZero() || len(m.Remember()) != 1 {
		t.Fatalf("what is there is not remembered: %+v", m.Remember())
	}
	w.read("", "")
	m.See()
	if left := m.Remember(); len(left) > 0 || !m.Since("mesh", b.Trust.Roots[0]).IsZero() {
		t.Errorf("what is gone is remembered: %+v", left)
	}
}

// TestForgetsAdmitted: a MeshTrust that goes and comes again is known for as long as it is
// there again, and so is that of a binding which is made anew: proxies forgot it too.
func TestForgetsAdmitted(t *testing.T) {
	for _, c := range []struct{ name, old, new string }{
		{"the MeshTrust goes", "trustDomain: gatehouse", "trustDomain: elsewhere"},
		{"the binding goes", "metadata: {name: mesh}", "metadata: {name: another}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			own, err := ca.New(ca.Config{Name: "kuma"})
			w.do(err)
			mesh := strings.ReplaceAll(kumaMesh, "OWN", `"`+strings.ReplaceAll(string(own.Bundle()), "\n", `\n`)+`"`)
			m := w.members()
			w.read(mesh, "")
			m.Over(w)
			began, root := w.clock(), w.Index().Bounds()[0].Admits[0]
			since := func(text string) time.Time {
				w.read(text, "")
				m.See()
				return m.admitted.Since(issuerOf("mesh"), root)
			}
			w.pass(time.Hour)
			if at := since(mesh); !at.Equal(began) {
				t.Fatalf("what stays is known since %s, want %s", at, began)
			}
			without := strings.Replace(mesh, c.old, c.new, 1)
			if at := since(without); without == mesh || !at.IsZero() {
				t.Errorf("what is gone is known since %s", at)
			}
			if at := since(mesh); !at.Equal(w.clock()) {
				t.Errorf("what comes again is known since %s, want %s", at, w.clock())
			}
		})
	}
}
