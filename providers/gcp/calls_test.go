package gcp

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/api/option"
	"google.golang.org/protobuf/proto"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/lbmodel"
)

// expect compares the writes that something took.
func (s *shop) expect(what string, got, want map[string]int) {
	s.Helper()
	if !maps.Equal(got, want) {
		s.Errorf("%s took %v, want %v", what, got, want)
	}
}

// before expects that the last write of one kind came before the first of another.
func (s *shop) before(first, then string) {
	s.Helper()
	last, next := -1, -1
	for i, c := range s.Calls() {
		if strings.Contains(c.Method, first) {
			last = i
		}
		if strings.Contains(c.Method, then) && next < 0 {
			next = i
		}
	}
	if last < 0 || next < 0 || last > next {
		s.Errorf("%s is call %d and %s is call %d", first, last, then, next)
	}
}

// meshShop has the gateway with mutual TLS.
func meshShop(t *testing.T) (*shop, lbmodel.Gateway) {
	t.Helper()
	s := newShop(t, gcpapi.Config{})
	gw := s.live(meshGateway)
	s.bring(gw)
	return s, gw
}

// Why: a mesh that gets another root, and a gateway that gets another certificate, cost
// what they are: nothing that serves is touched.
func TestRotationsAreOneCall(t *testing.T) {
	s, gw := meshShop(t)
	one := gw.Trust[0].Roots
	gw.Trust[0].Roots = sorted(append(slices.Clone(one), s.vault.root("two")))
	s.expect("one more root", s.bring(gw), map[string]int{"certificatemanager.trustConfigs.patch": 1})
	gw.Trust[0].Roots = slices.DeleteFunc(slices.Clone(gw.Trust[0].Roots), func(r lbmodel.Root) bool { return r.SHA256 == one[0].SHA256 })
	s.expect("a root that is not published any more", s.bring(gw), map[string]int{"certificatemanager.trustConfigs.patch": 1}) // since when is noted
	s.clock.Advance(25 * time.Hour)
	dropped := s.bring(gw)
	delete(dropped, "certificatemanager.certificates.patch") // it is due by now, too
	s.expect("its end", dropped, map[string]int{"certificatemanager.trustConfigs.patch": 1})
	issued := s.vault.issued
	s.clock.Advance(20 * time.Hour)
	s.expect("a client certificate that is due", s.bring(gw), map[string]int{"certificatemanager.certificates.patch": 1})
	if s.vault.issued != issued+1 {
		t.Errorf("%d certificates were issued, want 1", s.vault.issued-issued)
	}
	gw.Identities[0].Leaf = leafIn(s.vault.pair("shop.test", "www.shop.test"))
	s.expect("a renewed Secret", s.bring(gw), map[string]int{"certificatemanager.certificates.patch": 1})
	s.restart()
	s.account.Want(gw)
	s.quiet("after a restart", gw.Owner)
}

