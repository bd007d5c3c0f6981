package gcpapi_test

import (
	"strings"
	"testing"
	"time"

	discovery "google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/store"
)

// A quota is a number of resources, by location for regional ones; deleting makes room.
func TestQuotas(t *testing.T) {
	w := newWorld(t, gcpapi.Config{Limits: map[string]int{"HEALTH_CHECKS": 2}})
	w.healthCheck("a")
	w.healthCheck("b")
	reason, message := refused(w, w.api.HealthChecks.Insert(project, tcpCheck("c")).Do)
	if reason != "quotaExceeded" || message != "Quota 'HEALTH_CHECKS' exceeded.  Limit: 2.0." {
		t.Errorf("%s %s", reason, message)
	}
	w.done(w.api.RegionHealthChecks.Insert(project, region, tcpCheck("c")).Do)
	quotas := do(w, w.api.Projects.Get(project).Do).Quotas
	if len(quotas) != 1 || quotas[0].Metric != "HEALTH_CHECKS" || quotas[0].Limit != 2 || quotas[0].Usage != 2 {
		t.Errorf("quotas %+v", quotas[0])
	}
	w.done(w.api.HealthChecks.Delete(project, "a").Do)
	w.healthCheck("c")
}

// Backend services, forwarding rules and addresses count by what load balancer they are
// of, and where.
func TestQuotasByScheme(t *testing.T) {
	w := newWorld(t, gcpapi.Config{Limits: gcpapi.Quotas()})
	w.shop()
	target := w.regional("INTERNAL_MANAGED")
	w.done(w.api.ForwardingRules.Insert(project, region, &discovery.ForwardingRule{Name: "in", Target: target, PortRange: "80", LoadBalancingScheme: "INTERNAL_MANAGED"}).Do)
	got := map[string]float64{}
	for _, q := range do(w, w.api.Projects.Get(project).Do).Quotas {
		got["global "+q.Metric] = q.Usage
	}
	for _, q := range do(w, w.api.Regions.Get(project, region).Do).Quotas {
		got["here "+q.Metric] = q.Usage
	}
	for name, want := range map[string]float64{
		"global GLOBAL_EXTERNAL_MANAGED_BACKEND_SERVICES": 2, "global GLOBAL_EXTERNAL_MANAGED_FORWARDING_RULES": 1, "global STATIC_ADDRESSES": 1, "global URL_MAPS": 1,
		"here REGIONAL_INTERNAL_MANAGED_BACKEND_SERVICES": 1, "here FORWARDING_RULES": 1, "here URL_MAPS": 1, "here STATIC_ADDRESSES": 0,
	} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
}

// Calls are counted by group and minute; the next minute has all of them again.
func TestRates(t *testing.T) {
	w := newWorld(t, gcpapi.Config{Rates: map[string]int{"global_reads": 3, "reads_per_region": 2, "network_endpoint_write_requests_per_region": 1}})
	w.clock.Advance(59 * time.Second)
	read := func() error { _, err := w.api.HealthChecks.List(project).Do(); return err }
	for range 3 {
		if err := read(); err != nil {
			t.Fatal(err)
		}
	}
	err := read()
	reason, message := reasonOf(err)
	if reason != "rateLimitExceeded" || !strings.Contains(message, "limit 'global_reads per minute' of service 'compute.googleapis.com'") {
		t.Errorf("%s %s", reason, message)
	}
	for _, r := range []string{region, region, "europe-west1"} {
		do(w, w.api.RegionHealthChecks.List(project, r).Do)
	}
	if reason, _ := refused(w, w.api.RegionHealthChecks.List(project, region).Do); reason != "rateLimitExceeded" {
		t.Errorf("a region's third read: %q", reason)
	}
	if used := w.Used(); used["global_reads"] != 3 || used["reads_per_region/us-central1"] != 2 || used["reads_per_region/europe-west1"] != 1 {
		t.Errorf("used %v", used)
	}
	w.clock.Advance(time.Second)
	if err := read(); err != nil {
		t.Errorf("in the next minute: %v", err)
	}
}

// Attaching endpoints has a group of its own, by region: zones of one share it.
func TestEndpointRates(t *testing.T) {
	w := newWorld(t, gcpapi.Config{Rates: map[string]int{"network_endpoint_write_requests_per_region": 1}})
	group := w.group("a")
	body := &discovery.NetworkEndpointGroupsAttachEndpointsRequest{NetworkEndpoints: []*discovery.NetworkEndpoint{{IpAddress: "10.0.0.1", Port: 80}}}
	w.done(w.api.NetworkEndpointGroups.AttachNetworkEndpoints(project, zone, "a", body).Do)
	if reason, _ := refused(w, w.api.NetworkEndpointGroups.AttachNetworkEndpoints(project, "us-central1-b", "a", body).Do); reason != "rateLimitExceeded" {
		t.Errorf("%q after %s", reason, group)
	}
	if got := w.Count(gcpapi.ByGroup)["network_endpoint_write_requests_per_region/us-central1"]; got != 2 {
		t.Errorf("%d calls in the group", got)
	}
}

// Credentials, permissions and APIs that are not enabled are refused in Google's words.
func TestAccess(t *testing.T) {
	var denied string
	config := gcpapi.Config{
		Permit: func(_, permission string, about store.Name) bool {
			return permission != denied || about.ID() == "allowed"
		},
	}
	w := newWorld(t, config)
	w.healthCheck("a")
	insert := w.api.BackendServices.Insert(project, &discovery.BackendService{Name: "web", LoadBalancingScheme: "EXTERNAL_MANAGED", HealthChecks: []string{global("healthChecks", "a")}})
	for _, c := range []struct{ permission, about string }{
		{"compute.backendServices.create", "projects/test-project/global"}, {"compute.healthChecks.useReadOnly", "projects/test-project/global/healthChecks/a"},
	} {
		denied = c.permission
		reason, message := refused(w, insert.Do)
		if want := "Required '" + c.permission + "' permission for '" + c.about; reason != "forbidden" || !strings.HasPrefix(message, want) {
			t.Errorf("%s %s, want %s", reason, message, want)
		}
	}
	denied = ""
	w.done(insert.Do)
	last := w.Calls()[len(w.Calls())-1]
	if last.Permission != "compute.backendServices.create" || strings.Join(last.Uses, " ") != "compute.healthChecks.useReadOnly" {
		t.Errorf("the log has %+v", last)
	}

	off := newWorld(t, gcpapi.Config{Disabled: []string{"compute"}})
	if reason, message := refused(off, off.api.HealthChecks.List(project).Do); reason != "accessNotConfigured" || !strings.Contains(message, "Enable it by visiting") {
		t.Errorf("%s %s", reason, message)
	}
	locked := newWorld(t, gcpapi.Config{Admit: func(token string) bool { return token == "let-me-in" }})
	_, err := locked.api.HealthChecks.List(project).Do()
	if reason, _ := reasonOf(err); reason != "authError" {
		t.Errorf("without a token: %v", err)
	}
	open := locked.api.HealthChecks.List(project)
	open.Header().Set("Authorization", "Bearer let-me-in")
	do(locked, func(o ...googleapi.CallOption) (*discovery.HealthCheckList, error) { return open.Do(o...) })
}
