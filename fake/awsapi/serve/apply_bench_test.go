package serve

import (
	"fmt"
	"net/netip"
	"testing"
)

// BenchmarkApply is one Config again: 99 rules with a regex each, to 99 groups of
// 10 targets.
func BenchmarkApply(b *testing.B) {
	listener := Listener{Port: 80, Default: fixedAnswer(404, "")}
	var groups []TargetGroup
	for i := range 99 {
		name := fmt.Sprint("g", i)
		listener.Rules = append(listener.Rules, Rule{Priority: int32(i + 1), Conditions: []Condition{{Field: HostHeader, Regex: []string{`^a\.example\.com(:[0-9]+)?$`}},
			{Field: PathPattern, Regex: []string{fmt.Sprintf(`^/%d(/.*)?$`, i)}}}, Actions: forwardTo(name)})
		g := groupOf(name)
		for j := range 10 {
			g.Targets = append(g.Targets, Target{ID: fmt.Sprint(j), Address: netip.MustParseAddrPort("127.0.0.1:1"), State: StateHealthy})
		}
		groups = append(groups, g)
	}
	s := New(Options{})
	defer s.Close(b.Context())
	c := Config{LoadBalancers: []LoadBalancer{albOf(listener)}, TargetGroups: groups}
	for b.Loop() {
		if err := s.Apply(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMatch is the last of 99 rules.
func BenchmarkMatch(b *testing.B) {
	var rules []Rule
	for i := range 99 {
		rules = append(rules, Rule{Priority: int32(i + 1), Conditions: []Condition{{Field: HostHeader, Regex: []string{`^a\.example\.com(:[0-9]+)?$`}},
			{Field: PathPattern, Regex: []string{fmt.Sprintf(`^/%d(/.*)?$`, i)}}}})
	}
	m := must(NewMatcher(configOf(Undocumented{}, rules...), "lb", "l"))
	r := Request{Method: "GET", Host: "a.example.com", Path: "/98/x"}
	for b.Loop() {
		if got := m.rules.match(&r); got.Priority != 99 {
			b.Fatal(got.name)
		}
	}
}
