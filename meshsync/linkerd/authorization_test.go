package linkerd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAuthorization(t *testing.T) {
	const identity = `apiVersion: policy.linkerd.io/v1alpha1
kind: MeshTLSAuthentication
metadata:
  name: gatehouse
  namespace: shop
spec:
  identities:
  - gatehouse-1.gatehouse-system.serviceaccount.identity.linkerd.cluster.local
  - gatehouse-2.gatehouse-system.serviceaccount.identity.linkerd.cluster.local
---
`
	clients := []string{
		Name("gatehouse-2", "gatehouse-system", "linkerd", "cluster.local"),
		Name("gatehouse-1", "gatehouse-system", "linkerd", "cluster.local"),
	}
	for _, c := range []struct {
		name, why string
		grant     Grant
		want      string
	}{
		{"a namespace", "all of its Servers, from anywhere", Grant{Namespace: "shop", Name: "gatehouse", Clients: clients},
			identity + `apiVersion: policy.linkerd.io/v1alpha1
kind: AuthorizationPolicy
metadata:
  name: gatehouse
  namespace: shop
spec:
  requiredAuthenticationRefs:
  - group: policy.linkerd.io
    kind: MeshTLSAuthentication
    name: gatehouse
  targetRef:
    group: core
    kind: Namespace
    name: shop
`},
		{"a Server, from ranges", "both must hold", Grant{Namespace: "shop", Server: "cart", Name: "gatehouse", Clients: clients, Networks: []string{"35.191.0.0/16", "130.211.0.0/22"}},
			identity + `apiVersion: policy.linkerd.io/v1alpha1
kind: NetworkAuthentication
metadata:
  name: gatehouse
  namespace: shop
spec:
  networks:
  - cidr: 130.211.0.0/22
  - cidr: 35.191.0.0/16
---
apiVersion: policy.linkerd.io/v1alpha1
kind: AuthorizationPolicy
metadata:
  name: gatehouse-cart
  namespace: shop
spec:
  requiredAuthenticationRefs:
  - group: policy.linkerd.io
    kind: MeshTLSAuthentication
    name: gatehouse
  - group: policy.linkerd.io
    kind: NetworkAuthentication
    name: gatehouse
  targetRef:
    group: policy.linkerd.io
    kind: Server
    name: cart
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, strings.Join(Authorization(c.grant), "---\n")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		})
	}
}
