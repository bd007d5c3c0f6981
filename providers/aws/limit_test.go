package aws

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/lbmodel"
)

// TestLimitsAreTheAccounts: a raised quota is used, a smaller one of the settings'
// kept, and what AWS does not tell has its default.
func TestLimitsAreTheAccounts(t *testing.T) {
	w := newEmulator(t, awsapi.Config{Limits: map[string]int{limitRules: 200, limitValues: 10, limitTargets: 700}})
	p := w.provider(nil)
	if err := p.ReadLimits(t.Context()); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, settings       string
		rules, values, group int
	}{
		{"none given", `{"region":"us-east-1"}`, 200, 10, 700},
		{"smaller ones given", `{"region":"us-east-1","quotas":{"rulesPerLoadBalancer":50,"targetsPerGroup":100}}`, 50, 10, 100},
		{"larger ones given", `{"region":"us-east-1","quotas":{"rulesPerLoadBalancer":900,"targetsPerGroup":9000}}`, 200, 10, 700},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			s, findings := readSettings(p.limited(json.RawMessage(tc.settings)))
			if len(findings) > 0 {
				t.Fatal(findings)
			}
			if q := s.Quotas; q.RulesPerLoadBalancer != tc.rules || q.ConditionValuesPerRule != tc.values || q.TargetsPerGroup != tc.group {
				t.Errorf("quotas %+v, want %d rules, %d values, %d targets", q, tc.rules, tc.values, tc.group)
			}
			features, _ := p.Offers(json.RawMessage(tc.settings))
			if features.Limits.EndpointsPerPool != tc.group {
				t.Errorf("offers %d endpoints in a pool, want %d", features.Limits.EndpointsPerPool, tc.group)
			}
		})
	}
	for _, wrong := range []string{`{"region":1,`, `{"region":"us-east-1","quotas":7}`, ``} {
		if got := string(p.limited(json.RawMessage(wrong))); got != wrong && wrong != "" {
			t.Errorf("settings that cannot be read became %s", got)
		}
		if _, findings := p.Offers(json.RawMessage(wrong)); len(findings) == 0 {
			t.Errorf("nothing is said of %s", wrong)
		}
	}
	if n := w.api.Count(awsapi.ByAction)["DescribeAccountLimits"]; n != 1 {
		t.Errorf("%d calls, want 1", n)
	}
}

// TestAnotherRegionIsRefused: calls would go to the wrong place.
func TestAnotherRegionIsRefused(t *testing.T) {
	p := newEmulator(t, awsapi.Config{}).provider(nil)
	settings := json.RawMessage(`{"region":"eu-west-1"}`)
	_, findings := p.Offers(settings)
	if len(findings) != 1 || !strings.Contains(findings[0].Detail, "this process works in us-east-1") {
		t.Errorf("findings %v, want where it works", findings)
	}
	gw := lbmodel.Gateway{Owner: lbmodel.Owner{Cluster: "c", Kind: "Gateway", Namespace: "n", Name: "g"}, Settings: settings,
		Pools: []lbmodel.Pool{{Name: "p"}}}
	if own, shared, _ := p.Compile(gw); len(own)+len(shared) > 0 {
		t.Errorf("it is compiled all the same: %v %v", own, shared)
	}
	if parts := p.Endpoints(gw.Owner, gw.Pools[0], settings); len(parts) > 0 {
		t.Errorf("its endpoints are: %v", parts)
	}
}

// TestRoom: the region's quotas are looked at before a create, and count what we make.
func TestRoom(t *testing.T) {
	var l limits
	group, id := &TargetGroup{}, lbmodel.ID{Kind: KindTargetGroup, Name: "g"}
	if err := l.room("CreateTargetGroup", id, group); err != nil {
		t.Errorf("before anything is known: %v", err)
	}
	l.most = map[string]int{limitGroups: 2}
	l.use(limitGroups, 1)
	l.made(group, 1)
	err := l.room("CreateTargetGroup", id, group)
	if lbmodel.CodeOf(err) != lbmodel.CodeQuota || !strings.Contains(err.Error(), "2 of the 2") {
		t.Errorf("with all used: %v, want the quota and its value", err)
	}
	if err := l.room("CreateRule", id, &Rule{}); err != nil {
		t.Errorf("rules have no quota of the region's: %v", err)
	}
	l.made(group, -1)
	if err := l.room("CreateTargetGroup", id, group); err != nil {
		t.Errorf("with room: %v", err)
	}
}

// Why: quotas are raised while a process runs. They are read again when something exceeds
// one, at most once a minute, and after an hour.
func TestLimitsAreReadAgain(t *testing.T) {
	s := newShop(t, awsapi.Config{Limits: map[string]int{limitGroups: 3, limitRules: 4}})
	p := s.client(s.accountWorld)
	if err := p.ReadLimits(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.limits.most[limitGroups], p.limits.most[limitRules] = 2, 3 // as they were then
	p.limits.use(limitGroups, 2)
	group, id := &TargetGroup{}, lbmodel.ID{Kind: KindTargetGroup, Name: "g"}
	if err := p.room(t.Context(), "CreateTargetGroup", id, group); lbmodel.CodeOf(err) != lbmodel.CodeQuota {
		t.Errorf("a third target group beyond a quota of 2: %v", err)
	}
	reads := func(want int, when string) {
		t.Helper()
		if n := s.calls()["DescribeAccountLimits"]; n != want {
			t.Errorf("quotas were read %d times, want %d: %s", n, want, when)
		}
	}
	reads(1, "they were a moment ago")
	s.clock.Advance(2 * time.Minute)
	if err := p.room(t.Context(), "CreateTargetGroup", id, group); err != nil {
		t.Errorf("the quota was raised: %v", err)
	}
	reads(2, "a create was refused")
	p.limits.most[limitRules] = 3
	gw := shopGateway("edge", 4, 1, 2)
	if _, _, found := p.Compile(gw); len(found) != 1 || found[0].Code != lbmodel.CodeQuota {
		t.Errorf("a fourth rule beyond a quota of 3: %v", found)
	}
	for n, after := range []time.Duration{2 * time.Minute, 10 * time.Minute, 2 * time.Hour} {
		s.clock.Advance(after)
		must2(p.Observe(t.Context(), lbmodel.Owner{Cluster: "c1"}, nil))(t)
		reads([]int{3, 3, 4}[n], fmt.Sprint(after, " later"))
	}
	if _, _, found := p.Compile(gw); len(found) > 0 {
		t.Errorf("the quota was raised: %v", found)
	}
}
