package translate

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

const relevanceWorld = `
kind: Gateway
metadata: {name: edge, namespace: apps}
spec:
  gatewayClassName: offcluster
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {edge: "yes"}}}}}]
---
kind: Gateway
metadata: {name: other, namespace: apps}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: Gateway
metadata: {name: foreign, namespace: apps}
spec: {gatewayClassName: acme, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: z1}}
spec: {providerID: "fake://n1"}
---
kind: EndpointSlice
metadata: {name: a-2, namespace: apps, labels: {kubernetes.io/service-name: a}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.20], nodeName: n1}]
---
kind: XBackend
metadata: {name: x, namespace: apps}
spec: {type: EndpointSelector, port: {number: 80}, endpointSelector: {matchLabels: {app: x}}}
---
kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec: {parentRefs: [{name: edge}, {name: foreign}], rules: [{backendRefs: [{name: a, port: 80}]}]}
---
kind: HTTPRoute
metadata: {name: r2, namespace: apps}
spec: {parentRefs: [{name: other}], rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: x}]}]}
`

// TestWithIsExact: a change concerns the gateways it can matter to and no other.
func TestWithIsExact(t *testing.T) {
	x := indexOf(t, relevanceWorld)
	parse := func(text string) []any { return decode(t, text) }
	cases := []struct {
		name, why string
		change    Change
		want      string
	}{
		{"node heartbeat", "its zone and provider ID are the same", Change{Put: parse("kind: Node\nmetadata: {name: n1, resourceVersion: \"9\", labels: {topology.kubernetes.io/zone: z1}}\nspec: {providerID: \"fake://n1\"}")}, ""},
		{"node moved", "endpoints tell their zone", Change{Put: parse("kind: Node\nmetadata: {name: n1, labels: {topology.kubernetes.io/zone: z2}}")}, "edge"},
		{"pod of nobody", "", Change{Put: parse("kind: Pod\nmetadata: {name: p, namespace: apps, labels: {app: y}}\nstatus: {podIP: 10.7.7.7}")}, ""},
		{"pod selected", "an XBackend selects it", Change{Put: parse("kind: Pod\nmetadata: {name: p, namespace: apps, labels: {app: x}}\nstatus: {podIP: 10.7.7.7}")}, "other"},
		{"pod vouches", "an endpoint has its address", Change{Put: parse("kind: Pod\nmetadata: {name: p, namespace: apps}\nstatus: {podIP: 10.0.0.20}")}, "edge"},
		{"pod elsewhere", "a Pod of another namespace vouches for nothing", Change{Put: parse("kind: Pod\nmetadata: {name: p, namespace: vault}\nstatus: {podIP: 10.0.0.20}")}, ""},
		{"namespace selected", "edge selects namespaces by this label", Change{Put: parse("kind: Namespace\nmetadata: {name: apps, labels: {edge: \"yes\"}}")}, "edge"},
		{"namespace label", "nobody selects by it", Change{Put: parse("kind: Namespace\nmetadata: {name: apps, labels: {team: a}}")}, ""},
		{"slice", "", Change{Put: parse("kind: EndpointSlice\nmetadata: {name: a-3, namespace: apps, labels: {kubernetes.io/service-name: a}}\naddressType: IPv4")}, "edge"},
		{"policy appears", "", Change{Put: parse("kind: BackendTLSPolicy\nmetadata: {name: p, namespace: apps}\nspec: {targetRefs: [{group: \"\", kind: Service, name: a}], validation: {hostname: x.test}}")}, "edge"},
		{"foreign gateway", "it is not ours", Change{Delete: []Key{{KindGateway, "apps", "foreign"}}}, ""},
		{"our gateway goes", "its status entries must be cleaned up", Change{Delete: []Key{{KindGateway, "apps", "other"}}}, "other"},
		{"class goes", "", Change{Delete: []Key{{KindGatewayClass, "", "offcluster"}}}, "edge other"},
		{"secret of nobody", "", Change{Put: []any{&Secret{Namespace: "apps", Name: "s"}}}, ""},
		{"unknown object", "it is no business of ours", Change{Put: []any{&corev1.PersistentVolume{}}, Delete: []Key{{"Odd", "", "x"}}}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, keys := x.With(c.change)
			var names []string
			for _, key := range keys {
				names = append(names, key.Name)
			}
			want(t, c.why, strings.Join(names, " "), c.want)
		})
	}
}

const servicesWorld = `
kind: GatewayParameters
metadata: {name: services, namespace: apps}
spec: {serviceTargets: Nodes, fake: {}}
---
kind: Service
metadata: {name: nodes, namespace: apps}
spec: {type: LoadBalancer, loadBalancerClass: gatehouse.dev/fake, ports: [{port: 80, nodePort: 30080}]}
---
kind: Service
metadata: {name: pods, namespace: apps}
spec: {type: LoadBalancer, loadBalancerClass: gatehouse.dev/fake, ports: [{port: 80}]}
---
kind: Service
metadata: {name: theirs, namespace: apps}
spec: {type: LoadBalancer, loadBalancerClass: other.test/lb, ports: [{port: 80, nodePort: 30081}]}
---
kind: Gateway
metadata: {name: edge, namespace: apps}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: nodes, port: 80}]}]}
---
kind: Node
metadata: {name: n1}
status: {addresses: [{type: InternalIP, address: 192.0.2.11}]}
---
kind: EndpointSlice
metadata: {name: pods-1, namespace: apps, labels: {kubernetes.io/service-name: pods}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.20], nodeName: n1}]
`

