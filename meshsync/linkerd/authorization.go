package linkerd

import (
	"slices"
	"strings"
)

// Grant is whom a mesh should let in, and where.
type Grant struct {
	Namespace string
	Server    string   // name of the Server; unset: all Servers of the namespace
	Name      string   // of the objects that are offered
	Clients   []string // identities of gateways: DNS names as of [Name], or SPIFFE IDs
	// Networks are the addresses that load balancers connect from, as CIDR prefixes.
	// Unset lets the clients in from everywhere.
	Networks []string
}

// Authorization is the manifest that lets gateways in where a policy of the mesh
// would not: an AuthorizationPolicy with its authentications. It is offered and
// never applied. A port that no Server selects has no AuthorizationPolicy, so it
// needs a Server first.
func Authorization(g Grant) string {
	target := map[string]any{"group": "core", "kind": "Namespace", "name": g.Namespace}
	if g.Server != "" {
		target = map[string]any{"group": serverKind.Group, "kind": serverKind.Kind, "name": g.Server}
	}
	need := []any{reference("MeshTLSAuthentication", g.Name)}
	docs := []string{
		manifest(object("v1alpha1", "MeshTLSAuthentication", g.Namespace, g.Name, map[string]any{"identities": texts(g.Clients)})),
	}
	if len(g.Networks) > 0 {
		need = append(need, reference("NetworkAuthentication", g.Name))
		var networks []any
		for _, cidr := range texts(g.Networks) {
			networks = append(networks, map[string]any{"cidr": cidr})
		}
		docs = append(docs, manifest(object("v1alpha1", "NetworkAuthentication", g.Namespace, g.Name, map[string]any{"networks": networks})))
	}
	docs = append(docs, manifest(object("v1alpha1", "AuthorizationPolicy", g.Namespace, g.Name, map[string]any{
		"targetRef": target, "requiredAuthenticationRefs": need,
	})))
	note := "# All of the references must hold: the gateways' identities"
	if len(g.Networks) > 0 {
		return note + ", from these networks.\n" + strings.Join(docs, "---\n")
	}
	return note + ", from anywhere. To bind them to the\n" +
		"# load balancer's addresses, add a NetworkAuthentication with its ranges.\n" + strings.Join(docs, "---\n")
}

func reference(kind, name string) map[string]any {
	return map[string]any{"group": serverKind.Group, "kind": kind, "name": name}
}

func texts(list []string) []any {
	var out []any
	for _, text := range slices.Sorted(slices.Values(list)) {
		out = append(out, text)
	}
	return out
}
