package gcp

import (
	"context"
	"maps"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// healthFor is how long endpoints that were all healthy, or that nobody checks, are taken
// for so. Google Cloud tells of nothing, and each group is one call.
const healthFor = time.Minute

// Health implements providers.HealthReader. It reads the groups in which something may
// change soon, and each other one once a minute; those that nobody has observed or
// made yet are not there.
func (p *Provider) Health(ctx context.Context, _ string) (map[lbmodel.ID]map[lbmodel.Target]lbmodel.Health, error) {
	out := map[lbmodel.ID]map[lbmodel.Target]lbmodel.Health{}
	due := map[string]group{}
	now := p.now()
	p.memory.with(func() {
		for path, g := range p.memory.groups {
			if g.due(now) {
				due[path] = *g
			}
		}
	})
	err := each(ctx, slices.Sorted(maps.Keys(due)), func(ctx context.Context, path string) error {
		_, health, err := p.endpointsIn(ctx, path, due[path].spec)
		if err != nil {
			return exceptGone(err)
		}
		p.memory.with(func() {
			if g := p.memory.groups[path]; g != nil {
				g.health, g.readAt = health, now
				out[endpointsID(g.id)] = maps.Clone(health)
			}
		})
		return nil
	})
	if err != nil {
		return nil, codeError("Health", lbmodel.ID{}, err)
	}
	return out, nil
}

// due says whether a group's health is to be read again.
func (g *group) due(now time.Time) bool {
	if now.Sub(g.readAt) >= healthFor {
		return true
	}
	for _, h := range g.health {
		if h == lbmodel.HealthInitial || h == lbmodel.HealthUnhealthy {
			return true
		}
	}
	return false
}
