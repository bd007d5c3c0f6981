package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Pass is what is to be done for some gateways. Gateways that are run alike
// stand in one plan, so that what they share is ordered once.
type Pass struct {
	Groups []Group

	// What it was made from: its statuses are about that, whatever has changed since.
	index    *translate.Index
	gateways map[translate.Key]Gateway
}

// Group is one plan of one account.
type Group struct {
	Provider string
	Apply    v1alpha1.ApplyMode
	Keys     []translate.Key
	Plan     providers.Plan
	Outcome  lbmodel.Outcome // after Loop.Apply
}

// Empty says that nothing is to be done in any group.
func (p Pass) Empty() bool {
	return !slices.ContainsFunc(p.Groups, func(g Group) bool { return !g.Plan.Empty() })
}

// Findings are those of planning.
func (p Pass) Findings() []lbmodel.Finding {
	var out []lbmodel.Finding
	for _, g := range p.Groups {
		out = append(out, g.Plan.Findings...)
	}
	return out
}

// Plan is the plans of all groups as one, for reading.
func (p Pass) Plan() lbmodel.Plan {
	var out lbmodel.Plan
	for _, g := range p.Groups {
		out.Steps = append(out.Steps, g.Plan.Steps...)
		out.Later = append(out.Later, g.Plan.Later...)
	}
	return out
}

// Settled says whether everything was done that policies let be done.
func (p Pass) Settled() bool {
	return !slices.ContainsFunc(p.Groups, func(g Group) bool { return !g.Outcome.Settled() })
}

// group is how gateways are run; those that are run alike share a plan.
type group struct {
	provider string
	apply    v1alpha1.ApplyMode
	drift    v1alpha1.DriftMode
	keep     bool // the gateways are going, but what they own is retained or protected
	paused   bool
	refused  bool // the gateways themselves are not accepted
	// alone is the gateway that stands in a plan of its own since it hangs on what
	// could not be read, and unread is that.
	alone  translate.Key
	unread unread
}

// policies are what a group's parameters allow. PlanOnly and Approve are none:
// a plan shows what would be done, and whoever applies looks at Group.Apply.
func (l *Loop) policies(how group, m members) []lbmodel.Policy {
	var out []lbmodel.Policy
	if how.unread.what != "" {
		out = append(out, how.unread.untouched(l.accounts[how.provider], m.owners[0]))
	}
	if how.refused {
		out = append(out, leaveRefused)
	}
	if how.drift == v1alpha1.DriftReport {
		out = append(out, lbmodel.ReportDrift)
	}
	if how.keep {
		out = append(out, lbmodel.NoDelete)
	}
	if how.paused {
		out = append(out, lbmodel.Paused)
	}
	if m.doubt.Incomplete {
		out = append(out, m.doubt.undeleted)
	}
	return out
}

// lingering is what a provider asks for of addresses that are replaced. It comes last:
// who is to agree that an address goes is asked at once.
func (l *Loop) lingering(how group, m members) []lbmodel.Policy {
	long := l.accounts[how.provider].Lingers()
	if long == 0 {
		return nil
	}
	return []lbmodel.Policy{lbmodel.LingerReplaced(long, func(o lbmodel.Owner) bool { return m.stay[o] })}
}

type members struct {
	keys   []translate.Key
	owners []lbmodel.Owner
	stay   map[lbmodel.Owner]bool // those that are not on their way out
	doubt  Doubt
}

// Plan plans some gateways, and everything that was dropped. Further policies
// hold for all of them. With no cloud to observe it makes no call.
func (l *Loop) Plan(ctx context.Context, keys []translate.Key, policies ...lbmodel.Policy) (Pass, error) {
	return l.PlanOnly(ctx, keys, l.Leaving(), policies...)
}

// PlanOnly plans some gateways and some owners that leave, and nothing else.
func (l *Loop) PlanOnly(ctx context.Context, keys []translate.Key, leaving []Leaver, policies ...lbmodel.Policy) (Pass, error) {
	pass, groups := l.group(keys, leaving)
	for _, how := range slices.SortedFunc(maps.Keys(groups), compareGroups) {
		m := groups[how]
		plan, err := l.accounts[how.provider].Plan(ctx, m.owners, slices.Concat(l.policies(how, m), policies, l.lingering(how, m))...)
		if err != nil {
			return pass, fmt.Errorf("planning with provider %s: %w", how.provider, err)
		}
		pass.Groups = append(pass.Groups, Group{Provider: how.provider, Apply: how.apply, Keys: m.keys, Plan: plan})
		l.finds(m.keys, plan.Findings)
	}
	return pass, nil
}

