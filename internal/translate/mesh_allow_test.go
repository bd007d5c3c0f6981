package translate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAllowances: who comes, at which ports, and what is asked of the mesh about it.
func TestAllowances(t *testing.T) {
	strict, pad := readFile(t, "mesh-istio-strict", "in.yaml"), readFile(t, "mesh-landing-pad", "in.yaml")
	const deny = "\n---\napiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: deny-all, namespace: apps}\nspec: {}\n"
	const second = `
---
kind: Gateway
metadata: {name: other, namespace: apps, generation: 1}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {name: r2, namespace: apps, generation: 1}
spec:
  parentRefs: [{name: other}]
  rules: [{backendRefs: [{name: a, port: 80}]}]
`
	own := strings.Replace(strict, "spec: {gatewayClassName: offcluster,", "spec: {gatewayClassName: offcluster, tls: {backend: {clientCertificateRef: {name: own}}},", 1)
	const secret = "\n---\nkind: Secret\nmetadata: {name: own, namespace: apps}\ndnsNames: [edge.example]\n"
	nobody := strings.Replace(strict, "spec: {controllerName", "spec: {identity: {issuer: None}, minimumTLS: ServerOnly, controllerName", 1)
	cases := []struct {
		name, why, text string
		want            []string
	}{
		{"no policy", "Istio lets in everybody", strict, []string{"apps/edge apps/a:80 Direct NotNeeded 0: No AuthorizationPolicy"}},
		{"denied", "", strict + deny, []string{"apps/edge apps/a:80 Direct Needed 1: AuthorizationPolicy apps/deny-all selects the pods"}},
		{"two gateways", "each has its own", strict + deny + second, []string{
			"apps/edge apps/a:80 Direct Needed 1: AuthorizationPolicy", "apps/other apps/a:80 Direct Needed 1: AuthorizationPolicy",
		}},
		{"a certificate of its own", "its names are those of the Secret's certificate, and Istio knows no DNS names", own + secret + deny, []string{"apps/edge apps/a:80 Direct Needed 0: AuthorizationPolicy apps/deny-all lets in only whom it names, and the gateway shows no certificate"}},
		{"a certificate that is not there", "nobody knows whom it would name", own + deny, []string{"apps/edge apps/a:80 Blocked Unknown 0: Whom the certificate of the Gateway's spec.tls.backend.clientCertificateRef"}},
		{"nobody", "no policy can name it", nobody + deny, []string{"apps/edge apps/a:80 Blocked Needed 0: AuthorizationPolicy apps/deny-all lets in only whom it names, and the gateway shows no certificate"}},
		{"a landing pad", "the pods let in the pad", pad + deny, []string{"apps/edge apps/a:80 LandingPad Unknown 0: The gateway comes over the MeshBinding's landing pad"}},
		{"not joined", "a gateway that is no member is nobody's business", strings.Replace(strict, "kubernetes.io/metadata.name: apps", "kubernetes.io/metadata.name: other", 1) + deny, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := indexOf(t, c.text)
			var got []string
			for i, a := range x.Allowances(x.Gateways()) {
				line := fmt.Sprintf("%s/%s %s/%s:%d %s %s %d: %s", a.Gateway.Namespace, a.Gateway.Name, a.Service.Namespace, a.Service.Name, a.Port, a.Path, a.Need, len(a.Offers), a.Why)
				if i < len(c.want) && strings.HasPrefix(line, c.want[i]) {
					line = c.want[i]
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		})
	}
}
