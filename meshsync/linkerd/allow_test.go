package linkerd

import (
	"strings"
	"testing"

	"gatehouse.dev/meshsync"
)

func policyObject(kind, name, spec string) string {
	return "{apiVersion: policy.linkerd.io/v1alpha1, kind: " + kind + ", metadata: {namespace: shop, name: " + name + "}, spec: " + spec + "}"
}

// TestAllow: the port's policy first, then who adds to it. What is offered is applied,
// and must let the gateway in.
func TestAllow(t *testing.T) {
	const me = "gatehouse-1.gatehouse-system.serviceaccount.identity.linkerd.cluster.local"
	denying := srv("cart", "HTTP/1", "deny")
	policy := func(target, refs string) string {
		return policyObject("AuthorizationPolicy", "p", "{targetRef: {"+target+"}, requiredAuthenticationRefs: ["+refs+"]}")
	}
	const server, all = "group: policy.linkerd.io, kind: Server, name: cart", "group: core, kind: Namespace, name: shop"
	const tls = "{group: policy.linkerd.io, kind: MeshTLSAuthentication, name: a}"
	named := func(spec string) string { return policyObject("MeshTLSAuthentication", "a", spec) }
	cases := []struct {
		name, why string
		changes   []change
		objects   []string
		anonymous bool
		need      meshsync.Need
		says      string
		offers    int
	}{
		{"a default installation", "everybody is let in", nil, nil, false, meshsync.NotNeeded, "proxy.defaultInboundPolicy is all-unauthenticated", 0},
		{"audit", "it only tells", []change{annotate(annotationPolicy, "audit")}, nil, false, meshsync.NotNeeded, "everybody", 0},
		{"who is of the mesh", "the gateway is", []change{annotate(annotationPolicy, "all-authenticated")}, nil, false, meshsync.NotNeeded, "every client with a certificate", 0},
		{"who is of the mesh, and nobody", "", []change{annotate(annotationPolicy, "all-authenticated")}, nil, true, meshsync.Needed, "shows no certificate", 0},
		{"deny", "a port without a Server has no policy: it gets one, and keeps deny", []change{annotate(annotationPolicy, "deny")}, nil, false, meshsync.Needed, "no AuthorizationPolicy names the gateway", 3},
		{"the namespace denies", "", []change{inNamespace(annotationPolicy, "deny")}, nil, false, meshsync.Needed, "of namespace shop is deny", 3},
		{"addresses", "those of a load balancer are in no object", []change{annotate(annotationPolicy, "cluster-unauthenticated")}, nil, false, meshsync.NeedUnknown, "clusterNetworks", 3},
		{"a Server", "it is there: an authentication and a policy do", nil, []string{denying}, false, meshsync.Needed, "Server shop/cart is deny", 2},
		{"a Server for all", "its policy comes before the default", []change{annotate(annotationPolicy, "deny")}, []string{srv("cart", "HTTP/1", "all-unauthenticated")}, false, meshsync.NotNeeded, "Server shop/cart", 0},
		{"named", "", nil, []string{denying, policy(server, tls), named("{identities: [" + me + "]}")}, false, meshsync.NotNeeded, "AuthorizationPolicy shop/p lets it in", 0},
		{"named for the namespace", "", nil, []string{denying, policy(all, tls), named("{identities: [" + me + "]}")}, false, meshsync.NotNeeded, "lets it in", 0},
		{"by a star", "", nil, []string{denying, policy(server, tls), named(`{identities: ["*.gatehouse-system.serviceaccount.identity.linkerd.cluster.local"]}`)}, false, meshsync.NotNeeded, "lets it in", 0},
		{"by its account", "", nil, []string{denying, policy(server, tls), named("{identityRefs: [{kind: ServiceAccount, name: gatehouse-1, namespace: gatehouse-system}]}")}, false, meshsync.NotNeeded, "lets it in", 0},
		{"by its namespace", "", nil, []string{denying, policy(server, tls), named("{identityRefs: [{kind: Namespace, name: gatehouse-system}]}")}, false, meshsync.NotNeeded, "lets it in", 0},
		{"another account", "", nil, []string{denying, policy(server, tls), named("{identityRefs: [{kind: ServiceAccount, name: cart}]}")}, false, meshsync.Needed, "names the gateway", 2},
		{"an account at once", "", nil, []string{denying, policy(server, "{kind: ServiceAccount, name: gatehouse-1, namespace: gatehouse-system}")}, false, meshsync.NotNeeded, "lets it in", 0},
		{"another Server", "", nil, []string{denying, policy("group: policy.linkerd.io, kind: Server, name: other", "")}, false, meshsync.Needed, "names the gateway", 2},
		{"a lost reference", "Linkerd ignores the policy", nil, []string{denying, policy(server, tls)}, false, meshsync.Needed, "names the gateway", 2},
		{"everybody", "no authentication is asked for", nil, []string{denying, policy(server, "")}, true, meshsync.NotNeeded, "lets it in", 0},
		{"from networks", "all of them must hold", nil, []string{denying, policy(server, tls+", {group: policy.linkerd.io, kind: NetworkAuthentication, name: n}"), named("{identities: [" + me + "]}")}, false, meshsync.NeedUnknown, "AuthorizationPolicy shop/p", 2},
		{"a route", "only what the route matches", nil, []string{denying, policy("group: policy.linkerd.io, kind: HTTPRoute, name: r", tls), named("{identities: [" + me + "]}")}, false, meshsync.NeedUnknown, "AuthorizationPolicy shop/p", 2},
		{"of before", "ServerAuthorizations are not read", nil, []string{denying, "{apiVersion: policy.linkerd.io/v1beta1, kind: ServerAuthorization, metadata: {namespace: shop, name: o}, spec: {server: {name: cart}}}"}, false, meshsync.NeedUnknown, "ServerAuthorization shop/o", 2},
		{"an unknown policy", "nobody knows what it does", []change{annotate(annotationPolicy, "all")}, nil, false, meshsync.NeedUnknown, "no policy that is known", 3},
		{"an unknown way to name clients", "", nil, []string{denying, policy(server, tls), named("{patterns: [x]}")}, false, meshsync.NeedUnknown, "AuthorizationPolicy shop/p", 2},
		{"an unknown reference", "", nil, []string{denying, policy(server, tls), named("{identityRefs: [{kind: Group, name: x}]}")}, false, meshsync.NeedUnknown, "AuthorizationPolicy shop/p", 2},
		{"nobody", "who shows no certificate can be named by none", nil, []string{denying}, true, meshsync.Needed, "shows no certificate", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := cluster(t, c.changes, c.objects...)
			client := w.Client(Dialect{})
			if c.anonymous {
				client.DNSNames = nil
			}
			a := w.Allows(Dialect{}, w.Entry("shop", "cart", "cart-1", client))
			if a.Need != c.need || !strings.Contains(a.Why, c.says) || len(a.Offers) != c.offers {
				t.Errorf("%s\ngot %s: %s\nwith %d offers: %+v\nwant %s: %s with %d", c.why, a.Need, a.Why, len(a.Offers), a.Offers, c.need, c.says, c.offers)
			}
		})
	}
}
