package gcpapi_test

import (
	"fmt"
	"strings"
	"testing"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	discovery "google.golang.org/api/compute/v1"
	"google.golang.org/protobuf/proto"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/store"
)

func endpoints(n, from int) *discovery.NetworkEndpointGroupsAttachEndpointsRequest {
	out := &discovery.NetworkEndpointGroupsAttachEndpointsRequest{}
	for i := range n {
		out.NetworkEndpoints = append(out.NetworkEndpoints, &discovery.NetworkEndpoint{IpAddress: fmt.Sprintf("10.9.%d.%d", (from+i)/250, (from+i)%250+1), Port: 8080})
	}
	return out
}

// Endpoints come and go by at most 500 a call, the groups have their limits, and lists
// have pages.
func TestEndpoints(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.group("web")
	groups := w.api.NetworkEndpointGroups
	for i := range 3 {
		w.done(groups.AttachNetworkEndpoints(project, zone, "web", endpoints(500, 500*i)).Do)
	}
	w.done(groups.AttachNetworkEndpoints(project, zone, "web", endpoints(1, 0)).Do) // again: nothing doubles
	if size := do(w, groups.Get(project, zone, "web").Do).Size; size != 1500 {
		t.Errorf("size %d, want 1500", size)
	}
	if reason, message := refused(w, groups.AttachNetworkEndpoints(project, zone, "web", endpoints(501, 1500)).Do); reason != "invalid" || !strings.Contains(message, "At most 500") {
		t.Errorf("501 at once: %s %s", reason, message)
	}
	w.done(groups.DetachNetworkEndpoints(project, zone, "web", &discovery.NetworkEndpointGroupsDetachEndpointsRequest{NetworkEndpoints: endpoints(500, 1000).NetworkEndpoints}).Do)
	if reason, _ := refused(w, groups.DetachNetworkEndpoints(project, zone, "web", &discovery.NetworkEndpointGroupsDetachEndpointsRequest{NetworkEndpoints: endpoints(2, 999).NetworkEndpoints}).Do); reason != "invalid" {
		t.Errorf("one that is gone: %q", reason)
	}
	list := groups.ListNetworkEndpoints(project, zone, "web", &discovery.NetworkEndpointGroupsListEndpointsRequest{HealthStatus: "SKIP"})
	seen := map[string]bool{}
	if err := list.MaxResults(300).Pages(t.Context(), func(page *discovery.NetworkEndpointGroupsListNetworkEndpoints) error {
		for _, e := range page.Items {
			seen[e.NetworkEndpoint.IpAddress] = true
		}
		return nil
	}); err != nil || len(seen) != 1000 {
		t.Errorf("%d endpoints in the pages, want 1000: %v", len(seen), err)
	}
}

// Attaching runs beside other attaching, as syncers of several batches want it.
func TestEndpointsBeside(t *testing.T) {
	w := newWorld(t, gcpapi.Config{Times: slow()})
	do(w, w.api.NetworkEndpointGroups.Insert(project, zone, &discovery.NetworkEndpointGroup{Name: "web", NetworkEndpointType: "NON_GCP_PRIVATE_IP_PORT"}).Do)
	w.clock.Advance(slow().Operations[""])
	for i := range 3 {
		do(w, w.api.NetworkEndpointGroups.AttachNetworkEndpoints(project, zone, "web", endpoints(2, 2*i)).Do)
	}
	w.clock.Advance(slow().Operations[""])
	if size := do(w, w.api.NetworkEndpointGroups.Get(project, zone, "web").Do).Size; size != 6 {
		t.Errorf("size %d, want 6", size)
	}
}

// What an endpoint must say depends on its group's type and place.
func TestEndpointForms(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	zonal := func(name, kind string) {
		w.done(w.api.NetworkEndpointGroups.Insert(project, zone, &discovery.NetworkEndpointGroup{Name: name, NetworkEndpointType: kind, DefaultPort: map[bool]int64{true: 80}[kind == "GCE_VM_IP_PORT"],
			Subnetwork: map[bool]string{true: "regions/us-central1/subnetworks/default"}[kind == "GCE_VM_IP"]}).Do)
	}
	zonal("pods", "GCE_VM_IP_PORT")
	zonal("nodes", "GCE_VM_IP")
	zonal("hybrid", "NON_GCP_PRIVATE_IP_PORT")
	for _, c := range []struct {
		name, group string
		endpoint    discovery.NetworkEndpoint
		want, why   string
	}{
		{"a pod", "pods", discovery.NetworkEndpoint{Instance: "node-a", IpAddress: "10.4.0.7", Port: 8080}, "", "of the node's alias range"},
		{"default port", "pods", discovery.NetworkEndpoint{Instance: "zones/us-central1-a/instances/node-a", IpAddress: "10.4.0.8"}, "", "the group has one"},
		{"the node's own address", "pods", discovery.NetworkEndpoint{Instance: "node-a", Port: 80}, "", "where none is said"},
		{"no instance", "pods", discovery.NetworkEndpoint{IpAddress: "10.4.0.7", Port: 80}, "Required field 'resource.networkEndpoints[0].instance' not specified", "zonal endpoints are on instances"},
		{"another zone's instance", "pods", discovery.NetworkEndpoint{Instance: "node-b", IpAddress: "10.5.0.7", Port: 80}, "was not found in the zone us-central1-a", "a group is of a zone"},
		{"a foreign address", "pods", discovery.NetworkEndpoint{Instance: "node-a", IpAddress: "10.5.0.7", Port: 80}, "Specified IP address 10.5.0.7 doesn't belong to the (sub)network default or to the instance node-a.", "as Google says it"},
		{"a node", "nodes", discovery.NetworkEndpoint{Instance: "node-a"}, "", "without a port"},
		{"a node's port", "nodes", discovery.NetworkEndpoint{Instance: "node-a", Port: 80}, "The port can't be specified", "of this type"},
		{"anywhere", "hybrid", discovery.NetworkEndpoint{IpAddress: "192.0.2.1", Port: 80}, "", "hybrid"},
		{"hybrid without port", "hybrid", discovery.NetworkEndpoint{IpAddress: "192.0.2.2"}, "Must be between 1 and 65535", "no default port"},
		{"hybrid on an instance", "hybrid", discovery.NetworkEndpoint{Instance: "node-a", IpAddress: "10.4.0.7", Port: 80}, "neither an instance nor a domain name", "it is not Google's"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, message := refused(w, w.api.NetworkEndpointGroups.AttachNetworkEndpoints(project, zone, c.group, &discovery.NetworkEndpointGroupsAttachEndpointsRequest{NetworkEndpoints: []*discovery.NetworkEndpoint{&c.endpoint}}).Do)
			if c.want == "" && message != "" || !strings.Contains(message, c.want) {
				t.Errorf("%q, want %q: %s", message, c.want, c.why)
			}
		})
	}
}

