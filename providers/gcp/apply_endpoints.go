package gcp

import (
	"context"
	"maps"
	"slices"

	"gatehouse.dev/lbmodel"
)

// batch is how many endpoints one call attaches or detaches.
const batch = 500

// bringEndpoints attaches who comes, and detaches who goes when as many healthy ones
// stand in for them, or when no more is to be hoped for. Until then the step is Pending,
// so that a group never serves less than before and after.
func (c *change) bringEndpoints(ctx context.Context, want, have *NetworkEndpoints) (made, error) {
	there, facts := have.Endpoints, c.step.Have.Facts
	doubted := c.memory.begin(c.path() + endpointsOf)
	if doubted {
		var err error
		if there, facts.Health, err = c.lookAtEndpoints(ctx); err != nil {
			return made{}, err
		}
	}
	come, leave := without(want.Endpoints, there), without(there, want.Endpoints)
	if len(come) > 0 {
		c.memory.restart(c.path() + endpointsOf)
	}
	if err := c.eachBatch(ctx, "attachNetworkEndpoints", come); err != nil {
		return c.result(err)
	}
	if len(leave) > 0 && len(want.Endpoints) > 0 {
		if !doubted || len(come) > 0 {
			var err error
			if there, facts.Health, err = c.lookAtEndpoints(ctx); err != nil {
				return made{}, err
			}
		}
		if c.lacksStandIns(want.Endpoints, leave, facts.Health) {
			facts.Health = c.healthAfter(there, facts.Health)
			m := made{spec: &NetworkEndpoints{Group: want.Group, Endpoints: there, source: want.source}, facts: facts}
			return m, c.pending(slower, "%d endpoints stay until healthy ones stand in for them", len(leave))
		}
	}
	if err := c.eachBatch(ctx, "detachNetworkEndpoints", leave); err != nil {
		return c.result(err)
	}
	c.memory.settle(c.path() + endpointsOf)
	facts.Health = c.healthAfter(want.Endpoints, facts.Health)
	return made{spec: want, facts: facts}, nil
}

// lookAtEndpoints reads who is in the group.
func (c *change) lookAtEndpoints(ctx context.Context) ([]Endpoint, map[lbmodel.Target]lbmodel.Health, error) {
	group, _ := c.resolve(c.groupID())
	spec, _ := group.Spec.(*NetworkEndpointGroup)
	if spec == nil {
		return nil, nil, lbmodel.Errorf(lbmodel.CodeNotFound, "Apply", c.step.ID, "its group is not there")
	}
	return c.endpointsIn(ctx, c.path(), spec)
}

// lacksStandIns says whether those who go are to stay for now: more of them are healthy
// than of those that stay, of which some may become so yet. All go in one call, as each
// is a change of the group.
func (c *change) lacksStandIns(stay, leave []Endpoint, health map[lbmodel.Target]lbmodel.Health) bool {
	spare, hope := 0, false
	for _, e := range stay {
		if health[e.target()] == lbmodel.HealthHealthy {
			spare++
		} else {
			hope = true
		}
	}
	for _, e := range leave {
		if health[e.target()] == lbmodel.HealthHealthy {
			spare--
		}
	}
	return spare < 0 && hope && c.mayWait(c.path()+endpointsOf)
}

// endpointsOf tells a group's endpoints from the group.
const endpointsOf = "/endpoints"

func (c *change) groupID() lbmodel.ID {
	id := c.step.ID
	id.Kind = KindNetworkEndpointGroup
	return id
}

// healthAfter is what is known of endpoints: nothing of those that came.
func (c *change) healthAfter(now []Endpoint, before map[lbmodel.Target]lbmodel.Health) map[lbmodel.Target]lbmodel.Health {
	out := make(map[lbmodel.Target]lbmodel.Health, len(now))
	for _, e := range now {
		h, known := before[e.target()]
		if !known {
			h = lbmodel.HealthInitial
		}
		out[e.target()] = h
	}
	c.memory.with(func() {
		if g := c.memory.groups[c.path()]; g != nil {
			g.health = maps.Clone(out)
		}
	})
	return out
}

// without are those of all that are not among some. Both are sorted.
func without(all, some []Endpoint) []Endpoint {
	var out []Endpoint
	for _, e := range all {
		if _, found := slices.BinarySearchFunc(some, e, compareEndpoints); !found {
			out = append(out, e)
		}
	}
	return out
}

// eachBatch starts the calls that attach or detach endpoints, and waits for all of them:
// Google Cloud lets them run side by side.
func (c *change) eachBatch(ctx context.Context, verb string, endpoints []Endpoint) error {
	return each(ctx, slices.Collect(slices.Chunk(endpoints, batch)), func(ctx context.Context, some []Endpoint) error {
		body, err := Body(&NetworkEndpoints{Endpoints: some}, c.project)
		if err != nil {
			return err
		}
		op, err := c.calls.Do(ctx, c.path(), verb, body)
		if err != nil {
			return err
		}
		return c.calls.Wait(ctx, op)
	})
}
