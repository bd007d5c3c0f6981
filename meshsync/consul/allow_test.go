package consul

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/meshsync"
)

func intentionsOf(name, destination, sources string) string {
	return "{apiVersion: consul.hashicorp.com/v1alpha1, kind: ServiceIntentions, metadata: {namespace: shop, name: " + name + "}, spec: {destination: {name: '" + destination + "'}, sources: [" + sources + "]}}"
}

// TestAllow: the most exact intention decides, then the servers' default. What is offered
// is applied, and must let the gateway in.
func TestAllow(t *testing.T) {
	conf := func(text string) []change {
		return []change{{`{"datacenter": "east"}`, `{"datacenter": "east", ` + text + `}`}}
	}
	deny := conf(`"acl": {"enabled": true, "default_policy": "deny"}`)
	cases := []struct {
		name, why string
		changes   []change
		objects   []string
		anonymous bool
		need      meshsync.Need
		says      string
		offers    int
		assumed   bool // an intention may be at Consul itself
	}{
		{"no ACLs", "Consul's default is then allow", nil, nil, false, meshsync.NotNeeded, "no ACLs", 0, false},
		{"ACLs that deny", "", deny, nil, false, meshsync.Needed, "ConfigMap consul/consul-server-config, key server.json: deny", 1, true},
		{"ACLs that allow", "", conf(`"acl": {"enabled": true}`), nil, false, meshsync.NotNeeded, "server.json: allow", 0, false},
		{"a word for intentions", "it comes before the ACLs'", conf(`"default_intention_policy": "deny"`), nil, false, meshsync.Needed, "server.json: deny", 1, true},
		{"servers elsewhere", "nothing in the cluster says what they do", []change{{"name: consul-server-config", "name: other"}}, nil, false, meshsync.NeedUnknown, "in no object of the cluster", 1, false},
		{"named", "", deny, []string{intentionsOf("cart", "cart", "{name: gatehouse-1, action: allow}")}, false, meshsync.NotNeeded, "shop/cart has source gatehouse-1, action allow", 0, false},
		{"everybody", "", deny, []string{intentionsOf("cart", "cart", "{name: '*', action: allow}")}, false, meshsync.NotNeeded, "source *", 0, false},
		{"everybody but it", "the exact one decides", nil, []string{intentionsOf("cart", "cart", "{name: '*', action: allow}, {name: gatehouse-1, action: deny}")}, false, meshsync.Needed, "gatehouse-1, action deny", 1, false},
		{"everywhere", "", deny, []string{intentionsOf("all", "*", "{name: gatehouse-1, action: allow}")}, false, meshsync.NotNeeded, "shop/all", 0, false},
		{"everywhere but here", "the destination's own come first", nil, []string{intentionsOf("all", "*", "{name: gatehouse-1, action: allow}"), intentionsOf("cart", "cart", "{name: '*', action: deny}")}, false, meshsync.Needed, "shop/cart", 1, false},
		{"some requests", "", nil, []string{intentionsOf("cart", "cart", "{name: gatehouse-1, permissions: [{action: allow, http: {pathPrefix: /}}]}")}, false, meshsync.NeedUnknown, "permissions for some requests", 1, false},
		{"all is said here", "the destination's own object and that of any are all there is", deny, []string{intentionsOf("all", "*", "{name: other, action: allow}"), intentionsOf("cart", "cart", "{name: web, action: allow}")}, false, meshsync.Needed, "server.json: deny", 1, false},
		{"any is denied", "the destination's own intentions may be at Consul", nil, []string{intentionsOf("all", "*", "{name: '*', action: deny}")}, false, meshsync.Needed, "shop/all", 1, true},
		{"of a peer", "no gateway is in another cluster", nil, []string{intentionsOf("cart", "cart", "{name: '*', peer: east, action: deny}")}, false, meshsync.NotNeeded, "no ACLs", 0, false},
		{"a field that is not known", "it may be about others", nil, []string{intentionsOf("cart", "cart", "{name: '*', region: east, action: deny}")}, false, meshsync.NeedUnknown, "with the field region", 1, false},
		{"an action that is not known", "", nil, []string{intentionsOf("cart", "cart", "{name: '*', action: ask}")}, false, meshsync.NeedUnknown, "shop/cart", 1, false},
		{"nobody", "who shows no certificate can be named by none", deny, nil, true, meshsync.Needed, "shows no certificate", 0, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := cluster(t, c.changes, c.objects...)
			client := w.Client(dialect)
			if c.anonymous {
				client.SPIFFEID = ""
			}
			e := w.Entry("shop", "cart", "cart-1", client)
			e.With = nil
			a := w.Allows(dialect, e)
			if a.Need != c.need || !strings.Contains(a.Why, c.says) || len(a.Offers) != c.offers || a.Assumed != c.assumed {
				t.Errorf("%s\ngot %s: %s\nwith %+v, assumed %v\nwant %s: %s with %d", c.why, a.Need, a.Why, a.Offers, a.Assumed, c.need, c.says, c.offers)
			}
		})
	}
}

// TestAllowKeeps: a destination has one object, so what is offered has what is there, and
// all gateways that come.
func TestAllowKeeps(t *testing.T) {
	w := cluster(t, nil, strings.Replace(intentionsOf("carts", "cart", "{name: web, action: allow, description: ours}, {name: gatehouse-1, action: deny}"), "sources:", "jwt: {providers: [{name: p}]}, sources:", 1))
	me := w.Client(dialect)
	other := me
	other.Name, other.SPIFFEID = "edge/other", strings.Replace(me.SPIFFEID, "gatehouse-1", "gatehouse-2", 1)
	e := w.Entry("shop", "cart", "cart-1", me)
	e.With = []meshsync.Client{me, other}
	want := []meshsync.Offer{{
		Say: "Lets Gateway edge/front and Gateway edge/other in at service cart of Consul. A destination has one such object: this is the whole of it.",
		YAML: `apiVersion: consul.hashicorp.com/v1alpha1
kind: ServiceIntentions
metadata:
  name: carts
  namespace: shop
spec:
  destination:
    name: cart
  jwt:
    providers:
    - name: p
  sources:
  - action: allow
    name: gatehouse-1
  - action: allow
    name: gatehouse-2
  - action: allow
    description: ours
    name: web
`,
	}}
	if diff := cmp.Diff(want, w.Allows(dialect, e).Offers); diff != "" {
		t.Errorf("the whole object (-want +got):\n%s", diff)
	}
}
