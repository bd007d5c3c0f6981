package gcp

import (
	"context"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// standInFor is how long somebody is waited for to become healthy before traffic that
// somebody else takes is led there: for many checks at most intervals, and for less than
// a run waits (providers.Patience), so that it is the same run which goes on.
const standInFor = 100 * time.Second

// mayWait says whether there is still hope at a path, since it was asked first.
func (c *change) mayWait(path string) bool {
	now := c.now()
	return now.Sub(c.memory.waitsSince(path, now)) < standInFor
}

// bringMap changes a URL map. Rules that serve are led to other backend services when
// those have somebody who is healthy: checks begin when a service gets its groups, and
// until they pass the load balancer answers 503.
func (c *change) bringMap(ctx context.Context, want, have *URLMap) error {
	for _, id := range want.arrivals(have) {
		lacks, err := c.lacksHealth(ctx, id)
		if err != nil {
			return err
		}
		if lacks && c.mayWait(c.path()) {
			return c.pending(slower, "rules are led to %s when one of its endpoints is healthy", id)
		}
	}
	c.memory.restart(c.path())
	return c.patch(ctx)
}

// arrivals are the backend services that rules which serve somebody are led to, and that
// no rule was led to before.
func (u *URLMap) arrivals(have *URLMap) []lbmodel.ID {
	known := have.Needs()
	var out []lbmodel.ID
	for i := range u.PathMatchers {
		m := &u.PathMatchers[i]
		for j := range m.RouteRules {
			there := have.rule(u.hostsOf(m.Name), &m.RouteRules[j])
			if there == nil || !slices.ContainsFunc(there.services(), func(r Ref) bool { return r != "" && r != u.nobody }) {
				continue
			}
			for _, id := range needs(m.RouteRules[j].services()...) {
				if !slices.Contains(known, id) && !slices.Contains(out, id) && refTo(id) != u.nobody {
					out = append(out, id)
				}
			}
		}
	}
	return out
}

// lacksHealth says whether none of a backend service's endpoints is healthy, and one may
// become so. Where nobody checks them, none will.
func (c *change) lacksHealth(ctx context.Context, service lbmodel.ID) (lacks bool, err error) {
	r, _ := c.resolve(service)
	b, ok := r.Spec.(*BackendService)
	if !ok {
		return false, nil
	}
	for _, id := range needs(b.groups()...) {
		group, _ := c.resolve(id)
		spec, ok := group.Spec.(*NetworkEndpointGroup)
		if !ok {
			continue
		}
		_, health, err := c.endpointsIn(ctx, string(group.Handle), spec)
		if err != nil {
			return false, exceptGone(err)
		}
		if _, attached := c.resolve(endpointsID(id)); !attached {
			lacks = true // they are on their way
		}
		for _, h := range health {
			switch h {
			case lbmodel.HealthHealthy:
				return false, nil
			case lbmodel.HealthUnhealthy, lbmodel.HealthInitial:
				lacks = true
			}
		}
	}
	return lacks, nil
}

// groups are a backend service's.
func (b *BackendService) groups() []Ref {
	out := make([]Ref, 0, len(b.Backends))
	for _, one := range b.Backends {
		out = append(out, one.Group)
	}
	return out
}
