package providertest

import (
	"math/rand/v2"
	"slices"

	"gatehouse.dev/lbmodel"
)

// flows expects that what follows its surroundings comes through where structure
// waits for approval: new endpoints, a certificate that its owner renewed, a root
// that was added.
func (b *bench) flows(r *rand.Rand, s scene) {
	b.Helper()
	next := s.clone()
	next.groups[pick(r, groups)]++
	name := pick(r, trusts)
	next.trust[name] = append(slices.Clone(next.trust[name]), slices.Max(next.trust[name])+1)
	for gateway, g := range next.gateways {
		g.renewed++
		next.gateways[gateway] = g
	}
	plan, err := b.plan(next, lbmodel.HoldStructure)
	if err != nil || plan.Empty() || len(plan.Held.Steps) > 0 {
		b.Errorf("endpoints, a certificate and a root: %v; %d steps, and waiting: %v\nscene: %s", err, len(plan.Steps), plan.Held.Later, next)
	}
}