// Why: what others have stumbled over, with what it takes here.
func TestChangesCostWhatTheyChange(t *testing.T) {
	for _, c := range []struct {
		name, why string
		change    func(s *shop, gw *lbmodel.Gateway)
		writes    map[string]int
		order     [2]string
	}{
		{"probe", "an edit of a probe reaches the check in place (ingress-gce 39, 317)", func(_ *shop, gw *lbmodel.Gateway) {
			gw.Pools[0].Health.Path = "/other"
		}, map[string]int{"healthChecks.patch": 1}, [2]string{}},
		{"backend", "the old backend goes when the URL map leads elsewhere, not before (ingress-gce 1756)", func(_ *shop, gw *lbmodel.Gateway) {
			gw.Listeners[0].Rules[0].Action.Forward = &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "b", Weight: 1}}}
			gw.Pools = gw.Pools[1:]
		}, map[string]int{"urlMaps.patch": 1, "backendServices.delete": 1, "networkEndpointGroups.delete": 1, "healthChecks.delete": 1, "firewalls.delete": 1},
			[2]string{"urlMaps.patch", ".delete"}},
		{"port", "another port of a Service is another group, and the old one goes after it (gke-gateway-api 49)", func(_ *shop, gw *lbmodel.Gateway) {
			gw.Pools[0].Group = "apps/a:81"
		}, map[string]int{"networkEndpointGroups.insert": 1, "networkEndpointGroups.attachNetworkEndpoints": 1, "healthChecks.insert": 1, "firewalls.insert": 1,
			"backendServices.patch": 1, "networkEndpointGroups.delete": 1, "healthChecks.delete": 1, "firewalls.delete": 1}, [2]string{"backendServices.patch", ".delete"}},
		{"authentication", "what cannot be changed in use is made anew first (tf-google 7311)", func(_ *shop, gw *lbmodel.Gateway) {
			for i := range gw.Pools {
				tls := *gw.Pools[i].TLS
				tls.Identity, tls.Floor = "", lbmodel.TLSServerOnly
				gw.Pools[i].TLS = &tls
			}
		}, map[string]int{"networksecurity.backendAuthenticationConfigs.create": 1, "backendServices.patch": 2, "networksecurity.backendAuthenticationConfigs.delete": 1,
			"certificatemanager.certificates.delete": 1, "healthChecks.insert": 1, "healthChecks.delete": 1}, [2]string{"backendServices.patch", "backendAuthenticationConfigs.delete"}},
		{"endpoints", "pods come and go by one call each way", func(_ *shop, gw *lbmodel.Gateway) {
			e := &gw.Pools[0].Endpoints[0]
			e.Address = "10.0.0.9"
		}, map[string]int{"networkEndpointGroups.attachNetworkEndpoints": 1, "networkEndpointGroups.detachNetworkEndpoints": 1}, [2]string{"attach", "detach"}},
		{"no pods", "a group without pods is there all the same (ingress-gce 1755), and keeps its place", func(_ *shop, gw *lbmodel.Gateway) {
			gw.Pools[0].Endpoints = []lbmodel.Endpoint{}
		}, map[string]int{"networkEndpointGroups.detachNetworkEndpoints": 1}, [2]string{}},
		{"verification ends", "a field that is taken away is cleared (magic-modules 11496)", func(_ *shop, gw *lbmodel.Gateway) {
			for i := range gw.Listeners {
				tls := *gw.Listeners[i].TLS
				tls.Validation = nil
				gw.Listeners[i].TLS = &tls
			}
		}, map[string]int{"targetHttpsProxies.patch": 1, "networksecurity.serverTlsPolicies.delete": 1}, [2]string{"targetHttpsProxies.patch", ".delete"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, gw := meshShop(t)
			next := changed(s, gw) // a copy that may be edited
			next.Identities, next.Trust, next.Listeners, next.Pools = gw.Identities, gw.Trust, slices.Clone(gw.Listeners), slices.Clone(gw.Pools)
			for i := range next.Pools {
				next.Pools[i].Endpoints = slices.Clone(next.Pools[i].Endpoints)
				health := *next.Pools[i].Health
				next.Pools[i].Health = &health
			}
			next.Listeners[0].Rules = slices.Clone(next.Listeners[0].Rules)
			c.change(s, &next)
			s.expect(c.name+" ("+c.why+")", s.bring(next), c.writes)
			if c.order[0] != "" {
				s.before(c.order[0], c.order[1])
			}
			s.quiet("the next plan", gw.Owner)
		})
	}
}

// Why: packets for a port that lead elsewhere need no other port: clients keep theirs.
func TestPassthroughIsLedElsewhere(t *testing.T) {
	s := newShop(t, gcpapi.Config{})
	gw := s.live("testdata/passthrough/gateway.yaml")
	s.bring(gw)
	other := gw.Pools[0]
	other.Name, other.Group = "t2", "apps/t2:80"
	gw.Pools = append(slices.Clone(gw.Pools), other)
	gw.Listeners = slices.Clone(gw.Listeners)
	i := slices.IndexFunc(gw.Listeners, func(l lbmodel.Listener) bool { return l.Protocol == lbmodel.ProtocolTCP })
	gw.Listeners[i].Forward = &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "t2", Weight: 1}}}
	took := s.bring(gw)
	if took["forwardingRules.setTarget"] != 1 || took["forwardingRules.insert"]+took["forwardingRules.delete"] != 0 {
		t.Errorf("it took %v", took)
	}
	s.quiet("the next plan", gw.Owner)
}

