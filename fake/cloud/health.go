package cloud

import (
	"maps"

	"gatehouse.dev/lbmodel"
)

// ReportHealth tells the cloud what the data plane's checks say of a pool's
// targets; pool is the name that [Cloud.Serving] gives it. A report stands for the
// one before; an empty one takes it back. Targets that nobody reports become
// healthy by themselves. A pool that is gone is no error.
func (c *Cloud) ReportHealth(pool string, health map[lbmodel.Target]lbmodel.Health) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := lbmodel.Handle(pool)
	o := c.state.objects[h]
	switch {
	case o == nil || o.Kind != KindPool:
	case len(health) == 0:
		delete(c.reports, h)
	default:
		c.reports[h] = maps.Clone(health)
	}
}

// healthOf is the health of a group's targets: the best that any of its pools
// reports, or (unreported) initial and after the delay healthy.
func (c *Cloud) healthOf(o *object, g *EndpointGroup) map[lbmodel.Target]lbmodel.Health {
	out := make(map[lbmodel.Target]lbmodel.Health, len(g.Endpoints))
	for _, e := range g.Endpoints {
		target := e.Target()
		switch {
		case e.Terminating:
			out[target] = lbmodel.HealthDraining
		case c.passed(o.Seen[target].Add(c.options.HealthDelay)):
			out[target] = lbmodel.HealthHealthy
		default:
			out[target] = lbmodel.HealthInitial
		}
	}
	c.addReports(out, o.handle())
	return out
}

// addReports puts what the pools of a group report over what is assumed.
func (c *Cloud) addReports(out map[lbmodel.Target]lbmodel.Health, group lbmodel.Handle) {
	reported := map[lbmodel.Target]lbmodel.Health{}
	for pool := range c.state.users[group] {
		for target, health := range c.reports[pool] {
			assumed, ok := out[target]
			if ok && assumed != lbmodel.HealthDraining && reported[target] != lbmodel.HealthHealthy {
				reported[target] = health
			}
		}
	}
	maps.Copy(out, reported)
}
