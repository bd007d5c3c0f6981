package reconcile_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// TestLatestMissing. Why this table: an editor takes an object away for a moment,
// and a person takes it away for good. A row is the looks, a second apart: y sees
// the object, n does not, and ? could not read something.
func TestLatestMissing(t *testing.T) {
	tests := []struct {
		name, looks string
		there       bool
	}{
		{"seen always", "yyy", true},
		{"missing once", "yn", true},
		{"missing twice", "ynn", false},
		{"back in between", "ynyn", true},
		{"something unreadable in between", "yn?n", true},
		{"unreadable all the time", "y????", true},
		{"unreadable, and then missing for good", "y?nn", false},
		{"gone and come back", "ynny", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := reconcile.Latest{Patience: time.Second}
			now := time.Unix(0, 0)
			for _, look := range tt.looks {
				next, absent := translate.Snapshot{}, reconcile.Removed
				switch look {
				case 'y':
					next.ConfigMaps = []*corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "m"}}}
				case '?':
					absent = reconcile.Unproven
				}
				if _, again := l.Take(next, absent, now); again > time.Second || again > 0 != (look == 'n' && len(l.Missing()) > 0) {
					t.Errorf("to be looked at again after %s", again)
				}
				now = now.Add(time.Second)
			}
			if there := len(l.Snapshot.ConfigMaps) == 1; there != tt.there {
				t.Errorf("the object counts: %v, want %v", there, tt.there)
			}
		})
	}
}

// TestLatestSecret: a Secret that cannot be used any more keeps its last good
// version, as long as it is there, and that is told.
func TestLatestSecret(t *testing.T) {
	secret := func(problem, sum string) translate.Snapshot {
		return translate.Snapshot{Secrets: []*translate.Secret{{Namespace: "d", Name: "s", Problem: problem, Leaf: &lbmodel.Leaf{SHA256: sum}}}}
	}
	l := reconcile.Latest{}
	l.Take(secret("", "one"), reconcile.Removed, time.Unix(0, 0))
	for range 2 {
		d, _ := l.Take(secret("the key does not match", "two"), reconcile.Removed, time.Unix(1, 0))
		if !d.Empty() || l.Snapshot.Secrets[0].Leaf.SHA256 != "one" || len(l.Usable()) != 1 {
			t.Errorf("the last good version does not count: %+v", l.Snapshot.Secrets[0])
		}
		if len(l.Kept) != 1 || !strings.Contains(l.Kept[0].Detail, "the key does not match") {
			t.Errorf("that it is kept is not told: %v", l.Kept)
		}
	}
	if d, _ := l.Take(secret("", "three"), reconcile.Removed, time.Unix(2, 0)); d.Empty() || len(l.Kept) != 0 {
		t.Error("a good one does not replace it")
	}
	if d, _ := l.Take(translate.Snapshot{}, reconcile.Removed, time.Unix(3, 0)); len(d.Delete) != 1 || len(l.Snapshot.Secrets) != 0 {
		t.Error("one that was removed is kept")
	}
}

// TestLatestImmutable: what an API server refuses to change is refused here as well,
// whole, and told; whoever means it removes the object first.
func TestLatestImmutable(t *testing.T) {
	read := func(class, mesh string, minimum v1alpha1.TLSLevel) translate.Snapshot {
		return translate.Snapshot{
			GatewayClasses: []*gwv1.GatewayClass{{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: gwv1.GatewayClassSpec{ControllerName: gwv1.GatewayController(class)}}},
			MeshBindings: []*v1alpha1.MeshBinding{{ObjectMeta: metav1.ObjectMeta{Name: "m"},
				Spec: v1alpha1.MeshBindingSpec{ControllerName: mesh, MinimumTLS: minimum}}},
		}
	}
	l := reconcile.Latest{}
	l.Take(read("gatehouse.dev/fake", "istio.io/istio", v1alpha1.TLSClientAndServer), reconcile.Removed, time.Unix(0, 0))
	d, _ := l.Take(read("gatehouse.dev/fak", "istio.io/isto", v1alpha1.TLSServerOnly), reconcile.Removed, time.Unix(1, 0))
	if !d.Empty() || len(l.Kept) != 2 || !strings.Contains(l.Kept[1].Detail, "goes on as istio.io/istio, and not as istio.io/isto") {
		t.Errorf("what is immutable was changed: %+v; told %v", d, l.Kept)
	}
	if d, _ = l.Take(read("gatehouse.dev/fake", "istio.io/istio", v1alpha1.TLSServerOnly), reconcile.Removed, time.Unix(2, 0)); len(d.Put) != 1 || len(l.Kept) != 0 {
		t.Errorf("what may be changed was not: %+v; told %v", d, l.Kept)
	}
	l.Take(translate.Snapshot{}, reconcile.Removed, time.Unix(3, 0))
	if d, _ = l.Take(read("example.com/other", "linkerd.io/linkerd", ""), reconcile.Removed, time.Unix(4, 0)); len(d.Put) != 2 || len(l.Kept) != 0 {
		t.Errorf("objects that are new are refused: %+v; told %v", d, l.Kept)
	}
}
