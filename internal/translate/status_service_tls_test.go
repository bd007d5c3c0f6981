package translate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serviceTLSText is what patches say of Services.
func serviceTLSText(patches []Patch) string {
	var out []string
	for _, p := range patches {
		line := p.Key.Name
		for _, c := range p.Status.(*corev1.ServiceStatus).Conditions {
			line += fmt.Sprintf(" %s=%s/%s (%s)", c.Type, c.Status, c.Reason, c.Message)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// TestServiceTLS: what a Service says of how members of meshes reach it.
func TestServiceTLS(t *testing.T) {
	for _, c := range []struct {
		name, why, text string
		want            string
	}{
		{"mesh-istio-strict", "", readFile(t, "mesh-istio-strict", "in.yaml"),
			"a fake.gatehouse.dev/BackendTLS=True/ProtectedWithLosses (port 80, ServiceAccount shop: Direct ClientAndServer without AppHealth as spiffe://cluster.local/ns/apps/sa/shop)"},
		{"mesh-istio-permissive", "each provider speaks for itself", readFile(t, "mesh-istio-permissive", "in.yaml"),
			"a fake.gatehouse.dev/BackendTLS=True/ProtectedWithLosses (port 80, ServiceAccount shop: Direct ClientAndServer without AppHealth as spiffe://cluster.local/ns/apps/sa/shop) " +
				"gcplike.gatehouse.dev/BackendTLS=False/PermissiveInbound (port 80, ServiceAccount shop: Blocked PermissiveInbound)"},
		{"mesh-linkerd-accounts", "two groups of one port", readFile(t, "mesh-linkerd-accounts", "in.yaml"),
			"a fake.gatehouse.dev/BackendTLS=True/ProtectedWithLosses (port 80, ServiceAccount "},
		{"no mesh", "no condition for those who did not ask", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := indexOf(t, c.text)
			results := translateAll(t, x)
			patches := ServiceTLS(x, results, now())
			if got := serviceTLSText(patches); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%s: got\n%s\nwant\n%s", c.why, got, c.want)
			}
			next, concerned := x.With(written(t, x, patches))
			if again := ServiceTLS(next, results, now()); len(again)+len(concerned) > 0 {
				t.Errorf("what was written leads to %d patches and concerns %v", len(again), concerned)
			}
			gone := ServiceTLS(next, map[Key]Result{}, now())
			if len(gone) != len(patches) {
				t.Errorf("%d conditions go with the gateways, want %d", len(gone), len(patches))
			}
			for _, p := range gone {
				if slices.ContainsFunc(p.Status.(*corev1.ServiceStatus).Conditions, func(c metav1.Condition) bool { return strings.HasSuffix(c.Type, "/BackendTLS") }) {
					t.Errorf("%s: the condition outlives the gateways", p.Key)
				}
			}
		})
	}
}