// finds remembers what planning has found, be it nothing, for a status that is due when
// nothing can be planned.
func (l *Loop) finds(keys []translate.Key, findings []lbmodel.Finding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		if _, there := l.gateways[key]; there {
			l.found[key] = findings
		} else {
			delete(l.found, key)
		}
	}
}

// group sorts gateways and leavers by how they are run. The pass has what it is
// made from and no group yet.
func (l *Loop) group(keys []translate.Key, leaving []Leaver) (Pass, map[group]members) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pass := Pass{index: l.index, gateways: map[translate.Key]Gateway{}}
	out := map[group]members{}
	add := func(how group, key translate.Key, owner lbmodel.Owner) {
		if l.accounts[how.provider] == nil {
			return
		}
		m := out[how]
		if m.doubt = l.doubt; key != (translate.Key{}) {
			m.keys = append(m.keys, key)
		}
		if m.owners = append(m.owners, owner); m.stay == nil {
			m.stay = map[lbmodel.Owner]bool{}
		}
		m.stay[owner] = key != (translate.Key{}) && !l.gateways[key].Result.Deleting
		out[how] = m
	}
	awaited := l.awaited()
	for _, key := range keys {
		g, ok := l.gateways[key]
		if !ok {
			continue
		}
		pass.gateways[key] = g
		if g.Planned() {
			l.dropAgain(g)
			how := groupOf(g)
			if how.unread = l.doubt.unreadOf(awaited[key]); how.unread.what != "" {
				how.alone = key
			}
			add(how, key, g.Result.Gateway.Owner)
		}
	}
	for _, who := range leaving {
		add(group{provider: who.Provider, apply: v1alpha1.ApplyAuto, drift: v1alpha1.DriftRepair}, translate.Key{}, who.Owner)
	}
	return pass, out
}

// dropAgain is for a gateway that is gone from the cloud, where it was forgotten, and
// whose object is still there for a moment.
func (l *Loop) dropAgain(g Gateway) {
	if account := l.accounts[g.Result.Provider]; g.Result.Deleting && account != nil {
		account.Drop(g.Result.Gateway.Owner)
	}
}

// groupOf is how a gateway is run.
func groupOf(g Gateway) group {
	p := g.Result.Parameters
	return group{
		provider: g.Result.Provider, apply: p.Apply, drift: p.Drift, paused: g.Paused,
		refused: translate.Untouched(g.Result, g.Findings),
		keep:    g.Result.Deleting && p.Deletion != v1alpha1.DeletionDelete,
	}
}

func compareGroups(a, b group) int {
	return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(a.apply, b.apply), cmp.Compare(a.drift, b.drift), cmp.Compare(fmt.Sprint(a.keep, a.paused, a.refused), fmt.Sprint(b.keep, b.paused, b.refused)), compareKeys(a.alone, b.alone))
}

// Apply runs a pass, group after group, and tells on (nil for nobody) as it goes.
// When ctx ends it stops between two steps; what is there then is the truth, and
// the next pass goes on from it.
func (l *Loop) Apply(ctx context.Context, pass Pass, on func(providers.Event)) Pass {
	out := pass
	out.Groups = slices.Clone(pass.Groups)
	for i := range out.Groups {
		g := &out.Groups[i]
		g.Outcome = l.accounts[g.Provider].Apply(ctx, g.Plan, on)
		l.settle(*g)
	}
	return out
}

// settle forgets the dropped owners that own nothing any more: later passes need
// not plan for them. And it counts for whom the plan was too old.
func (l *Loop) settle(g Group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(g)
	for _, owner := range g.Plan.Owners {
		if who := (Leaver{g.Provider, owner}); l.dropped[who] && !owns(g.Outcome.Observed, owner) {
			delete(l.dropped, who)
		}
	}
}

func owns(graph lbmodel.Graph, owner lbmodel.Owner) bool {
	for _, r := range graph {
		if r.Owner == owner {
			return true
		}
	}
	return false
}
