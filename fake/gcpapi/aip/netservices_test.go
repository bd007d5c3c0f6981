package aip_test

import (
	"fmt"
	"strings"
	"testing"

	compute "google.golang.org/api/compute/v1"
	"google.golang.org/api/networkservices/v1"

	"gatehouse.dev/fake/gcpapi"
)

// Why: a TlsRoute's limits, its references in both forms, and that it keeps what it
// names in use.
func TestTLSRoutes(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	const region, parent = "us-central1", "projects/test-project/locations/us-central1"
	made := func(op *compute.Operation, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	made(w.compute.RegionHealthChecks.Insert("test-project", region, &compute.HealthCheck{Name: "h", Type: "TCP", TcpHealthCheck: &compute.TCPHealthCheck{Port: 80}}).Do())
	made(w.compute.RegionBackendServices.Insert("test-project", region, &compute.BackendService{Name: "b", Protocol: "TCP", LoadBalancingScheme: "EXTERNAL_MANAGED",
		HealthChecks: []string{"projects/test-project/regions/us-central1/healthChecks/h"}}).Do())
	made(w.compute.RegionTargetTcpProxies.Insert("test-project", region, &compute.TargetTcpProxy{Name: "p", Service: "projects/test-project/regions/us-central1/backendServices/b"}).Do())
	route := func(service string, hosts ...string) *networkservices.TlsRoute {
		return &networkservices.TlsRoute{TargetProxies: []string{parent + "/targetTcpProxies/p"}, Rules: []*networkservices.TlsRouteRouteRule{{
			Matches: []*networkservices.TlsRouteRouteMatch{{SniHost: hosts}},
			Action:  &networkservices.TlsRouteRouteAction{Destinations: []*networkservices.TlsRouteRouteDestination{{ServiceName: service, Weight: 1}}}}}}
	}
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf("h%d.example.com", i)
	}
	create := func(id string, r *networkservices.TlsRoute) error {
		_, err := w.services.Projects.Locations.TlsRoutes.Create(parent, r).TlsRouteId(id).Do()
		return err
	}
	const service = "projects/test-project/regions/us-central1/backendServices/b"
	w.wants(create("a", route(service, "a.example.com", "*.example.com")), 0, "")
	w.wants(create("b", route(parent+"/backendServices/b", "a.example.com")), 0, "")
	w.wants(create("c", route(parent+"/backendServices/none", "a.example.com")), 404, "not found")
	w.wants(create("d", route(service, "*w.example.com")), 400, "partial wildcards")
	w.wants(create("e", route(service)), 400, "at least one of sni_host and alpn")
	w.wants(create("f", route(service, many...)), 400, "100")
	w.wants(create("g", route("projects/test-project/global/backendServices/b", "a")), 400, "us-central1")
	got, err := w.services.Projects.Locations.TlsRoutes.Get(parent + "/tlsRoutes/a").Do()
	if err != nil || got.Rules[0].Action.Destinations[0].ServiceName != parent+"/backendServices/b" || !strings.HasSuffix(got.SelfLink, "/tlsRoutes/a") {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = w.compute.RegionTargetTcpProxies.Delete("test-project", region, "p").Do()
	w.wants(err, 400, "being used by")
	for _, id := range []string{"a", "b"} {
		op, err := w.services.Projects.Locations.TlsRoutes.Delete(parent + "/tlsRoutes/" + id).Do()
		if err != nil || !op.Done {
			t.Errorf("delete: %+v, %v", op, err)
		}
	}
	made(w.compute.RegionTargetTcpProxies.Delete("test-project", region, "p").Do())
}
