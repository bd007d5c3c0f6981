package translate

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRevisionComesAndGoes: a ConfigMap of a revision of istiod, whose name nobody could
// know before, concerns the mesh's members at once, and one of anything else does not.
func TestRevisionComesAndGoes(t *testing.T) {
	x := indexOf(t, strings.Replace(readFile(t, "mesh-istio-strict", "in.yaml"), `sidecar.istio.io/status: "{}"`, `sidecar.istio.io/status: '{"revision":"blue"}'`, 1))
	x, _ = x.With(Change{Delete: []Key{{KindConfigMap, "istio-system", "istio"}}})
	config := func(name, key, text string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: name}, Data: map[string]string{key: text}}
	}
	for _, c := range []struct {
		name, why string
		change    Change
		revision  string
		names     string
		concerned int
	}{
		{"its injector", "there is no mesh configuration in it", Change{Put: []any{config("istio-sidecar-injector-blue", "config", "policy: enabled")}}, "", "spiffe://cluster.local/ns/apps/sa/shop", 0},
		{"blue", "", Change{Put: []any{config("istio-blue", "mesh", "trustDomain: blue.test")}}, "blue", "spiffe://blue.test/ns/apps/sa/shop", 1},
		{"green, alike", "mesh check tells of it", Change{Put: []any{config("istio-green", "mesh", "trustDomain: blue.test")}}, "blue", "spiffe://blue.test/ns/apps/sa/shop", 1},
		{"the same again", "", Change{Put: []any{config("istio-green", "mesh", "trustDomain: blue.test")}}, "blue", "spiffe://blue.test/ns/apps/sa/shop", 0},
		{"blue is gone", "an upgrade is over", Change{Delete: []Key{{KindConfigMap, "istio-system", "istio-blue"}}}, "green", "spiffe://blue.test/ns/apps/sa/shop", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, keys := x.With(c.change)
			x = next
			if b, _ := x.Bound("istio"); len(keys) != c.concerned || b.Mesh.Revision != c.revision {
				t.Errorf("revision %q, concerns %v; want %q, %d: %s", b.Mesh.Revision, keys, c.revision, c.concerned, c.why)
			}
			r, _ := memberOf(t, x)
			var names []string
			for _, n := range r.Gateway.Pools[0].TLS.SANs {
				names = append(names, n.Value)
			}
			slices.Sort(names)
			want(t, c.why, strings.Join(slices.Compact(names), " "), c.names)
		})
	}
}