// Why: a zone whose group cannot be made, and a node that nobody knows, cost what is
// there and nobody else (ingress-gce 3137, 2508); it is tried until it works.
func TestZonesAreIndependent(t *testing.T) {
	s := newShop(t, gcpapi.Config{})
	gw := s.live("testdata/passthrough/gateway.yaml")
	gw.Pools[0].Endpoints[0].Instance = "" // its node has no providerID
	s.spoilt = []gcpapi.Fault{{}}
	s.SetFaults(gcpapi.Fault{Method: "compute.networkEndpointGroups.insert", Target: "europe-west1-c", Kind: gcpapi.Refuse, Status: http.StatusForbidden, Reason: "quotaExceeded", Message: "Quota 'NETWORK_ENDPOINT_GROUPS' exceeded. Limit: 1.0"})
	s.account.Want(gw)
	for range 4 {
		plan, _ := s.account.Plan(s.Context(), []lbmodel.Owner{gw.Owner})
		out := s.account.Apply(s.Context(), plan, nil)
		for id, err := range out.Failed {
			if code := lbmodel.CodeOf(err); code != lbmodel.CodeQuota || !strings.Contains(err.Error(), "NETWORK_ENDPOINT_GROUPS") {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
	rules := 0
	for id := range s.account.Observed(gw.Owner) {
		if id.Kind == KindForwardingRule {
			rules++
		}
	}
	if rules != 2 {
		t.Errorf("%d ports are open while a zone cannot be had, want 2", rules)
	}
	s.SetFaults() // more was granted
	s.converge(gw.Owner)
	s.quiet("the next plan", gw.Owner)
}

// Why: what is changed by hand is seen, named, and repaired or only told, as the policy
// says; what others have set beside our fields stays.
func TestDriftIsSeen(t *testing.T) {
	s, gw := meshShop(t)
	client, err := compute.NewBackendServicesRESTClient(t.Context(), option.WithHTTPClient(&http.Client{Transport: s.Server}), option.WithEndpoint("http://gcp.test"))
	if err != nil {
		t.Fatal(err)
	}
	var name string
	for id := range s.account.Observed(gw.Owner) {
		if id.Kind == KindBackendService && strings.Contains(id.Name, "-a-") {
			name = id.Name
		}
	}
	there := must2(client.Get(t.Context(), &computepb.GetBackendServiceRequest{Project: testProject, BackendService: name}))(t)
	must2(client.Patch(t.Context(), &computepb.PatchBackendServiceRequest{Project: testProject, BackendService: name, BackendServiceResource: &computepb.BackendService{
		TimeoutSec: proto.Int32(77), Fingerprint: there.Fingerprint, EnableCDN: proto.Bool(false), CompressionMode: proto.String("AUTOMATIC"),
	}}))(t)
	s.account.Invalidate(gw.Owner)
	plan := must2(s.account.Plan(t.Context(), []lbmodel.Owner{gw.Owner}, lbmodel.ReportDrift))(t)
	told := slices.DeleteFunc(slices.Clone(plan.Later), func(w lbmodel.Wait) bool { return w.Reason == lbmodel.WaitRenewal })
	if !plan.Empty() || len(told) != 1 || told[0].ID.Name != name {
		t.Errorf("reported only: %v, %v", plan.Steps, plan.Later)
	}
	plan = must2(s.account.Plan(t.Context(), []lbmodel.Owner{gw.Owner}))(t)
	if len(plan.Steps) != 1 || plan.Steps[0].Cause != lbmodel.Drift || plan.Steps[0].ID.Name != name {
		t.Fatalf("to be repaired: %v", plan.Steps)
	}
	s.Forget()
	s.converge(gw.Owner)
	s.expect("the repair", s.Count(gcpapi.Writes), map[string]int{"compute.backendServices.patch": 1})
	now := must2(client.Get(t.Context(), &computepb.GetBackendServiceRequest{Project: testProject, BackendService: name}))(t)
	if now.GetTimeoutSec() != 30 || now.GetCompressionMode() != "AUTOMATIC" {
		t.Errorf("after the repair: %d s, compression %q", now.GetTimeoutSec(), now.GetCompressionMode())
	}
}

// Why: gateways go in any order, and the last one takes with it what they shared.
func TestDeletionInAnyOrder(t *testing.T) {
	for turn := range 6 {
		t.Run(fmt.Sprint(turn), func(t *testing.T) {
			s := newShop(t, gcpapi.Config{})
			empty := s.Server.Dump()
			base := s.live(meshGateway)
			var owners []lbmodel.Owner
			for i := range 3 {
				gw := base
				gw.Owner.Name, gw.Owner.UID = fmt.Sprint("edge-", i), fmt.Sprint("u-", i)
				s.bring(gw)
				owners = append(owners, gw.Owner)
			}
			for len(owners) > 0 {
				i := turn % len(owners)
				s.account.Drop(owners[i])
				s.converge(owners[i])
				owners = slices.Delete(owners, i, i+1)
				turn /= 2
				if len(owners) > 0 {
					s.quiet("for those that stay", owners[0])
				}
			}
			if left := s.Server.Dump(); left != empty {
				t.Errorf("something is left: %s", left)
			}
		})
	}
}
