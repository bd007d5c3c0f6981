package kuma

import (
	"strings"
	"testing"

	"gatehouse.dev/meshsync"
)

func permission(namespace, name, spec string) string {
	return "{apiVersion: kuma.io/v1alpha1, kind: MeshTrafficPermission, metadata: {namespace: " + namespace + ", name: " + name + "}, spec: {" + spec + "}}"
}

// rules are one list of a permission with one SPIFFE ID.
func rules(list, kind, id string) string {
	return "rules: [{default: {" + list + ": [{spiffeID: {type: " + kind + ", value: '" + id + "'}}]}}]"
}

// TestAllow: nobody is let in whom no MeshTrafficPermission names. What is offered is
// applied, and must let the gateway in.
func TestAllow(t *testing.T) {
	const me = "spiffe://gatehouse/ns/gatehouse-system/sa/gatehouse-1"
	cases := []struct {
		name, why string
		changes   []change
		objects   []string
		anonymous bool
		need      meshsync.Need
		says      string
		offers    int
	}{
		{"none", "mutual TLS without a permission lets in nobody", nil, nil, false, meshsync.Needed, "No MeshTrafficPermission names", 1},
		{"no mutual TLS", "permissions count only with it", []change{{"kind: MeshIdentity", "kind: Nothing"}}, nil, false, meshsync.NotNeeded, "no mutual TLS", 0},
		{"named", "", nil, []string{permission("shop", "a", rules("allow", "Exact", me))}, false, meshsync.NotNeeded, "shop/a lets it in", 0},
		{"named for the mesh", "those of the control plane's namespace are for all", nil, []string{permission("kuma-system", "a", rules("allow", "Prefix", "spiffe://gatehouse/"))}, false, meshsync.NotNeeded, "kuma-system/a", 0},
		{"of another namespace", "it is for its own pods", nil, []string{permission("other", "a", rules("allow", "Exact", me))}, false, meshsync.Needed, "names the gateway", 1},
		{"of other pods", "", nil, []string{permission("shop", "a", "targetRef: {kind: Dataplane, labels: {app: other}}, "+rules("allow", "Exact", me))}, false, meshsync.Needed, "names the gateway", 1},
		{"of these pods", "", nil, []string{permission("shop", "a", "targetRef: {kind: Dataplane, labels: {app: cart}}, "+rules("allow", "Exact", me))}, false, meshsync.NotNeeded, "lets it in", 0},
		{"denied", "it comes before what others allow", nil, []string{permission("shop", "a", rules("allow", "Exact", me)), permission("shop", "d", rules("deny", "Prefix", "spiffe://gatehouse"))}, false, meshsync.Needed, "shop/d denies it", 0},
		{"others are denied", "", nil, []string{permission("shop", "a", rules("allow", "Exact", me)), permission("shop", "d", rules("deny", "Exact", "spiffe://x/y"))}, false, meshsync.NotNeeded, "lets it in", 0},
		{"the older form", "it knows clients by their tags, which a gateway has not", nil, []string{permission("shop", "a", "from: [{targetRef: {kind: Mesh}, default: {action: Allow}}]")}, false, meshsync.NeedUnknown, "(spec.from)", 1},
		{"a target that is not read", "", nil, []string{permission("shop", "a", "targetRef: {kind: MeshService, name: cart}, "+rules("allow", "Exact", me))}, false, meshsync.NeedUnknown, "(targetRef MeshService)", 1},
		{"a match that is not read", "", nil, []string{permission("shop", "a", "rules: [{default: {allow: [{}]}}]")}, false, meshsync.NeedUnknown, "(allow)", 1},
		{"a rule that is not read", "it may be about others", nil, []string{permission("shop", "a", "rules: [{matches: [{}], default: {deny: [{spiffeID: {type: Prefix, value: 'spiffe://gatehouse/'}}]}}]")}, false, meshsync.NeedUnknown, "(spec.rules)", 1},
		{"a list that is not read", "", nil, []string{permission("shop", "a", "rules: [{default: {allowSome: [x]}}]")}, false, meshsync.NeedUnknown, "(spec.rules)", 1},
		{"a field that is not read", "", nil, []string{permission("shop", "a", "to: [x]")}, false, meshsync.NeedUnknown, "shop/a.", 1},
		{"nobody", "who shows no certificate can be named by none", nil, nil, true, meshsync.Needed, "shows no certificate", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := cluster(t, c.changes, c.objects...)
			client := w.Client(Dialect{})
			if c.anonymous {
				client.SPIFFEID = ""
			}
			a := w.Allows(Dialect{}, w.Entry("shop", "cart", "cart-1", client))
			if a.Need != c.need || !strings.Contains(a.Why, c.says) || len(a.Offers) != c.offers {
				t.Errorf("%s\ngot %s: %s\nwith %+v\nwant %s: %s with %d", c.why, a.Need, a.Why, a.Offers, c.need, c.says, c.offers)
			}
		})
	}
}

// TestAllowOfBefore: a mesh with a CA backend may have TrafficPermissions, which are not
// read, so that nothing is sure.
func TestAllowOfBefore(t *testing.T) {
	w := cluster(t, []change{{"spec: {meshServices: {mode: Exclusive}}", "spec: {mtls: {enabledBackend: b, backends: [{name: b, type: builtin}]}}"}})
	for _, id := range []string{w.Client(Dialect{}).SPIFFEID, ""} {
		client := w.Client(Dialect{})
		client.SPIFFEID = id
		if a := w.Allows(Dialect{}, w.Entry("shop", "cart", "cart-1", client)); a.Need != meshsync.Needed || !a.Assumed || a.Refused() {
			t.Errorf("client %q: %+v, want that it is assumed to be refused", id, a)
		}
	}
}
