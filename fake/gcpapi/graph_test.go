package gcpapi_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	discovery "google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/store"
)

// call is a change by the discovery client.
type call = func(...googleapi.CallOption) (*discovery.Operation, error)

// shop makes an HTTP load balancer with two backend services and an address, and
// returns how each part is deleted, by its name.
func (w *world) shop() map[string]call {
	w.Helper()
	w.done(w.api.GlobalAddresses.Insert(project, &discovery.Address{Name: "shop"}).Do)
	web, cart := w.backend("web"), w.backend("cart")
	w.done(w.api.UrlMaps.Insert(project, &discovery.UrlMap{
		Name: "shop", DefaultService: web, HostRules: []*discovery.HostRule{{Hosts: []string{"shop.example"}, PathMatcher: "m"}},
		PathMatchers: []*discovery.PathMatcher{{Name: "m", DefaultService: web, RouteRules: []*discovery.HttpRouteRule{{
			Priority: 1, MatchRules: []*discovery.HttpRouteRuleMatch{{PrefixMatch: "/cart"}},
			RouteAction: &discovery.HttpRouteAction{WeightedBackendServices: []*discovery.WeightedBackendService{{BackendService: cart, Weight: 1}}},
		}}}},
	}).Do)
	w.done(w.api.TargetHttpProxies.Insert(project, &discovery.TargetHttpProxy{Name: "shop", UrlMap: global("urlMaps", "shop")}).Do)
	w.done(w.api.GlobalForwardingRules.Insert(project, &discovery.ForwardingRule{
		Name: "shop", Target: global("targetHttpProxies", "shop"), PortRange: "80", LoadBalancingScheme: "EXTERNAL_MANAGED", IPAddress: global("addresses", "shop")}).Do)
	out := map[string]call{
		"forwardingRules/shop": w.api.GlobalForwardingRules.Delete(project, "shop").Do, "targetHttpProxies/shop": w.api.TargetHttpProxies.Delete(project, "shop").Do,
		"urlMaps/shop": w.api.UrlMaps.Delete(project, "shop").Do, "addresses/shop": w.api.GlobalAddresses.Delete(project, "shop").Do,
	}
	for _, name := range []string{"web", "cart"} {
		out["backendServices/"+name] = w.api.BackendServices.Delete(project, name).Do
		out["healthChecks/"+name] = w.api.HealthChecks.Delete(project, name).Do
		out["networkEndpointGroups/"+name] = w.api.NetworkEndpointGroups.Delete(project, zone, name).Do
	}
	return out
}

