package translate

import (
	"testing"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/consul"
)

// TestToldDomain: Consul's trust domain is in no object but the binding that says where
// its roots are, and follows it.
func TestToldDomain(t *testing.T) {
	options := testOptions()
	options.Dialects = map[string]meshsync.Dialect{consul.Controller: consul.Dialect{}}
	text := func(bundles string) string {
		return "kind: MeshBinding\nmetadata: {name: c}\nspec: {controllerName: consul.hashicorp.com/consul, gateways: {namespaceSelector: {}}, trustBundles: " + bundles + "}\n" +
			"---\nkind: MeshBinding\nmetadata: {name: a}\nspec: {controllerName: istio.io/istio, gateways: {namespaceSelector: {}}, trustBundles: [{kind: WorkloadAPI, name: other.test, url: \"unix:///a\"}]}\n"
	}
	x := New(snapshotOf(decode(t, text("[{kind: ConfigMap, namespace: consul, name: roots}]"))...), options)
	if b, _ := x.Bound("c"); b.Mesh.TrustDomain != "" {
		t.Errorf("a guess: %q", b.Mesh.TrustDomain)
	}
	next, _ := x.With(Change{Put: decode(t, text("[{kind: ConsulRoots, name: 1.consul, url: \"https://consul.test\"}]"))})
	b, _ := next.Bound("c")
	if b.Mesh.TrustDomain != "1.consul" || b.Binding.Spec.TrustBundles[0].Kind != meshsync.RootsConsul {
		t.Errorf("the trust domain is %q, want that of the roots", b.Mesh.TrustDomain)
	}
}
