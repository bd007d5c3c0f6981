package aws

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
)

func graphOf(gw lbmodel.Gateway, have lbmodel.Graph) lbmodel.Graph {
	own, shared, _ := Compiler{}.Compile(gw)
	maps.Copy(own, shared)
	out, _ := Compiler{}.Place(own, have, now)
	return out
}

// Why: from any gateway to any other there must be an order in which AWS takes every
// step: needs are there, nothing in use goes, no port or priority is held twice; and
// after it nothing is left to do.
func TestPlansHaveASafeOrder(t *testing.T) {
	for seed := uint64(firstCall(t) % 3); seed < 60; seed += 3 { // each run tries a third
		have := graphOf(newDice(seed).gateway(strictSettings), nil)
		want := graphOf(newDice(seed+1).gateway([]string{strictSettings, assumedSettings, string(settingsWith(`"scheme":"internet-facing"`)), string(settingsWith(`"flavour":"ApplicationBehindNetwork"`))}[seed%4]), have)
		plan, err := lbmodel.Diff(want, have, have)
		if err != nil || len(plan.Waiting()) > 0 {
			t.Fatalf("seed %d: %v, %v", seed, err, plan.Waiting())
		}
		state := maps.Clone(have)
		for _, s := range plan.Steps {
			if err := take(state, s); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if again, err := lbmodel.Diff(want, want, state); err != nil || len(again.Steps) > 0 {
			t.Fatalf("seed %d: %v, %d steps are left", seed, err, len(again.Steps))
		}
	}
}

// take does a step as strictly as AWS.
func take(state lbmodel.Graph, s lbmodel.Step) error {
	if s.Verb == lbmodel.Delete {
		delete(state, s.ID)
		for id, r := range state {
			if slices.Contains(r.Spec.Needs(), s.ID) {
				return fmt.Errorf("%s goes, and %s needs it", s.ID, id)
			}
		}
		return nil
	}
	for _, need := range s.Want.Needs() {
		if _, ok := state[need]; !ok {
			return fmt.Errorf("%s needs %s, which is not there", s.ID, need)
		}
	}
	slot, slotted := s.Want.(lbmodel.Slotted)
	for id, r := range state {
		if other, ok := r.Spec.(lbmodel.Slotted); ok && slotted && id != s.ID && other.Slot() == slot.Slot() {
			return fmt.Errorf("%s and %s have %s", id, s.ID, slot.Slot())
		}
	}
	r := lbmodel.NewResource(s.ID, s.Want)
	r.Owner = s.Have.Owner
	state[s.ID] = r
	return nil
}

// Why: a change of what AWS cannot change is another name, with all that lives in it;
// everything else is an update.
func TestNamesFollowWhatCannotBeChanged(t *testing.T) {
	base := readGateway(t, "testdata/http-packing/gateway.yaml")
	before := graphOf(base, nil)
	all := []string{KindAddress, KindListener, KindLoadBalancer, KindRule, KindSecurityGroup, KindTargetGroup, KindTargets}
	for _, c := range []struct {
		name   string
		change func(*lbmodel.Gateway)
		kinds  []string
	}{
		{"re-created gateway", func(g *lbmodel.Gateway) { g.Owner.UID = "u2" }, all},
		{"scheme", func(g *lbmodel.Gateway) {
			g.Settings = []byte(strings.Replace(string(g.Settings), "internet-facing", "internal", 1))
		}, all},
		{"target type", func(g *lbmodel.Gateway) {
			g.Settings = []byte(strings.Replace(string(g.Settings), "{", `{"targetType":"instance",`, 1))
		}, []string{KindTargetGroup, KindTargets}},
		{"protocol of a pool", func(g *lbmodel.Gateway) { g.Pools[0].TLS = &lbmodel.BackendTLS{} }, []string{KindTargetGroup, KindTargets}},
		{"port", func(g *lbmodel.Gateway) { g.Listeners[0].Port = 81 }, []string{KindListener, KindRule}},
		{"match", func(g *lbmodel.Gateway) { g.Listeners[0].Rules[0].Match.Path.Value = "/other" }, []string{KindRule}},
		{"everything else", func(g *lbmodel.Gateway) {
			g.Settings = []byte(strings.Replace(string(g.Settings), "{", `{"ipAddressType":"dualstack","loadBalancerAttributes":{"idle_timeout.timeout_seconds":"30"},`, 1))
			g.Listeners[0].Protocol, g.Listeners[0].TLS = lbmodel.ProtocolHTTPS, &lbmodel.FrontendTLS{Certificates: []string{"c"}}
			g.Identities = []lbmodel.Identity{{Name: "c", Issuer: lbmodel.IssuerSecret, Leaf: &lbmodel.Leaf{SHA256: "1", DNSNames: []string{"a.test"}}}}
			g.Pools[0].Health = &lbmodel.HealthCheck{Protocol: "HTTP", Path: "/ready"}
			g.Labels, g.Listeners[0].SourceRanges = nil, nil
		}, []string{KindCertificate}},
	} {
		t.Run(c.name, func(t *testing.T) {
			gw := readGateway(t, "testdata/http-packing/gateway.yaml")
			c.change(&gw)
			kinds := map[string]bool{}
			for id := range graphOf(gw, nil) {
				if _, there := before[id]; !there {
					kinds[id.Kind] = true
				}
			}
			if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, c.kinds) {
				t.Errorf("other names of %v, want %v", got, c.kinds)
			}
		})
	}
}

