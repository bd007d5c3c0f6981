//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/test/cluster"
)

// definitions are the kinds that dialects read, without anything in them: one a line,
// as plural, kind, group, scope and versions.
const definitions = `
peerauthentications PeerAuthentication security.istio.io Namespaced v1,v1beta1
sidecars Sidecar networking.istio.io Namespaced v1,v1beta1
gateways Gateway networking.istio.io Namespaced v1,v1beta1
authorizationpolicies AuthorizationPolicy security.istio.io Namespaced v1,v1beta1
servers Server policy.linkerd.io Namespaced v1beta3,v1beta1
authorizationpolicies AuthorizationPolicy policy.linkerd.io Namespaced v1alpha1
meshtlsauthentications MeshTLSAuthentication policy.linkerd.io Namespaced v1alpha1
serverauthorizations ServerAuthorization policy.linkerd.io Namespaced v1beta1
meshes Mesh kuma.io Cluster v1alpha1
meshtrusts MeshTrust kuma.io Namespaced v1alpha1
meshidentities MeshIdentity kuma.io Namespaced v1alpha1
meshtlses MeshTLS kuma.io Namespaced v1alpha1
meshtrafficpermissions MeshTrafficPermission kuma.io Namespaced v1alpha1
servicedefaults ServiceDefaults consul.hashicorp.com Namespaced v1alpha1
proxydefaults ProxyDefaults consul.hashicorp.com Namespaced v1alpha1
serviceintentions ServiceIntentions consul.hashicorp.com Namespaced v1alpha1
meshes Mesh consul.hashicorp.com Namespaced v1alpha1
clusterspiffeids ClusterSPIFFEID spire.spiffe.io Cluster v1alpha1
`

// define installs them.
func define(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for line := range strings.Lines(definitions) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		plural, kind, group, scope := f[0], f[1], f[2], f[3]
		text := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[3]s}
spec:
  group: %[3]s
  scope: %[4]s
  names: {kind: %[2]s, plural: %[1]s, singular: %[5]s, listKind: %[2]sList}
  versions:
`, plural, kind, group, scope, strings.ToLower(kind))
		for i, version := range strings.Split(f[4], ",") {
			text += fmt.Sprintf("  - {name: %s, served: true, storage: %v, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n", version, i == 0)
		}
		c.Apply(t, text)
	}
}

// frontAPI leads a gateway that is there anyway to a member of the mesh.
const frontAPI = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: api, namespace: shop}
spec:
  parentRefs: [{name: front}]
  hostnames: [api.example]
  rules: [{backendRefs: [{name: api, port: 80}]}]
`

// meshThere is an Istio with a member, before the manager is.
func meshThere(t *testing.T, c *cluster.Cluster) *mesh {
	t.Helper()
	define(t, c)
	m := newMesh(t, c)
	c.Apply(t, meshNamespaces)
	m.publish(t)
	c.Apply(t, strict)
	c.Apply(t, sidecarred)
	c.Apply(t, m.binding())
	return m
}

// joins waits until a gateway has joined.
func joins(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		var b v1alpha1.MeshBinding
		if err := read(ctx, c, bindings, "", "istio", &b); err != nil {
			return err
		}
		if b.Status.Gateways.NextExpiry == nil {
			return fmt.Errorf("no gateway has a certificate of the mesh: %+v", b.Status)
		}
		return nil
	})
}
