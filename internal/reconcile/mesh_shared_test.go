package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/internal/translate"
)

// TestSharedRoot: of two bindings that share a root, one lets another go. The second
// never had that one, and does not tell of it.
func TestSharedRoot(t *testing.T) {
	w := newMeshWorld(t)
	second := w.last.DeepCopy()
	second.Name = "second"
	second.Spec.TrustBundles = []v1alpha1.TrustBundleReference{{Kind: "ConfigMap", Namespace: "istio-system", Name: "second", Key: "ca.crt"}}
	own := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: "second"},
		Data:       map[string]string{"ca.crt": string(ca.PEM(w.mesh.Root("A")))},
	}
	w.loop.Change(translate.Change{Put: []any{second, own}})
	for _, change := range []func() error{
		func() error { return w.mesh.Add(ca.Root{Name: "B"}) },
		func() error { return w.mesh.Drop("B") },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		w.loop.Change(translate.Change{Put: []any{w.bundle()}})
		planned, err := w.loop.Plan(t.Context(), w.all())
		if err != nil {
			t.Fatal(err)
		}
		if done := w.loop.Apply(t.Context(), planned, nil); !done.Settled() {
			t.Fatalf("the pass failed: %v", done.Groups[0].Outcome.Err())
		}
		w.now = w.now.Add(time.Minute)
	}
	got := w.statesOf()
	if !strings.Contains(got["istio"], "? Removing") {
		t.Errorf("the binding that let a root go tells %q, want that it is Removing", got["istio"])
	}
	if strings.Contains(got["second"], "Removing") {
		t.Errorf("the other binding tells %q, want nothing of a root that it never had", got["second"])
	}
}

// statesOf are the roots of each binding, as its status would tell them.
func (w *meshWorld) statesOf() map[string]string {
	w.t.Helper()
	planned, err := w.loop.Plan(w.t.Context(), w.all())
	if err != nil {
		w.t.Fatal(err)
	}
	results := map[translate.Key]translate.Result{}
	for _, g := range w.loop.Gateways() {
		results[g.Key] = g.Result
	}
	outcomes := w.loop.OutcomesOf(w.all(), planned, w.loop.Apply(w.t.Context(), planned, nil))
	out := map[string]string{}
	for _, p := range translate.BindingStatus(w.loop.Index(), results, outcomes, metav1.NewTime(w.now)) {
		var states []string
		for _, r := range p.Status.(*v1alpha1.MeshBindingStatus).Roots {
			states = append(states, w.nameOf(r.SHA256)+" "+string(r.State))
		}
		slices.Sort(states)
		out[p.Key.Name] = strings.Join(states, ", ")
	}
	return out
}
