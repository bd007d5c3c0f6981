package cases

import (
	"encoding/json"
	"slices"
	"testing"
)

const manyParents = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec:
  parentRefs: [{name: edge}, {name: edge2}, {group: "", kind: Service, name: mesh}]
  rules: [{backendRefs: [{name: a, port: 80}]}]
status:
  parents:
  - parentRef: {group: "", kind: Service, name: mesh}
    controllerName: mesh.test/controller
    conditions:
    - {type: Accepted, status: "True", reason: Accepted, message: " as it was\n", observedGeneration: 7, lastTransitionTime: "2020-02-02T02:02:02Z"}
    - {type: mesh.test/Own, status: Unknown, reason: Odd, message: "", lastTransitionTime: "2020-02-02T02:02:03Z"}
`

// parents are the names in a route's status, and the entry of the other
// controller as bytes.
func (h *harness) parents(route string) (names []string, foreign string) {
	h.Helper()
	status, _ := h.objects[named("HTTPRoute", route)]["status"].(fields)
	list, _ := status["parents"].([]any)
	for _, entry := range list {
		p := entry.(fields)
		name := p["parentRef"].(fields)["name"].(string)
		names = append(names, name)
		if name == "mesh" {
			text, err := json.Marshal(p)
			if err != nil {
				h.Fatal(err)
			}
			foreign = string(text)
		}
	}
	slices.Sort(names)
	return names, foreign
}

// respec changes a route's parents and leaves its status to its controllers.
func (h *harness) respec(route string, parents ...any) {
	h.Helper()
	id := named("HTTPRoute", route)
	h.objects[id]["spec"].(fields)["parentRefs"] = parents
	h.write(id)
}

// TestC69 lets our entries in a route's status follow its spec, to the last one,
// and never touches another controller's. Entries that stay tell people, and tools
// that wait for them, of parents that are long gone.
func TestC69(t *testing.T) {
	h := begin(t, gatewayYAML("edge2", `{name: http, port: 80, protocol: HTTP}`), manyParents)
	_, before := h.parents("r")
	step := func(what string, want ...string) {
		t.Helper()
		h.apply()
		names, foreign := h.parents("r")
		if !slices.Equal(names, want) {
			t.Errorf("%s: the status names %v, want %v", what, names, want)
		}
		if foreign != before {
			t.Errorf("%s: the other controller's entry is\n%s, was\n%s", what, foreign, before)
		}
	}
	serves := func(gateway, want string) {
		t.Helper()
		if got := h.ask(gateway, "http://x.test/"); got.String() != want {
			t.Errorf("%s answers %s, want %s", gateway, got, want)
		}
	}
	mesh := fields{"group": "", "kind": "Service", "name": "mesh"}
	step("all parents", "edge", "edge2", "mesh")
	serves("edge2", "a")

	h.put(gatewayYAML("edge", `{name: http, port: 80, protocol: HTTP}`, `{name: more, port: 81, protocol: HTTP}`))
	step("a pass of edge alone", "edge", "edge2", "mesh")

	h.respec("r", fields{"name": "edge"}, mesh)
	step("edge2 is removed from the route", "edge", "mesh")
	serves("edge2", "404")
	serves("edge", "a")

	h.respec("r", mesh)
	step("edge, our last, is removed", "mesh")
	serves("edge", "404")

	h.respec("r", fields{"name": "edge"}, fields{"name": "edge2"}, mesh)
	step("both come back", "edge", "edge2", "mesh")
	h.remove("Gateway", "edge")
	step("Gateway edge is deleted, and the route still names it", "edge2", "mesh")
	h.unserved("edge", 80)
	serves("edge2", "a")
}

// TestC69Policy is the same for a policy: its ancestors are the gateways that use
// it now, and another controller's entry is not ours to judge.
func TestC69Policy(t *testing.T) {
	ca := newAuthority(t, "ca")
	h := begin(t, gatewayYAML("edge2", `{name: http, port: 80, protocol: HTTP}`), policyYAML("a", "ConfigMap", "ca")+`
status:
  ancestors:
  - ancestorRef: {group: gateway.networking.k8s.io, kind: Gateway, name: elsewhere}
    controllerName: mesh.test/controller
    conditions: [{type: Accepted, status: "True", reason: Accepted, message: theirs, lastTransitionTime: "2020-02-02T02:02:02Z"}]
`, manyParents)
	h.put(h.configMap("ca", "ca.crt", ca.pem()))
	names := func() (out []string) {
		for _, a := range h.status("BackendTLSPolicy", "a").Ancestors {
			out = append(out, a.AncestorRef.Name)
		}
		slices.Sort(out)
		return out
	}
	step := func(what string, want ...string) {
		t.Helper()
		h.apply()
		if got := names(); !slices.Equal(got, want) {
			t.Errorf("%s: the ancestors are %v, want %v", what, got, want)
		}
		h.expect("BackendTLSPolicy", "a", "elsewhere", "Accepted", "True/Accepted", "theirs")
	}
	step("a route of both gateways uses it", "edge", "edge2", "elsewhere")
	h.respec("r", fields{"name": "edge"})
	step("edge2 has no such route any more", "edge", "elsewhere")
	h.remove("Gateway", "edge")
	step("edge is deleted", "elsewhere")
	h.put(gatewayYAML("edge", `{name: http, port: 80, protocol: HTTP}`))
	step("edge is made again", "edge", "elsewhere")
	h.remove("HTTPRoute", "r")
	step("the route is deleted", "elsewhere")
	h.expect("GatewayClass", "offcluster", whole, "Accepted", "True/Accepted")
}
