package translate

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// gateWorld has a pod that is ready but for our gate, and its endpoint, which is not
// ready for that reason.
const gateWorld = `
kind: Gateway
metadata: {name: edge, namespace: apps}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: gated, port: 80}]}]}
---
kind: Service
metadata: {name: gated, namespace: apps}
spec: {selector: {app: g}, ports: [{port: 80}]}
---
kind: EndpointSlice
metadata: {name: gated-1, namespace: apps, labels: {kubernetes.io/service-name: gated}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.9.1], conditions: {ready: false, serving: false}, targetRef: {kind: Pod, name: p, uid: u1}}]
---
` + gatePod

const gatePod = `
kind: Pod
metadata: {name: p, namespace: apps, uid: u1}
spec: {readinessGates: [{conditionType: service.gatehouse.dev/gated}, {conditionType: service.gatehouse.dev/another}, {conditionType: other.test/gate}]}
status:
  podIP: 10.0.9.1
  conditions: [{type: Ready, status: "False"}, {type: ContainersReady, status: "True"}, {type: other.test/gate, status: "True"}]
`

// gatedEndpoint says how the endpoint of gateWorld stands.
func gatedEndpoint(t *testing.T, x *Index) string {
	t.Helper()
	pools := x.Gateway(Key{KindGateway, "apps", "edge"}).Gateway.Pools
	if len(pools) != 1 || len(pools[0].Endpoints) != 1 {
		t.Fatalf("pools %+v, want one with one endpoint", pools)
	}
	switch e := pools[0].Endpoints[0]; {
	case e.Ready && e.Serving && e.Usable():
		return "a target"
	case !e.Ready && !e.Serving:
		return "none"
	default:
		return "odd"
	}
}

// TestGates: a pod that lacks nothing but our gate is a target, since only so can a
// load balancer find out that it is healthy.
func TestGates(t *testing.T) {
	cases := []struct {
		name, why, old, new string
		want                string
	}{
		{"our gate only", "another gate of ours is no reason either: both would wait for each other", "", "", "a target"},
		{"our gate is true", "the kubelet has not said Ready yet; the target must not come and go", "conditions: [", `conditions: [{type: service.gatehouse.dev/gated, status: "True"}, `, "a target"},
		{"containers", "it answers nothing yet", `ContainersReady, status: "True"`, `ContainersReady, status: "False"`, "none"},
		{"a gate of others", "they say that it must not get traffic", `other.test/gate, status: "True"`, `other.test/gate, status: "False"`, "none"},
		{"no gate for this Service", "its readiness means what it says", "{conditionType: service.gatehouse.dev/gated}, ", "", "none"},
		{"it is leaving", "", "uid: u1}\nspec", "uid: u1, deletionTimestamp: \"2026-08-01T00:00:00Z\"}\nspec", "none"},
		{"the endpoint is leaving", "", "serving: false}", "serving: false, terminating: true}", "none"},
		{"another pod of that name", "the slice means the one before it", "uid: u1}\nspec", "uid: u2}\nspec", "none"},
		{"another address", "", "podIP: 10.0.9.1", "podIP: 10.0.9.9", "refused"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(gateWorld, c.old) {
				t.Fatalf("the world has no %q", c.old)
			}
			x := indexOf(t, strings.Replace(gateWorld, c.old, c.new, 1))
			if c.want == "refused" {
				if r := x.Gateway(Key{KindGateway, "apps", "edge"}); len(r.Gateway.Pools[0].Endpoints) != 0 {
					t.Errorf("%+v: want no endpoint", r.Gateway.Pools[0].Endpoints)
				}
				return
			}
			if got := gatedEndpoint(t, x); got != c.want {
				t.Errorf("it is %s, want %s: %s", got, c.want, c.why)
			}
		})
	}
}

// TestGateChanges: a pod's conditions concern gateways when they decide about a
// target, and our own writes of the gate never do.
func TestGateChanges(t *testing.T) {
	x := indexOf(t, gateWorld)
	cases := []struct {
		name, why, old, new string
		concerned           bool
	}{
		{"our gate becomes true", "it decides nothing, and comes from us", "conditions: [", `conditions: [{type: service.gatehouse.dev/gated, status: "True"}, `, false},
		{"a container fails", "it is no target any more", `ContainersReady, status: "True"`, `ContainersReady, status: "False"`, true},
		{"a heartbeat", "", "name: p,", `name: p, resourceVersion: "9",`, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			next, keys := x.With(Change{Put: decode(t, strings.Replace(gatePod, c.old, c.new, 1))})
			if (len(keys) > 0) != c.concerned {
				t.Errorf("concerned are %v: %s", keys, c.why)
			}
			want := map[bool]string{true: "none", false: "a target"}[c.concerned]
			if got := gatedEndpoint(t, next); got != want {
				t.Errorf("it is %s, want %s", got, want)
			}
		})
	}
}

// TestGateTypes: any Service's name fits behind the prefix.
func TestGateTypes(t *testing.T) {
	long := strings.Repeat("a", 63) // the longest name of a Service, and of a condition's type behind its prefix
	gate := corev1.PodConditionType(GatePrefix + long)
	if prefix, name, _ := strings.Cut(string(gate), "/"); len(prefix) > 253 || len(name) > 63 {
		t.Errorf("%s is no qualified name", gate)
	}
}