// Why: a person must agree to what interrupts clients, and to nothing else.
func TestImpact(t *testing.T) {
	for _, c := range []struct {
		name       string
		verb       lbmodel.Verb
		want, have lbmodel.Spec
		says       string
	}{
		{"load balancer goes", lbmodel.Delete, nil, &LoadBalancer{}, "DNS name goes"},
		{"zone goes", lbmodel.Update, &LoadBalancer{Subnets: []string{"a"}}, &LoadBalancer{Subnets: []string{"a", "b"}}, "leaves a zone"},
		{"zone comes", lbmodel.Update, &LoadBalancer{Subnets: []string{"a", "b"}}, &LoadBalancer{Subnets: []string{"a"}}, ""},
		{"IPv6 goes", lbmodel.Update, &LoadBalancer{IPAddressType: familyIPv4}, &LoadBalancer{IPAddressType: familyDual}, "IPv6"},
		{"port goes", lbmodel.Delete, nil, &Listener{Port: 80}, "Port 80 stops answering."},
		{"protocol", lbmodel.Update, &Listener{Port: 80, Protocol: "HTTPS"}, &Listener{Port: 80, Protocol: "HTTP"}, "speaks HTTPS"},
		{"clients are verified", lbmodel.Update, &Listener{Port: 443, TrustStore: "t"}, &Listener{Port: 443}, "demands client certificates"},
		{"certificate", lbmodel.Update, &Listener{Port: 443, Certificate: "a"}, &Listener{Port: 443, Certificate: "b"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			subject := c.want
			if subject == nil {
				subject = c.have
			}
			got := subject.(lbmodel.Explained).Impact(c.verb, c.have)
			if (c.says == "") != (got == "") || !strings.Contains(got, c.says) {
				t.Errorf("%q, want %q", got, c.says)
			}
		})
	}
}

// Why: a rule without its backends keeps its place (decision 0027), and one that
// serves somebody is left alone.
func TestStandIn(t *testing.T) {
	a, b := Ref("TargetGroup.r.a"), Ref("TargetGroup.r.b")
	rule := &Rule{Listener: "Listener.r.l", Priority: 9, broken: 503, Transforms: []Transform{{Type: rewriteURL}}, Action: Action{Forward: []Share{{a, 1}, {b, 0}}}}
	lost := func(refs ...Ref) func(lbmodel.ID) bool {
		return func(id lbmodel.ID) bool { return slices.Contains(refs, refTo(id)) }
	}
	for _, c := range []struct {
		name string
		have lbmodel.Spec
		lost []Ref
		want Action
	}{
		{"a share is missing", nil, []Ref{a}, fixed(503)},
		{"all are missing", nil, []Ref{a, b}, fixed(503)},
		{"a share of no weight is missing", nil, []Ref{b}, Action{Forward: []Share{{a, 1}}}},
		{"an old one serves", &Rule{Listener: "Listener.r.l", Priority: 1, Action: Action{Forward: []Share{{b, 1}}}}, []Ref{a}, Action{Forward: []Share{{b, 1}}}},
		{"an old stand-in", &Rule{Listener: "Listener.r.l", Priority: 1, Action: fixed(503)}, []Ref{a, b}, fixed(503)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rule.StandIn(c.have, lost(c.lost...)).(*Rule)
			if encode(got.Action) != encode(c.want) || got.Priority != 9 {
				t.Errorf("%s, want %s at 9", encode(got), encode(c.want))
			}
		})
	}
	if !slices.Equal(rule.Action.groups(), []Ref{a, b}) {
		t.Error("the wanted rule was changed")
	}
}