// Internet groups: one endpoint for a global one, names for those that want names.
func TestInternetGroups(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	groups := client(w, compute.NewGlobalNetworkEndpointGroupsRESTClient)
	op, err := groups.Insert(t.Context(), &computepb.InsertGlobalNetworkEndpointGroupRequest{Project: project,
		NetworkEndpointGroupResource: &computepb.NetworkEndpointGroup{Name: proto.String("away"), NetworkEndpointType: proto.String("INTERNET_FQDN_PORT")}})
	if err == nil {
		err = op.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	attach := func(hosts ...string) error {
		in := &computepb.GlobalNetworkEndpointGroupsAttachEndpointsRequest{}
		for _, h := range hosts {
			in.NetworkEndpoints = append(in.NetworkEndpoints, &computepb.NetworkEndpoint{Fqdn: proto.String(h), Port: proto.Int32(443)})
		}
		_, err := groups.AttachNetworkEndpoints(t.Context(), &computepb.AttachNetworkEndpointsGlobalNetworkEndpointGroupRequest{
			Project: project, NetworkEndpointGroup: "away", GlobalNetworkEndpointGroupsAttachEndpointsRequestResource: in})
		return err
	}
	if reason, _ := reasonOf(attach("a.example", "b.example")); reason != "invalid" {
		t.Errorf("two endpoints: %q", reason)
	}
	if err := attach("a.example"); err != nil {
		t.Error(err)
	}
	if reason, _ := refused(w, w.api.GlobalNetworkEndpointGroups.Insert(project, &discovery.NetworkEndpointGroup{Name: "b", NetworkEndpointType: "GCE_VM_IP_PORT"}).Do); reason != "invalid" {
		t.Errorf("a zonal type: %q", reason)
	}
}

// Health is what the serving part sees, told for each backend service that checks.
func TestHealth(t *testing.T) {
	w := newWorld(t, gcpapi.Config{Observed: func(_, backend store.Name, e store.Object) (string, bool) {
		return "UNHEALTHY", backend.ID() == "web" && store.Text(e, "ipAddress") == "10.9.0.2"
	}})
	w.backend("web")
	w.done(w.api.NetworkEndpointGroups.AttachNetworkEndpoints(project, zone, "web", endpoints(2, 0)).Do)
	list := do(w, w.api.NetworkEndpointGroups.ListNetworkEndpoints(project, zone, "web", &discovery.NetworkEndpointGroupsListEndpointsRequest{HealthStatus: "SHOW"}).Do)
	got := ""
	for _, e := range list.Items {
		one := e.Healths[0]
		got += e.NetworkEndpoint.IpAddress + " " + one.HealthState + " " + store.Name(one.BackendService.BackendService).ID() + "; "
	}
	if want := "10.9.0.1 HEALTHY web; 10.9.0.2 UNHEALTHY web; "; got != want {
		t.Errorf("healths: %s want %s", got, want)
	}
	health := do(w, w.api.BackendServices.GetHealth(project, "web", &discovery.ResourceGroupReference{Group: "zones/us-central1-a/networkEndpointGroups/web"}).Do)
	if len(health.HealthStatus) != 2 || health.HealthStatus[1].HealthState != "UNHEALTHY" || health.HealthStatus[1].Port != 8080 {
		t.Errorf("health %+v", health.HealthStatus)
	}
	if reason, _ := refused(w, w.api.BackendServices.GetHealth(project, "web", &discovery.ResourceGroupReference{Group: "zones/us-central1-a/networkEndpointGroups/other"}).Do); reason != "invalid" {
		t.Errorf("a group that is no backend: %q", reason)
	}
}