// In whatever order parts are deleted, what is in use is refused with who uses it, and
// in the end nothing is left.
func TestDeleteInAnyOrder(t *testing.T) {
	for seed := range uint64(8) {
		w := newWorld(t, gcpapi.Config{})
		parts := w.shop()
		names := make([]string, 0, len(parts))
		for name := range parts {
			names = append(names, name)
		}
		random := rand.New(rand.NewPCG(seed, 1))
		refusals := 0
		for rounds := 0; len(names) > 0; rounds++ {
			random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			left := names[:0]
			for _, name := range names {
				_, err := parts[name]()
				reason, message := reasonOf(err)
				if reason == "resourceInUseByAnotherResource" && strings.Contains(message, name+"' is already being used by 'projects/test-project/") {
					left = append(left, name)
					refusals++
				} else if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if names = left; rounds > 5 {
				t.Fatalf("%v are left", names)
			}
		}
		if refusals == 0 || w.Dump() != gcpapi.Empty() {
			t.Errorf("seed %d: %d refusals, left: %s", seed, refusals, w.Dump())
		}
	}
}

// Users are told in both directions, and end when the reference does.
func TestUsers(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.shop()
	address := do(w, w.api.GlobalAddresses.Get(project, "shop").Do)
	rule := do(w, w.api.GlobalForwardingRules.Get(project, "shop").Do)
	if address.Status != "IN_USE" || len(address.Users) != 1 || address.Users[0] != rule.SelfLink || rule.IPAddress != address.Address {
		t.Errorf("address %+v, rule's %s", address, rule.IPAddress)
	}
	if cart := do(w, w.api.BackendServices.Get(project, "cart").Do); len(cart.UsedBy) != 1 || cart.UsedBy[0].Reference != global("urlMaps", "shop") {
		t.Errorf("used by %+v", cart.UsedBy)
	}
	shop := do(w, w.api.UrlMaps.Get(project, "shop").Do)
	w.done(w.api.UrlMaps.Patch(project, "shop", &discovery.UrlMap{Fingerprint: shop.Fingerprint, NullFields: []string{"HostRules", "PathMatchers"}}).Do)
	w.done(w.api.BackendServices.Delete(project, "cart").Do)
	w.done(w.api.GlobalForwardingRules.Delete(project, "shop").Do)
	if address := do(w, w.api.GlobalAddresses.Get(project, "shop").Do); address.Status != "RESERVED" || len(address.Users) != 0 {
		t.Errorf("address %+v", address)
	}
}

// A resource stays in use while the operation runs that will set it free, and a while
// longer.
func TestInUseLingers(t *testing.T) {
	times := slow()
	times.Linger = 5 * time.Second
	w := newWorld(t, gcpapi.Config{Times: times})
	do(w, w.api.HealthChecks.Insert(project, tcpCheck("a")).Do)
	w.clock.Advance(time.Minute)
	do(w, w.api.BackendServices.Insert(project, &discovery.BackendService{Name: "web", LoadBalancingScheme: "EXTERNAL_MANAGED", HealthChecks: []string{global("healthChecks", "a")}}).Do)
	w.clock.Advance(time.Minute)
	do(w, w.api.BackendServices.Delete(project, "web").Do)
	for _, wait := range []time.Duration{0, 10 * time.Second, 4 * time.Second} {
		w.clock.Advance(wait)
		if reason, _ := refused(w, w.api.HealthChecks.Delete(project, "a").Do); reason != "resourceInUseByAnotherResource" {
			t.Errorf("at %s: %q", w.clock.Now(), reason)
		}
	}
	w.clock.Advance(time.Second)
	do(w, w.api.HealthChecks.Delete(project, "a").Do)
	w.clock.Advance(time.Minute)
	if w.Dump() != gcpapi.Empty() {
		t.Error(w.Dump())
	}
}

// References are written in many forms and come back in one; what they name must be
// there, of the right kind and in the right place.
func TestReferences(t *testing.T) {
	w := newWorld(t, gcpapi.Config{Projects: []store.Project{{ID: project, Number: "42"}}})
	w.healthCheck("a")
	insert := func(name, check string) *discovery.BackendServicesInsertCall {
		return w.api.BackendServices.Insert(project, &discovery.BackendService{Name: name, LoadBalancingScheme: "EXTERNAL_MANAGED", HealthChecks: []string{check}})
	}
	for i, form := range []string{"global/healthChecks/a", "projects/test-project/global/healthChecks/a", "projects/42/global/healthChecks/a", global("healthChecks", "a"),
		"https://compute.googleapis.com/compute/v1/projects/test-project/global/healthChecks/a", "//compute.googleapis.com/projects/test-project/global/healthChecks/a"} {
		name := "web" + string(rune('a'+i))
		w.done(insert(name, form).Do)
		if got := do(w, w.api.BackendServices.Get(project, name).Do).HealthChecks[0]; got != global("healthChecks", "a") {
			t.Errorf("%s comes back as %s", form, got)
		}
	}
	for _, c := range []struct{ name, check, reason, message string }{
		{"missing", "global/healthChecks/b", "notFound", "The resource 'projects/test-project/global/healthChecks/b' was not found"},
		{"another kind", "global/urlMaps/a", "invalid", "Must be a URL of one of: healthChecks"},
		{"no URL", "a", "invalid", "The URL is malformed"},
		{"another place", "regions/us-central1/healthChecks/a", "invalid", "Must be in the same location"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reason, message := refused(w, insert("other", c.check).Do)
			if reason != c.reason || !strings.Contains(message, c.message) {
				t.Errorf("%s: %s, want %s: %s", reason, message, c.reason, c.message)
			}
		})
	}
}
