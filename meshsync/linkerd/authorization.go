package linkerd

import "slices"

// Grant is whom a mesh should let in, and where.
type Grant struct {
	Namespace string
	Server    string   // name of the Server; unset: all Servers of the namespace
	Name      string   // of the objects that are offered; the policy's has the Server's in it
	Clients   []string // identities of gateways: DNS names as of [Name], or SPIFFE IDs
	// Networks are the addresses that load balancers connect from, as CIDR prefixes.
	// Unset lets the clients in from everywhere.
	Networks []string
}

// Authorization is the manifests that let gateways in where a policy of the mesh
// would not: an AuthorizationPolicy, after its authentications. They are offered and
// never applied. A port that no Server selects has no AuthorizationPolicy, so it
// needs a Server first.
func Authorization(g Grant) []string {
	target, name := map[string]any{"group": "core", "kind": "Namespace", "name": g.Namespace}, g.Name
	if g.Server != "" {
		target = map[string]any{"group": serverKind.Group, "kind": serverKind.Kind, "name": g.Server}
		name += "-" + g.Server
	}
	need := []any{reference(meshTLSKind.Kind, g.Name)}
	docs := []string{
		manifest(object("v1alpha1", meshTLSKind.Kind, g.Namespace, g.Name, map[string]any{"identities": texts(g.Clients)})),
	}
	if len(g.Networks) > 0 {
		need = append(need, reference(networkKind.Kind, g.Name))
		var networks []any
		for _, cidr := range texts(g.Networks) {
			networks = append(networks, map[string]any{"cidr": cidr})
		}
		docs = append(docs, manifest(object("v1alpha1", networkKind.Kind, g.Namespace, g.Name, map[string]any{"networks": networks})))
	}
	return append(docs, manifest(object("v1alpha1", policyKind.Kind, g.Namespace, name, map[string]any{
		"targetRef": target, "requiredAuthenticationRefs": need,
	})))
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
