package cases

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
)

// leave asks for a Gateway to be deleted, as kubectl does of one with a
// finalizer: it is there until what it owns is gone.
func (h *harness) leave(gateway string) {
	h.Helper()
	id := named("Gateway", gateway)
	meta := h.objects[id]["metadata"].(fields)
	meta["deletionTimestamp"], meta["finalizers"] = "2026-01-02T03:04:05Z", []string{"gatehouse.dev/gateway"}
	h.write(id)
}

// two is a fixture with two gateways and a route for both.
func two(t *testing.T) *harness {
	h := begin(t, gatewayYAML("other", `{name: http, port: 80, protocol: HTTP}`), `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec:
  parentRefs: [{name: edge}, {name: other}]
  rules: [{backendRefs: [{name: a, port: 80}]}]
`)
	h.apply()
	return h
}

// owned are the objects that a gateway has in the cloud.
func (h *harness) owned(gateway string) (out []cloud.Object) {
	for _, o := range h.stack.Local.Cloud.Dump() {
		if o.Tags.Owner.Name == gateway {
			out = append(out, o)
		}
	}
	return out
}

// gone wants nothing of a gateway to be left, and the other one untouched.
func (h *harness) gone(gateway, other string) {
	h.Helper()
	if left := h.owned(gateway); len(left) > 0 {
		h.Errorf("%d objects of %s are left: %s %s …", len(left), gateway, left[0].Kind, left[0].Name)
	}
	h.unserved(gateway, 80)
	if got := h.ask(other, "http://x.test/"); got.String() != "a" {
		h.Errorf("the other gateway answers %s", got)
	}
}

// TestC52NotFound deletes what somebody else has deleted already: that is done,
// not an error.
func TestC52NotFound(t *testing.T) {
	h := two(t)
	for left := h.owned("edge"); len(left) > 0; left = h.owned("edge") {
		for _, o := range left {
			_ = h.stack.Local.Cloud.Delete(context.Background(), o.Handle) // what is in use goes in a later round
		}
	}
	h.leave("edge")
	h.apply()
	if !h.last.Settled {
		t.Errorf("not settled: %v", h.last.Failed)
	}
	h.gone("edge", "other")
	h.nothingToDo("it is gone")
}

// TestC52Unavailable is refused three times by a cloud that is down, and then done,
// in one pass.
func TestC52Unavailable(t *testing.T) {
	h := two(t)
	h.leave("edge")
	var calls atomic.Int64
	h.stack.Local.Cloud.Intercept(spoil(func(c cloud.Call) cloud.Fault {
		if c.Name == "DeleteBalancer" && calls.Add(1) <= 3 {
			return cloud.Fault{Kind: cloud.Refuse, Error: &cloud.CallError{Code: cloud.ServiceDown, Message: "500"}}
		}
		return cloud.Fault{}
	}))
	h.apply()
	if calls.Load() != 4 {
		t.Errorf("%d calls, want 4: three that failed and one that worked", calls.Load())
	}
	h.gone("edge", "other")
}

// TestC52Denied is refused for ever. The Gateway says which call is denied, it is
// not tried again at once, and the others are served meanwhile: one that cannot go
// must not stop those that stay.
func TestC52Denied(t *testing.T) {
	h := two(t)
	h.refuse("DeleteBalancer", "", cloud.AccessDenied)
	h.leave("edge")
	for range 3 {
		h.mark()
		h.apply()
		if tried := slices.DeleteFunc(h.writes(), func(name string) bool { return name != "DeleteBalancer" }); len(tried) != 1 {
			t.Errorf("a pass makes calls %v, want DeleteBalancer once", h.writes())
		}
		if !h.failedWith(lbmodel.CodeDenied) || h.last.Settled {
			t.Errorf("failed: %v, settled: %v; want Denied and not settled", h.last.Failed, h.last.Settled)
		}
		h.expect("Gateway", "edge", whole, "Programmed", "False/Denied", "DeleteBalancer", "by the case")
	}
	h.put(gatewayYAML("third", `{name: http, port: 80, protocol: HTTP}`), routeYAML("late", `
  hostnames: [late.test]
  rules: [{backendRefs: [{name: b, port: 80}]}]`), `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: third, namespace: apps}
spec:
  parentRefs: [{name: third}, {name: other}]
  hostnames: [third.test]
  rules: [{backendRefs: [{name: c, port: 80}]}]
`)
	h.apply()
	for _, gateway := range []string{"third", "other"} {
		if got := h.ask(gateway, "http://third.test/"); got.String() != "c" {
			t.Errorf("gateway %s answers %s while edge cannot be deleted, want c", gateway, got)
		}
	}
	h.heal()
	h.apply()
	h.gone("edge", "other")
	h.remove("Gateway", "edge")
	h.nothingToDo("the object is gone too")
}