// TestServicesAreExact: a node matters to Services that send to nodes and to pods
// on it, a slice to those that send to pods and to routes.
func TestServicesAreExact(t *testing.T) {
	x := indexOf(t, servicesWorld)
	node := func(rest string) []any { return decode(t, "kind: Node\nmetadata: {name: n1"+rest) }
	slice := func(service string) []any {
		return decode(t, "kind: EndpointSlice\nmetadata: {name: new, namespace: apps, labels: {kubernetes.io/service-name: "+service+"}}\naddressType: IPv4")
	}
	cases := []struct {
		name, why string
		change    Change
		want      string
	}{
		{"node heartbeat", "its readiness means nothing", Change{Put: node("}\nstatus: {conditions: [{type: Ready, status: \"False\"}], addresses: [{type: InternalIP, address: 192.0.2.11}]}")}, ""},
		{"node excluded", "pods on it are served as before", Change{Put: node(", labels: {node.kubernetes.io/exclude-from-external-load-balancers: \"\"}}\nstatus: {addresses: [{type: InternalIP, address: 192.0.2.11}]}")}, "nodes"},
		{"node moved", "endpoints tell their zone", Change{Put: node(", labels: {topology.kubernetes.io/zone: z2}}\nstatus: {addresses: [{type: InternalIP, address: 192.0.2.11}]}")}, "nodes pods"},
		{"node comes", "", Change{Put: decode(t, "kind: Node\nmetadata: {name: n2}\nstatus: {addresses: [{type: InternalIP, address: 192.0.2.12}]}")}, "nodes"},
		{"slice of a Service by nodes", "the route sends to its pods, the load balancer does not", Change{Put: slice("nodes")}, "edge"},
		{"slice of a Service by pods", "", Change{Put: slice("pods")}, "pods"},
		{"slice of somebody's Service", "", Change{Put: slice("theirs")}, ""},
		{"Service", "", Change{Delete: []Key{{KindService, "apps", "nodes"}}}, "edge nodes"},
		{"foreign Service", "", Change{Delete: []Key{{KindService, "apps", "theirs"}}}, ""},
		{"parameters", "routes to the Services do not care", Change{Delete: []Key{{KindParameters, "apps", "services"}}}, "nodes pods"},
		{"policy", "it is for who makes a hop of its own", Change{Put: decode(t, "kind: BackendTLSPolicy\nmetadata: {name: p, namespace: apps}\nspec: {targetRefs: [{group: \"\", kind: Service, name: pods}], validation: {hostname: x.test}}")}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, keys := x.With(c.change)
			var names []string
			for _, key := range keys {
				names = append(names, key.Name)
			}
			want(t, c.why, strings.Join(names, " "), c.want)
		})
	}
}

// TestEndpointsOnly says when the fast path is enough.
func TestEndpointsOnly(t *testing.T) {
	cases := []struct {
		name, why string
		change    Change
		want      bool
	}{
		{"slices", "", Change{Put: []any{&discoveryv1.EndpointSlice{}}, Delete: []Key{{KindEndpointSlice, "apps", "a"}}}, true},
		{"a route among them", "a route changes more than endpoints", Change{Put: []any{&discoveryv1.EndpointSlice{}, &gwv1.HTTPRoute{}}}, false},
		{"a deleted Pod", "whether its address may be sent to is for all of translation", Change{Delete: []Key{{KindPod, "apps", "a"}}}, false},
	}
	for _, c := range cases {
		if got := c.change.EndpointsOnly(); got != c.want {
			t.Errorf("%s: %v, want %v: %s", c.name, got, c.want, c.why)
		}
	}
}

// TestLiveEndpoints: without slices, a Service of a cluster has no endpoints and
// one of files has unknown ones.
func TestLiveEndpoints(t *testing.T) {
	s := snapshotOf(decode(t, readFile(t, "common.yaml")+"\n---\n"+relevanceWorld)...)
	s.EndpointSlices = nil
	key := Key{KindGateway, "apps", "other"}
	route := s.HTTPRoutes[slices.IndexFunc(s.HTTPRoutes, func(r *gwv1.HTTPRoute) bool { return r.Name == "r2" })]
	route.Spec.Rules[0].BackendRefs[0] = gwv1.HTTPBackendRef{BackendRef: gwv1.BackendRef{BackendObjectReference: gwv1.BackendObjectReference{Name: "a", Port: ptrTo[int32](80)}}}
	if e := New(s, testOptions()).Gateway(key).Gateway.Pools[0].Endpoints; e != nil {
		t.Errorf("files: endpoints are %v, want nil: unknown", e)
	}
	s.LiveEndpoints = true
	if e := New(s, testOptions()).Gateway(key).Gateway.Pools[0].Endpoints; e == nil || len(e) > 0 {
		t.Errorf("cluster: endpoints are %#v, want an empty list: none", e)
	}
}
