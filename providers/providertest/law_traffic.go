package providertest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

func unbroken(tb testing.TB, h Harness) {
	places(tb, h)
	ways := pairs(h)
	for _, seed := range h.seeds() {
		ways = append(ways, randomPair(h, 200+seed))
	}
	for i, p := range ways {
		b := newBench(tb, h)
		b.converge(p.a)
		b.world.Settle()
		prober := b.prober(p)
		looks := &counter{after: prober.look}
		b.world.Hook(looks)
		b.passes(p.b, lbmodel.HoldDisruptive)
		for _, lost := range prober.take() {
			tb.Errorf("%s: %s, although steps that the user must agree to were held", p.name, lost)
		}
		impact := b.passes(p.b)
		for _, lost := range prober.take() {
			if !impact {
				tb.Errorf("%s: %s, and no step's Impact says so", p.name, lost)
			}
		}
		b.world.Hook(nil)
		b.world.Settle()
		prober.look(Call{Name: "the end"})
		for _, lost := range prober.take() {
			tb.Errorf("%s: %s", p.name, lost)
		}
		for _, n := range h.seldom(2).points(i, looks.count()) {
			if tb.Failed() || !interrupted(tb, h, p, n) {
				break
			}
		}
		if tb.Failed() {
			tb.Logf("from %s\nto %s", p.a, p.b)
			return
		}
	}
}

// interrupted goes from a to b with a process that ends at call n, and another
// that knows nothing of what the first has waited for. It says whether the first
// came that far.
func interrupted(tb testing.TB, h Harness, p pair, n int) bool {
	tb.Helper()
	b := newBench(tb, h)
	b.converge(p.a)
	b.world.Settle()
	prober, death := b.prober(p), dieAt(n, Refuse)
	death.after = prober.look
	b.world.Hook(death)
	plan, _, err := b.pass(p.b)
	b.noteErr(err)
	b.restart()
	b.world.Hook(&counter{after: prober.look})
	impact := b.passes(p.b) || hasImpact(plan.Plan)
	b.world.Hook(nil)
	for _, lost := range prober.take() {
		if !impact {
			tb.Errorf("%s: %s, when the process ends at call %d and another goes on", p.name, lost, n)
		}
	}
	return death.count() > n
}

func hasImpact(p lbmodel.Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s lbmodel.Step) bool { return s.Impact != "" })
}

// passes runs the loop until there is nothing to do, and says whether any step
// had an impact that a user must agree to.
func (b *bench) passes(s scene, policies ...lbmodel.Policy) (impact bool) {
	b.Helper()
	for range passesToConverge {
		plan, _, err := b.pass(s, policies...)
		if err != nil {
			b.Fatalf("planning: %v", err)
		}
		if plan.Empty() {
			return impact
		}
		impact = impact || hasImpact(plan.Plan)
	}
	b.Errorf("still something to do after %d passes", passesToConverge)
	return impact
}

// prober asks, after every call, for everything that must go on being answered.
type prober struct {
	world World
	asks  []Probe

	mu   sync.Mutex
	lost []string
}

// prober looks after the routes that are in both scenes and have a backend now.
func (b *bench) prober(p pair) *prober {
	out := &prober{world: b.world}
	both := p.b.probes()
	for _, ask := range p.a.probes() {
		if slices.Contains(both, ask) && len(b.world.Answer(ask)) > 0 {
			out.asks = append(out.asks, ask)
		}
	}
	return out
}

func (p *prober) look(c Call) {
	for _, ask := range p.asks {
		if len(p.world.Answer(ask)) > 0 {
			continue
		}
		p.mu.Lock()
		p.lost = append(p.lost, fmt.Sprintf("after %s nobody answers %s on port %d of %s", c.Name, ask.Path, ask.Port, ask.Owner))
		p.mu.Unlock()
	}
}

func (p *prober) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.lost
	p.lost = nil
	return out[:min(len(out), 3)]
}

func fastPath(tb testing.TB, h Harness) {
	each(tb, h, func(b *bench, r *rand.Rand, s scene) {
		for _, name := range s.names() {
			b.fastEqualsSlow(s, name)
		}
		b.converge(s)
		b.world.Settle()
		next := s.clone()
		group := pick(r, groups)
		next.groups[group]++
		b.onlyEndpoints(s, next, group)
		b.expectQuiet("the plan after the fast path", next, 0)
		next.unknown = true
		b.expectQuiet("the plan from files, which know no endpoints,", next, 0)
		next.unknown = false
		b.flows(r, next)
	})
}

// fastEqualsSlow expects Endpoints to state what Compile states.
func (b *bench) fastEqualsSlow(s scene, name string) {
	b.Helper()
	p := b.world.Provider()
	all, gw := b.compile(p, s, name), b.model(s, name)
	for _, pool := range gw.Pools {
		features, _ := p.Offers(gw.Settings)
		pool, _ = lbmodel.RestrictPool(pool, features)
		part := p.Endpoints(gw.Owner, pool, gw.Settings)
		if len(part) == 0 {
			b.Errorf("Endpoints of pool %s of %s states nothing", pool.Name, name)
		}
		for id, r := range part {
			if all[id].Digest != r.Digest || all[id].Hold != r.Hold {
				b.Errorf("Endpoints says %+v of %s (%s), Compile says %+v (%s)", r.Spec, id, r.Hold, all[id].Spec, all[id].Hold)
			}
		}
	}
}

// onlyEndpoints brings the endpoints of one group up to date, and expects that
// they change and nothing else does.
func (b *bench) onlyEndpoints(s, next scene, group string) {
	b.Helper()
	before, allowed := b.state(), map[lbmodel.ID]bool{}
	var changes []providers.PoolChange
	for _, name := range next.names() {
		gw := b.model(next, name)
		for _, pool := range gw.Pools {
			if pool.Group != group {
				continue
			}
			for id := range b.world.Provider().Endpoints(gw.Owner, pool, gw.Settings) {
				allowed[id] = true
			}
			changes = append(changes, providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: pool})
		}
	}
	out, err := b.account.Endpoints(b.Context(), changes...)
	if err != nil || !out.Settled() {
		b.Errorf("the fast path of %s: %v %v", group, err, out.Err())
	}
	b.expectOnly(allowed, differing(before, b.state()), s)
}

// expectOnly expects that every resource that may change did, and no other.
func (b *bench) expectOnly(allowed map[lbmodel.ID]bool, changed []lbmodel.ID, s scene) {
	b.Helper()
	if len(changed) != len(allowed) {
		b.Errorf("the fast path changed %v, want all of %v\nscene: %s", changed, slices.Collect(maps.Keys(allowed)), s)
	}
	for _, id := range changed {
		if !allowed[id] {
			b.Errorf("the fast path changed %s, which has none of the endpoints\nscene: %s", id, s)
		}
	}
}