// TestC59 deletes a Gateway and makes it again under the same name before anybody
// looks: another UID, so another gateway. It must not take over what the dying one
// owns, and nothing of that one may stay. (TestNameIsLegalAndUnique of fake/cloud
// is the rest of the case.)
func TestC59(t *testing.T) {
	withUID := func(uid string) string {
		return strings.Replace(gatewayYAML("edge", `{name: http, port: 80, protocol: HTTP}`), "namespace: apps}", "namespace: apps, uid: "+uid+"}", 1)
	}
	h := begin(t, withUID("11111111-0000-4000-8000-000000000000"), routeYAML("r", "  rules: [{backendRefs: [{name: a, port: 80}]}]"))
	h.apply()
	before := h.owned("edge")
	h.put(withUID("22222222-0000-4000-8000-000000000000"))
	h.apply()
	for _, o := range h.owned("edge") {
		if !strings.HasPrefix(o.Tags.Owner.UID, "2") {
			t.Errorf("%s %s of the gateway that is gone is still there", o.Kind, o.Name)
		}
		if slices.ContainsFunc(before, func(old cloud.Object) bool { return old.Handle == o.Handle }) {
			t.Errorf("%s %s was taken over from the gateway that is gone", o.Kind, o.Name)
		}
	}
	if len(h.owned("edge")) != len(before) {
		t.Errorf("%d objects, want %d as before", len(h.owned("edge")), len(before))
	}
	answers{"http://x.test/": "a"}.check(h)
	h.nothingToDo("made again")
}

// TestC52Retain removes a Gateway whose class retains what it owns. Nothing of it is
// touched, by that pass or a later one: deleting is the one mistake that no later
// pass mends.
func TestC52Retain(t *testing.T) {
	h := two(t)
	id := named("GatewayParameters", "cases")
	h.objects[id]["spec"].(fields)["deletion"] = "Retain"
	h.write(id)
	h.apply()
	before := h.owned("edge")
	h.remove("Gateway", "edge")
	h.nothingToDo("it is retained")
	h.put(gatewayYAML("third", `{name: http, port: 80, protocol: HTTP}`))
	h.apply()
	if after := h.owned("edge"); len(after) != len(before) || len(after) == 0 {
		t.Errorf("%d objects of edge are left, want all %d", len(after), len(before))
	}
}

// TestC52Neighbours makes three gateways in one pass, two of which the cloud refuses
// something. The third is served and says so: its status is about itself.
func TestC52Neighbours(t *testing.T) {
	h := begin(t, gatewayYAML("other", `{name: http, port: 80, protocol: HTTP}`), gatewayYAML("third", `{name: http, port: 80, protocol: HTTP}`), `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: apps}
spec:
  parentRefs: [{name: other}, {name: edge}]
  rules: [{backendRefs: [{name: a, port: 80}]}]
`, `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: third, namespace: apps}
spec:
  parentRefs: [{name: third}]
  rules: [{backendRefs: [{name: b, port: 80}]}]
`)
	h.open()
	h.stack.Local.Cloud.Intercept(spoil(func(c cloud.Call) cloud.Fault {
		if c.Name == "CreateBalancer" && strings.Contains(c.Object, "apps-edge-") || c.Name == "CreateEndpointGroup" && strings.Contains(c.Object, "apps-b-80-") {
			return cloud.Fault{Kind: cloud.Refuse, Error: &cloud.CallError{Code: cloud.AccessDenied, Message: "by the case"}}
		}
		return cloud.Fault{}
	}))
	h.apply()
	h.expect("Gateway", "edge", whole, "Programmed", "False/Denied", "CreateBalancer")
	h.expect("Gateway", "edge", whole, "gatehouse.dev/InSync", "False/Pending", "CreateBalancer")
	h.expect("Gateway", "third", whole, "Programmed", "False/Denied", "CreateEndpointGroup")
	h.expect("Gateway", "other", whole, "Programmed", "True/Programmed")
	h.expect("Gateway", "other", "http", "Programmed", "True/Programmed")
	h.expect("Gateway", "other", whole, "gatehouse.dev/InSync", "True/InSync")
	if got := h.ask("other", "http://x.test/"); got.String() != "a" {
		t.Errorf("the neighbour answers %s, want a", got)
	}
	h.heal()
	h.apply()
	for _, gateway := range []string{"edge", "other", "third"} {
		h.expect("Gateway", gateway, whole, "gatehouse.dev/InSync", "True/InSync")
	}
	h.refuse("UpdateBalancer", "", cloud.AccessDenied)
	id := named("Gateway", "edge")
	h.objects[id]["spec"].(fields)["infrastructure"] = fields{"labels": fields{"shop.test/team": "edge"}}
	h.write(id)
	h.apply()
	h.expect("Gateway", "edge", whole, "gatehouse.dev/InSync", "False/Pending", "UpdateBalancer")
	h.expect("Gateway", "other", whole, "gatehouse.dev/InSync", "True/InSync")
}
