package reconcile_test

import (
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
)

const meshed = base + `---
apiVersion: gatehouse.dev/v1alpha1
kind: MeshBinding
metadata: {name: istio}
spec: {controllerName: istio.io/istio, gateways: {namespaceSelector: {}}}
---
apiVersion: v1
kind: Pod
metadata: {name: plain}
spec: {containers: [{name: app}]}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: plain-2}
spec: {containers: [{name: app}]}
status: {podIP: 10.0.0.2}
---
apiVersion: v1
kind: Pod
metadata: {name: member, annotations: {sidecar.istio.io/status: "{}"}}
spec: {containers: [{name: app}, {name: istio-proxy}]}
status: {podIP: 10.0.0.3}
`

// TestEndpointsOfAMesh: an endpoint that is reached as the others are goes the fast
// path; the first that is a member of the mesh asks for a full pass, which gives it
// no pool in plain text.
func TestEndpointsOfAMesh(t *testing.T) {
	w := newWorld(t, meshed)
	w.pass(w.all())
	more := func(address string) reconcile.Difference {
		return w.change(strings.Replace(meshed, "[{addresses: [10.0.0.1]}]", "[{addresses: [10.0.0.1]}, {addresses: ["+address+"]}]", 1), reconcile.Removed)
	}
	if d := more("10.0.0.2"); !w.loop.EndpointsOnly(d) {
		t.Error("a pod outside of the mesh asks for more than its endpoint")
	}
	d := more("10.0.0.3")
	if w.loop.EndpointsOnly(d) {
		t.Fatal("a pod of the mesh goes the fast path")
	}
	followed := w.loop.Follow(d.Change)
	if len(followed.Keys) != 2 {
		t.Errorf("to plan are %v, want both gateways", followed.Keys)
	}
	g, _ := w.loop.Gateway(translate.Key{Kind: translate.KindGateway, Namespace: "default", Name: "a"})
	for _, p := range g.Served.Pools {
		for _, e := range p.Endpoints {
			if e.Address == "10.0.0.3" && p.TLS == nil {
				t.Errorf("pool %s sends plain text to a pod of the mesh", p.Name)
			}
		}
	}
	targets := slices.ContainsFunc(followed.Targets, func(t reconcile.Targets) bool { return len(t.IDs) > 0 })
	if targets {
		t.Errorf("endpoints are brought before the plan: %v", followed.Targets)
	}
}
