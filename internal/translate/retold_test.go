package translate

import (
	"strings"
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

const retoldWorld = `
kind: GatewayClass
metadata: {name: ours, generation: 1}
spec: {controllerName: gatehouse.dev/fake}
status: {conditions: [{type: Accepted, status: "True"}]}
---
kind: GatewayClass
metadata: {name: theirs, generation: 1}
spec: {controllerName: acme.test/mesh}
status: {conditions: [{type: Accepted, status: "True"}]}
---
kind: Gateway
metadata: {name: edge, namespace: apps, generation: 1, finalizers: [gatehouse.dev/cloud-resources]}
spec: {gatewayClassName: offcluster, listeners: [{name: http, port: 80, protocol: HTTP}]}
status: {addresses: [{value: 192.0.2.1}]}
---
kind: HTTPRoute
metadata: {name: r, namespace: apps, generation: 1}
spec: {parentRefs: [{name: edge}]}
status:
  parents:
  - {parentRef: {name: edge}, controllerName: gatehouse.dev/fake, conditions: []}
  - {parentRef: {name: mesh}, controllerName: acme.test/mesh, conditions: []}
`

// TestRetold: who must look at its statuses when somebody else wrote to one. Why this
// table: what others say of themselves is no business of ours, and what we said must
// not stay away until somebody looks at the cloud.
func TestRetold(t *testing.T) {
	gateway, route := Key{KindGateway, "apps", "edge"}, Key{KindHTTPRoute, "apps", "r"}
	onGateway := func(edit func(*gwv1.Gateway)) func(*Index) any {
		return func(x *Index) any {
			g, _ := lookup[*gwv1.Gateway](x, gateway.Kind, gateway.Namespace, gateway.Name)
			g = g.DeepCopy()
			edit(g)
			return g
		}
	}
	onClass := func(name string) func(*Index) any {
		return func(x *Index) any {
			c, _ := lookup[*gwv1.GatewayClass](x, KindGatewayClass, "", name)
			c = c.DeepCopy()
			c.Status = gwv1.GatewayClassStatus{}
			return c
		}
	}
	onRoute := func(edit func(*gwv1.HTTPRoute)) func(*Index) any {
		return func(x *Index) any {
			r, _ := lookup[*gwv1.HTTPRoute](x, route.Kind, route.Namespace, route.Name)
			r = r.DeepCopy()
			edit(r)
			return r
		}
	}
	tests := []struct {
		name, want string
		change     func(*Index) any
	}{
		{"a heartbeat", "", onGateway(func(g *gwv1.Gateway) { g.ResourceVersion = "9" })},
		{"its address is gone", "edge", onGateway(func(g *gwv1.Gateway) { g.Status.Addresses = nil })},
		{"our finalizer is gone", "edge", onGateway(func(g *gwv1.Gateway) { g.Finalizers = nil })},
		{"somebody else's finalizer", "", onGateway(func(g *gwv1.Gateway) { g.Finalizers = append(g.Finalizers, "other.test/x") })},
		{"an edit, which is followed anyway", "", onGateway(func(g *gwv1.Gateway) { g.Generation, g.Status.Addresses = 2, nil })},
		{"the status of a class of ours is gone", "ours", onClass("ours")},
		{"that of somebody else's class is", "", onClass("theirs")},
		{"our entry of a route is gone", "edge", onRoute(func(r *gwv1.HTTPRoute) { r.Status.Parents = r.Status.Parents[1:] })},
		{"somebody else's is", "", onRoute(func(r *gwv1.HTTPRoute) { r.Status.Parents = r.Status.Parents[:1] })},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			x := indexOf(t, retoldWorld)
			var names []string
			for _, key := range x.Retold(Change{Put: []any{c.change(x)}}) {
				names = append(names, key.Name)
			}
			want(t, "retold", strings.Join(names, " "), c.want)
		})
	}
}
