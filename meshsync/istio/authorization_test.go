package istio

import (
	"strings"
	"testing"

	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/meshtest"
)

// accessOf is an AuthorizationPolicy.
func accessOf(namespace, name, spec string) string {
	return "{apiVersion: security.istio.io/v1, kind: AuthorizationPolicy, metadata: {namespace: " + namespace + ", name: " + name + "}, spec: " + spec + "}"
}

// from is a rule with one source.
func from(source string) string { return "rules: [{from: [{source: {" + source + "}}]}]" }

// TestAllow is over Istio's order of policies: DENY, then whether there is an ALLOW, then
// whether one matches. What is offered is applied, and must let the gateway in.
func TestAllow(t *testing.T) {
	const me = "cluster.local/ns/gatehouse-system/sa/gatehouse-1"
	aliases := meshConfigMap("trustDomain: prod.example\ntrustDomainAliases: [old.example]")
	none := func(c meshsync.Client) meshsync.Client { c.SPIFFEID = ""; return c }
	cases := []struct {
		name, why string
		objects   []string
		client    func(meshsync.Client) meshsync.Client
		need      meshsync.Need
		says      string
		offers    string // in the YAML; "" is that there is none
	}{
		{"none", "everybody is let in by default", nil, nil, meshsync.NotNeeded, "No AuthorizationPolicy with action ALLOW", ""},
		{"of others", "it selects other pods", []string{accessOf("apps", "a", "{selector: {matchLabels: {app: cart}}}")}, nil, meshsync.NotNeeded, "No AuthorizationPolicy", ""},
		{"nothing is allowed", "the usual default deny", []string{accessOf("apps", "deny-all", "{}")}, nil, meshsync.Needed, "apps/deny-all selects the pods", `"app: shop"`},
		{"of all the mesh", "the root namespace's count for all", []string{accessOf("istio-system", "deny-all", "{}")}, nil, meshsync.Needed, "istio-system/deny-all selects the pods", "app: shop"},
		{"of some pods", "another selector would shut out everybody else from the Service's other pods",
			[]string{accessOf("apps", "v1", "{selector: {matchLabels: {version: v1}}, "+from("principals: [x]")+"}")}, nil, meshsync.Needed, "apps/v1", "version: v1"},
		{"by name", "", []string{accessOf("apps", "a", "{"+from("principals: ["+me+"]")+"}")}, nil, meshsync.NotNeeded, "apps/a lets it in", ""},
		{"by a prefix", "a star at the end", []string{accessOf("apps", "a", "{"+from("principals: [cluster.local/ns/gatehouse-system/*]")+"}")}, nil, meshsync.NotNeeded, "lets it in", ""},
		{"by a suffix", "a star at the beginning", []string{accessOf("apps", "a", `{`+from(`principals: ["*/sa/gatehouse-1"]`)+"}")}, nil, meshsync.NotNeeded, "lets it in", ""},
		{"by namespace", "", []string{accessOf("apps", "a", "{"+from("namespaces: [gatehouse-system]")+"}")}, nil, meshsync.NotNeeded, "lets it in", ""},
		{"by account", "", []string{accessOf("apps", "a", "{"+from("serviceAccounts: [gatehouse-system/gatehouse-1]")+"}")}, nil, meshsync.NotNeeded, "lets it in", ""},
		{"everybody", "a rule without anything", []string{accessOf("apps", "a", "{rules: [{}]}")}, nil, meshsync.NotNeeded, "lets it in", ""},
		{"but not this one", "", []string{accessOf("apps", "a", "{"+from("notPrincipals: ["+me+"]")+"}")}, nil, meshsync.Needed, "names the gateway", "app: shop"},
		{"an empty list", "asks for nothing", []string{accessOf("apps", "a", "{"+from("notPrincipals: [], namespaces: [gatehouse-system]")+"}")}, nil, meshsync.NotNeeded, "lets it in", ""},
		{"at the port", "", []string{accessOf("apps", "a", `{rules: [{to: [{operation: {ports: ["8080"]}}]}]}`)}, nil, meshsync.NotNeeded, "lets it in", ""},
		{"at another port", "", []string{accessOf("apps", "a", `{rules: [{to: [{operation: {ports: ["9000"]}}]}]}`)}, nil, meshsync.Needed, "names the gateway", "app: shop"},
		{"some paths", "requests are not known", []string{accessOf("apps", "a", `{rules: [{to: [{operation: {paths: [/api]}}]}]}`)}, nil, meshsync.NeedUnknown, "on conditions", "app: shop"},
		{"some addresses", "a load balancer's are in no object", []string{accessOf("apps", "a", "{"+from("ipBlocks: [10.0.0.0/8]")+"}")}, nil, meshsync.NeedUnknown, "on conditions", "app: shop"},
		{"when", "conditions are not read", []string{accessOf("apps", "a", "{rules: [{when: [{key: x, values: [y]}]}]}")}, nil, meshsync.NeedUnknown, "on conditions", "app: shop"},
		{"denied", "no other policy helps", []string{accessOf("apps", "a", "{rules: [{}]}"), accessOf("apps", "d", "{action: DENY, "+from("namespaces: [gatehouse-system]")+"}")}, nil, meshsync.Needed, "apps/d denies it", ""},
		{"denied without rules", "it matches nothing", []string{accessOf("apps", "d", "{action: DENY}")}, nil, meshsync.NotNeeded, "No AuthorizationPolicy", ""},
		{"some requests are denied", "", []string{accessOf("apps", "d", "{action: DENY, rules: [{to: [{operation: {paths: [/admin]}}]}]}")}, nil, meshsync.NeedUnknown, "denies some requests", ""},
		{"somebody else decides", "CUSTOM asks a server", []string{accessOf("apps", "c", "{action: CUSTOM, provider: {name: x}, rules: [{}]}")}, nil, meshsync.NeedUnknown, "action CUSTOM", ""},
		{"a log", "AUDIT decides nothing", []string{accessOf("apps", "c", "{action: AUDIT, rules: [{}]}")}, nil, meshsync.NotNeeded, "No AuthorizationPolicy", ""},
		{"of a waypoint", "it has targets, and no sidecar looks at it", []string{accessOf("apps", "w", "{targetRefs: [{kind: Gateway, name: w}]}")}, nil, meshsync.NotNeeded, "No AuthorizationPolicy", ""},
		{"cannot be read", "nobody knows what it decides", []string{accessOf("apps", "a", "{rules: nothing}")}, nil, meshsync.NeedUnknown, "cannot be read", ""},
		{"a field that is not known", "it may mean anything", []string{accessOf("apps", "d", "{action: DENY, rules: [{}], exceptFor: [x]}")}, nil, meshsync.NeedUnknown, "has the field exceptFor", ""},
		{"a rule's field that is not known", "", []string{accessOf("apps", "d", "{action: DENY, rules: [{unless: [x]}]}")}, nil, meshsync.NeedUnknown, "denies some requests", ""},
		{"a source's neighbour that is not known", "", []string{accessOf("apps", "d", "{action: DENY, rules: [{from: [{source: {}, unless: x}]}]}")}, nil, meshsync.NeedUnknown, "denies some requests", ""},
		{"a selector that is not known", "", []string{accessOf("apps", "d", "{selector: {matchExpressions: []}}")}, nil, meshsync.NeedUnknown, "has the field matchExpressions", ""},
		{"tried out", "it only logs what it would do", []string{strings.Replace(accessOf("apps", "d", "{}"), "name: d", "name: d, annotations: {istio.io/dry-run: 'true'}", 1)}, nil, meshsync.NotNeeded, "No AuthorizationPolicy", ""},
		{"an older name of the mesh", "an alias means all of the mesh's domains", []string{aliases, accessOf("apps", "a", "{"+from("principals: [old.example/ns/gatehouse-system/sa/gatehouse-1]")+"}")}, nil, meshsync.NotNeeded, "lets it in", ""},
		{"whichever domain", "cluster.local is how policies name the mesh's own", []string{aliases, accessOf("apps", "a", "{"+from("principals: ["+me+"]")+"}")}, nil, meshsync.NotNeeded, "lets it in", ""},
		{"nobody", "who shows no certificate can be named by none", []string{accessOf("apps", "deny-all", "{}")}, none, meshsync.Needed, "shows no certificate", ""},
		{"nobody, by a star", "a star is somebody", []string{accessOf("apps", "a", `{`+from(`principals: ["*"]`)+"}")}, none, meshsync.Needed, "shows no certificate", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := meshtest.Parse(t, append([]string{shopNamespace, shopService, shopPod}, c.objects...)...)
			client := w.Client(Dialect{})
			if c.client != nil {
				client = c.client(client)
			}
			a := w.Allows(Dialect{}, w.Entry("apps", "shop", "shop-1", client))
			text := ""
			for _, o := range a.Offers {
				text += o.YAML
			}
			if a.Need != c.need || !strings.Contains(a.Why, c.says) || (text == "") != (c.offers == "") || !strings.Contains(text, strings.Trim(c.offers, `"`)) {
				t.Errorf("%s\ngot %s: %s\nwith %q\nwant %s: %s with %q", c.why, a.Need, a.Why, text, c.need, c.says, c.offers)
			}
		})
	}
}
