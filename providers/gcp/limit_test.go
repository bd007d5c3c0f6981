package gcp

import (
	"encoding/json"
	"strings"
	"testing"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/lbmodel"
)

// TestRoom: a quota that is used up is told before a call is made, and one that was
// raised, or has got room meanwhile, is used at once.
func TestRoom(t *testing.T) {
	limits := map[string]int{"HEALTH_CHECKS": 2}
	server, p := emulated(t, gcpapi.Config{Limits: limits}, Config{})
	id := lbmodel.ID{Kind: KindHealthCheck, Location: global, Name: "c"}
	room := func() error { return p.room(t.Context(), "CreateHealthCheck", id, &HealthCheck{}) }
	if err := room(); err != nil || len(server.Calls()) > 0 {
		t.Fatalf("before anything is known: %v, %d calls", err, len(server.Calls()))
	}
	if err := p.ReadLimits(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(server.Calls()); n != 2 {
		t.Errorf("%d calls for all regions, want 2", n)
	}
	for _, name := range []string{"a", "b"} {
		if err := room(); err != nil {
			t.Errorf("room for %s: %v", name, err)
		}
		op, err := p.calls.Insert(t.Context(), "projects/my-project/global/healthChecks/"+name, []byte(checkBody))
		if err := done(t.Context(), p, op, err); err != nil {
			t.Fatal(err)
		}
	}
	server.Forget()
	err := room()
	if lbmodel.CodeOf(err) != lbmodel.CodeQuota || !strings.Contains(err.Error(), "2 of the 2 that the quota HEALTH_CHECKS allows in global") {
		t.Errorf("with all used: %v, want the quota and its value", err)
	}
	if calls := server.Calls(); len(calls) != 1 || calls[0].Writes {
		t.Errorf("%v, want one read", calls)
	}
	limits["HEALTH_CHECKS"] = 3
	if err := room(); err != nil {
		t.Errorf("with the quota raised: %v", err)
	}
	if err := p.room(t.Context(), "CreateTrustConfig", id, &TrustConfig{}); err != nil {
		t.Errorf("what Compute has no quota for: %v", err)
	}
}

// TestMetrics: each kind takes of the quota that the emulator counts it by.
func TestMetrics(t *testing.T) {
	for _, tc := range []struct {
		location string
		spec     lbmodel.Spec
		want     string
	}{
		{global, &Address{AddressType: "EXTERNAL"}, "STATIC_ADDRESSES"},
		{global, &Address{AddressType: "INTERNAL"}, "GLOBAL_INTERNAL_ADDRESSES"},
		{"europe-west1", &Address{AddressType: "INTERNAL"}, "INTERNAL_ADDRESSES"},
		{global, &ForwardingRule{LoadBalancingScheme: schemeExternal}, "GLOBAL_EXTERNAL_MANAGED_FORWARDING_RULES"},
		{"europe-west1", &ForwardingRule{LoadBalancingScheme: schemeExternal}, "EXTERNAL_MANAGED_FORWARDING_RULES"},
		{"europe-west1", &ForwardingRule{LoadBalancingScheme: schemePassthrough, BackendService: "x"}, "EXTERNAL_NETWORK_LB_FORWARDING_RULES"},
		{"europe-west1", &ForwardingRule{LoadBalancingScheme: schemeInternal}, "FORWARDING_RULES"},
		{global, &BackendService{LoadBalancingScheme: schemeExternal}, "GLOBAL_EXTERNAL_MANAGED_BACKEND_SERVICES"},
		{"europe-west1", &BackendService{LoadBalancingScheme: schemeInternal}, "REGIONAL_INTERNAL_MANAGED_BACKEND_SERVICES"},
		{"europe-west1", &BackendService{LoadBalancingScheme: schemePassthrough}, "REGIONAL_EXTERNAL_NETWORK_LB_BACKEND_SERVICES"},
		{"europe-west1", &BackendService{LoadBalancingScheme: schemePassthroughHere}, "REGIONAL_INTERNAL_LB_BACKEND_SERVICES"},
		{"europe-west1-b", &NetworkEndpointGroup{}, "NETWORK_ENDPOINT_GROUPS"},
	} {
		got := metricOf(lbmodel.ID{Location: tc.location}, tc.spec)
		if _, known := gcpapi.Quotas()[tc.want]; got != tc.want || !known {
			t.Errorf("%T in %s takes of %q, want %q (of the emulator's: %t)", tc.spec, tc.location, got, tc.want, known)
		}
	}
	if at := quotaLocation("europe-west1-b"); at != "europe-west1" {
		t.Errorf("a zone's quotas count in %s", at)
	}
}

// TestAnotherProjectIsRefused: calls would go to the wrong place.
func TestAnotherProjectIsRefused(t *testing.T) {
	_, p := emulated(t, gcpapi.Config{}, Config{})
	settings := json.RawMessage(strings.Replace(settingsOf("GlobalExternal", ""), testProject, "other-project", 1))
	_, findings := p.Offers(settings)
	if len(findings) != 1 || !strings.Contains(findings[0].Detail, "this process works in my-project") {
		t.Errorf("findings %v, want where it works", findings)
	}
	gw := lbmodel.Gateway{Owner: lbmodel.Owner{Cluster: "c", Kind: "Gateway", Namespace: "n", Name: "g"}, Settings: settings, Pools: []lbmodel.Pool{{Name: "p"}}}
	if own, shared, _ := p.Compile(gw); len(own)+len(shared) > 0 {
		t.Errorf("it is compiled all the same: %v %v", own, shared)
	}
	if parts := p.Endpoints(gw.Owner, gw.Pools[0], settings); len(parts) > 0 {
		t.Errorf("its endpoints are: %v", parts)
	}
}
