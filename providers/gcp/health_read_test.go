package gcp

import (
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/lbmodel"
)

// Why: a pod is ready for traffic when a load balancer has found it healthy, and not
// because it is attached to a group that nobody looks at (ingress-gce 1718).
func TestHealthIsWhatIsSeen(t *testing.T) {
	state := "UNHEALTHY"
	s := newShop(t, gcpapi.Config{Observed: func(_, _ store.Name, _ store.Object) (string, bool) { return state, true }})
	gw := s.live(meshGateway)
	s.bring(gw)
	pool := func() lbmodel.Health {
		for id, r := range s.account.Observed(gw.Owner) {
			if id.Kind == KindNetworkEndpoints && strings.Contains(id.Name, "apps-a-") {
				return r.Facts.Health["10.0.0.1:8080"]
			}
		}
		return ""
	}
	if got := pool(); got != lbmodel.HealthInitial {
		t.Errorf("just attached, it is %q", got)
	}
	for _, c := range []struct {
		state string
		after time.Duration
		want  lbmodel.Health
		reads int
	}{{"UNHEALTHY", time.Second, lbmodel.HealthUnhealthy, 2}, {"HEALTHY", time.Second, lbmodel.HealthHealthy, 2}, {"HEALTHY", time.Second, lbmodel.HealthHealthy, 0}, {"DRAINING", 2 * time.Minute, lbmodel.HealthDraining, 2}} {
		state = c.state
		s.clock.Advance(c.after)
		s.Forget()
		if _, err := s.account.ReadHealth(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := pool(); got != c.want || len(s.Calls()) != c.reads {
			t.Errorf("%s for %s: it is %q by %d reads, want %q by %d", c.state, c.after, got, len(s.Calls()), c.want, c.reads)
		}
	}
	worst := attached{Healths: []struct {
		State string `json:"healthState"`
	}{{"HEALTHY"}, {"UNHEALTHY"}}}
	if got := worst.health(); got != lbmodel.HealthUnhealthy {
		t.Errorf("of two who look, one sees it fail: %q", got)
	}
	if got := (&attached{}).health(); got != lbmodel.HealthUnknown {
		t.Errorf("nobody looks: %q", got)
	}
}

// Why: a backend by DNS name is an endpoint on the internet with its name as server name
// and without a health check (ingress-gce 1169).
func TestBackendsByName(t *testing.T) {
	s := newShop(t, gcpapi.Config{})
	gw := s.live("testdata/regional-external/gateway.yaml")
	took := s.bring(gw)
	if took["regionNetworkEndpointGroups.insert"] != 1 || took["regionNetworkEndpointGroups.attachNetworkEndpoints"] != 1 || took["regionHealthChecks.insert"] != 0 {
		t.Errorf("it took %v", took)
	}
	for id, r := range s.account.Observed(gw.Owner) {
		if b, ok := r.Spec.(*BackendService); ok && strings.Contains(id.Name, "-ext-") && (b.TLSSettings == nil || b.TLSSettings.SNI != "api.example.com" || b.Protection() != lbmodel.TLSServerOnly) {
			t.Errorf("%s: %s", id, encode(b))
		}
	}
}

// Why: a hop's TLS is a load balancer's that has it, and is refused before any call where
// it is not (tf-google 21884).
func TestPassthroughHasNoTLS(t *testing.T) {
	s := newShop(t, gcpapi.Config{})
	gw := s.live("testdata/passthrough/gateway.yaml")
	for i := range gw.Pools {
		gw.Pools[i].TLS = &lbmodel.BackendTLS{Source: gw.Pools[i].Source, Floor: lbmodel.TLSUnverified}
	}
	findings := s.account.Want(gw)
	refused := 0
	for _, f := range findings {
		if f.Code == lbmodel.CodeUnsupported {
			refused++
		}
	}
	plan := must2(s.account.Plan(t.Context(), []lbmodel.Owner{gw.Owner}))(t)
	for _, step := range plan.Steps {
		if step.ID.Kind == KindBackendService || step.ID.Kind == KindForwardingRule {
			t.Errorf("%s of %s", step.Verb, step.ID)
		}
	}
	if refused == 0 {
		t.Error("nobody is told")
	}
}

// Why: where the network's firewall is somebody else's to open, a gateway is made all
// the same: another rule may let it in.
func TestARefusedFirewallRuleCostsNobody(t *testing.T) {
	s := newShop(t, gcpapi.Config{})
	gw := s.live(meshGateway)
	s.spoilt = []gcpapi.Fault{{}}
	s.SetFaults(gcpapi.Fault{Method: "compute.firewalls.insert", Kind: gcpapi.Refuse, Status: 403, Reason: store.Forbidden, Message: "Required 'compute.firewalls.create' permission for 'x'"})
	s.account.Want(gw)
	for range 3 {
		plan := must2(s.account.Plan(t.Context(), []lbmodel.Owner{gw.Owner}))(t)
		_ = s.account.Apply(t.Context(), plan, nil) // the rules fail
	}
	open := 0
	for id := range s.account.Observed(gw.Owner) {
		if id.Kind == KindForwardingRule {
			open++
		}
	}
	if open == 0 {
		t.Error("no port is open")
	}
	s.SetFaults()
	s.converge(gw.Owner)
	s.quiet("when the rules are allowed", gw.Owner)
}
