package reconcile_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/istio"
	"gatehouse.dev/providers"
)

const strictPods = base + `---
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: istio}
spec: {controllerName: istio.io/istio, gateways: {namespaceSelector: {}}}
---
apiVersion: v1
kind: Pod
metadata: {name: member, annotations: {sidecar.istio.io/status: "{}"}}
spec: {containers: [{name: app}, {name: istio-proxy}]}
status: {podIP: 10.0.0.1}
`

// meshWorld is a loop over an in-memory cloud, and a mesh whose roots are published in
// a ConfigMap.
type meshWorld struct {
	*world
	mesh *ca.CA
	now  time.Time
	last *v1alpha1.MeshBinding
}

func newMeshWorld(t *testing.T) *meshWorld {
	t.Helper()
	w := &meshWorld{now: time.Now().Truncate(time.Second)}
	clock := func() time.Time { return w.now }
	mesh, err := ca.New(ca.Config{Root: "A", Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	c, err := cloud.New(cloud.Options{AddressDelay: -1, HealthDelay: -1, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	p := cloud.NewProvider(c, func(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) {
		return mesh.Issue(ca.Request{URIs: []string{id.SPIFFEID}, Life: 90 * 24 * time.Hour})
	})
	account := providers.NewAccount(providers.Config{Provider: p, Cluster: "c", Name: "fake", Clock: providers.Clock{Now: clock, After: time.After}})
	w.mesh, w.world = mesh, &world{t: t, cloud: c, account: account}
	w.snapshot = w.read(strictPods).Snapshot
	strict := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"mtls": map[string]any{"mode": "STRICT"}}}}
	strict.SetAPIVersion("security.istio.io/v1")
	strict.SetKind("PeerAuthentication")
	strict.SetNamespace("istio-system")
	strict.SetName("default")
	w.snapshot.MeshObjects = []*unstructured.Unstructured{strict}
	w.snapshot.ConfigMaps = append(w.snapshot.ConfigMaps, w.bundle())
	w.last = w.snapshot.MeshBindings[0]
	x := translate.New(w.snapshot, translate.Options{
		Controllers: map[string]string{"gatehouse.dev/fake": "fake"},
		Dialects:    map[string]meshsync.Dialect{istio.Controller: istio.Dialect{}},
	})
	w.loop = reconcile.New(x, map[string]*providers.Account{"fake": account})
	return w
}

func (w *meshWorld) bundle() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: "istio-ca-root-cert"},
		Data:       map[string]string{"root-cert.pem": string(w.mesh.Bundle())},
	}
}

// step takes the mesh's roots as they are, and says what the binding's status is
// before and after a pass.
func (w *meshWorld) step() (before, after string) {
	w.t.Helper()
	w.loop.Change(translate.Change{Put: []any{w.bundle()}})
	planned, err := w.loop.Plan(w.t.Context(), w.all())
	if err != nil {
		w.t.Fatal(err)
	}
	before = w.states(planned, reconcile.Pass{})
	done := w.loop.Apply(w.t.Context(), planned, nil)
	if !done.Settled() {
		w.t.Fatalf("the pass failed: %v", done.Groups[0].Outcome.Err())
	}
	return before, w.states(planned, done)
}

// states writes the binding's status and names its roots by their subjects.
func (w *meshWorld) states(planned, done reconcile.Pass) string {
	w.t.Helper()
	results := map[translate.Key]translate.Result{}
	for _, g := range w.loop.Gateways() {
		results[g.Key] = g.Result
	}
	outcomes := w.loop.OutcomesOf(w.all(), planned, done)
	for _, p := range translate.BindingStatus(w.loop.Index(), results, outcomes, metav1.NewTime(w.now)) {
		w.last = w.last.DeepCopy()
		w.last.Status = *p.Status.(*v1alpha1.MeshBindingStatus)
		w.loop.Change(translate.Change{Put: []any{w.last}})
	}
	var out []string
	for _, r := range w.last.Status.Roots {
		out = append(out, w.nameOf(r.SHA256)+" "+string(r.State))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (w *meshWorld) nameOf(sha256 string) string {
	for _, name := range []string{"A", "B"} {
		if c := w.mesh.Root(name); c != nil && sumOf(w.t, c) == sha256 {
			return name
		}
	}
	return "?"
}

func sumOf(t *testing.T, c *x509.Certificate) string {
	t.Helper()
	roots, err := lbmodel.ParseRoots(ca.PEM(c))
	if err != nil {
		t.Fatal(err)
	}
	return roots[0].SHA256
}

// TestRootsOfABinding is a rotation of a mesh's roots, as the binding's status tells
// it: what is published and what the cloud holds. Of a root that was dropped nobody
// knows the name any more.
func TestRootsOfABinding(t *testing.T) {
	w := newMeshWorld(t)
	for i, c := range []struct {
		name, why     string
		change        func() error
		before, after string
	}{
		{"A", "nothing is there yet", func() error { return nil }, "A Adding", "A Trusted"},
		{"A and B", "", func() error { return w.mesh.Add(ca.Root{Name: "B"}) }, "A Trusted, B Adding", "A Trusted, B Trusted"},
		{"B signs", "no root changes", func() error { return w.mesh.SignBy("B") }, "A Trusted, B Trusted", "A Trusted, B Trusted"},
		{"B", "A stays for the overlap", func() error { return w.mesh.Drop("A") }, "? Removing, B Trusted", "? Removing, B Trusted"},
		{"a day later", "and then goes", func() error { w.now = w.now.Add(25 * time.Hour); return nil }, "? Removing, B Trusted", "B Trusted"},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		before, after := w.step()
		if got, want := fmt.Sprintf("%s; %s", before, after), c.before+"; "+c.after; got != want {
			t.Errorf("step %d, %s: %s: got %q, want %q", i, c.name, c.why, got, want)
		}
	}
}

// TestRootsUnread: while nobody can read what a mesh publishes, what the cloud holds
// is told all the same.
func TestRootsUnread(t *testing.T) {
	w := newMeshWorld(t)
	w.step()
	gone := w.bundle()
	gone.Data = nil
	w.loop.Change(translate.Change{Put: []any{gone}})
	if _, err := w.loop.Plan(t.Context(), w.all()); err != nil {
		t.Fatal(err)
	}
	for _, g := range w.loop.Gateways() {
		held := w.loop.Roots(g)["MeshBinding/istio"]
		if !g.Result.Meshes[0].Trust.Unknown || len(held) != 1 || w.nameOf(held[0].SHA256) != "A" {
			t.Errorf("%s holds %v, want A", g.Key, held)
		}
	}
}
