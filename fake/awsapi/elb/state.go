package elb

import (
	"maps"
	"slices"
	"time"

	"gatehouse.dev/fake/awsapi/account"
)

// state is everything that the service holds.
type state struct {
	LoadBalancers account.Rows[lbRow]
	Listeners     account.Rows[listenerRow]
	Rules         account.Rows[ruleRow]
	TargetGroups  account.Rows[groupRow]
	TrustStores   account.Rows[trustRow]
	// Interfaces are network interfaces of load balancers that are gone already.
	Interfaces account.Rows[Interface]
}

func (s state) fork() *state {
	return &state{s.LoadBalancers.Fork(), s.Listeners.Fork(), s.Rules.Fork(), s.TargetGroups.Fork(), s.TrustStores.Fork(), s.Interfaces.Fork()}
}

type labels map[string]string

// lbRow is a load balancer. Its state is "provisioning" until Ready.
type lbRow struct {
	loadBalancer
	Attributes map[string]string
	Tags       labels
	Ready      time.Time
	Capacity   *capacityUnits `json:",omitzero"`
	Nodes      []Interface
}

type listenerRow struct {
	listener
	Default    string   // the default rule's ARN
	Extra      []string // certificates besides the default one
	Attributes map[string]string
	Tags       labels
	Made       time.Time
}

// ruleRow is a rule; a default rule's Number is past all others.
type ruleRow struct {
	rule
	Number   int
	Listener string
	Tags     labels
}

const lastNumber = 1 << 30

type groupRow struct {
	targetGroup
	Attributes map[string]string
	Tags       labels
	Targets    []targetRow
	Made       time.Time
	// Used is since when a listener or a rule leads here, Freed when the last one
	// was seen to have gone; zero if not.
	Used, Freed time.Time
}

type targetRow struct {
	target
	Registered time.Time
	// Draining is since when the target is deregistered; zero if it isn't.
	Draining time.Time
	// Forced is the health that a test gave it.
	Forced *health `json:",omitzero"`
}

type trustRow struct {
	trustStore
	Source      bundle
	Bundle      []byte `json:"-"`
	Ready       time.Time
	Revocations []revocationRow
	Next        int
	Tags        labels
}

type revocationRow struct {
	revocation
	Content []byte `json:"-"`
}

// rulesOf are a listener's rules by priority, the default one last.
func (s *state) rulesOf(listener string) []*ruleRow {
	out := s.Rules.All(func(r *ruleRow) bool { return r.Listener == listener })
	slices.SortFunc(out, func(a, b *ruleRow) int { return a.Number - b.Number })
	return out
}

func (s *state) listenersOf(lb string) []*listenerRow {
	return s.Listeners.All(func(l *listenerRow) bool { return l.LoadBalancerArn == lb })
}

// groupsIn are the target groups that actions lead to.
func groupsIn(actions []action) []string {
	var out []string
	for _, a := range actions {
		if a.TargetGroupArn != "" {
			out = append(out, a.TargetGroupArn)
		}
		if a.ForwardConfig != nil {
			for _, g := range a.ForwardConfig.TargetGroups {
				out = append(out, g.TargetGroupArn)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// uses is which load balancers lead to which target groups.
func (s *state) uses() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, r := range s.Rules.All(nil) {
		l := s.Listeners.Get(r.Listener)
		if l == nil {
			continue
		}
		for _, group := range groupsIn(r.Actions) {
			if out[group] == nil {
				out[group] = map[string]bool{}
			}
			out[group][l.LoadBalancerArn] = true
		}
	}
	return out
}

// relink notes in the target groups who uses them, after listeners or rules changed.
func (s *state) relink(now time.Time) {
	uses := s.uses()
	for _, g := range s.TargetGroups.All(nil) {
		used := slices.Sorted(maps.Keys(uses[g.TargetGroupArn]))
		if slices.Equal(used, g.LoadBalancerArns) {
			continue
		}
		next := *g
		next.LoadBalancerArns = used
		switch {
		case len(used) == 0:
			next.Used, next.Freed = time.Time{}, now
		case len(g.LoadBalancerArns) == 0:
			next.Used, next.Freed = now, time.Time{}
		}
		s.TargetGroups.Put(g.TargetGroupArn, next)
	}
}
