package local

import (
	"context"
	"maps"
	"time"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/fake/dataplane"
	"gatehouse.dev/lbmodel"
)

// healthEvery is how often the cloud is told: often enough for a person who
// watches, and next to nothing for the machine.
const healthEvery = 500 * time.Millisecond

// reporter tells a cloud what the checks of a data plane say, so that facts about
// endpoints are what happens to requests. Nothing that is served depends on it.
type reporter struct {
	cloud *cloud.Cloud
	plane *dataplane.DataPlane
	told  reports
}

// reports are verdicts by pool, as the cloud names pools.
type reports map[string]map[lbmodel.Target]lbmodel.Health

// run reports until ctx ends, and then takes everything back: what is not served
// is not known.
func (r *reporter) run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		r.tell(verdicts(r.plane.Health()))
		select {
		case <-ctx.Done():
			r.tell(nil)
			return
		case <-tick.C:
		}
	}
}

// tell reports the pools of which something else is known than before.
func (r *reporter) tell(now reports) {
	for pool, health := range now {
		if !maps.Equal(health, r.told[pool]) {
			r.cloud.ReportHealth(pool, health)
		}
	}
	for pool := range r.told {
		if _, still := now[pool]; !still {
			r.cloud.ReportHealth(pool, nil)
		}
	}
	r.told = now
}

// verdicts are the checks that have come to one. An endpoint whose first checks
// are under way gets requests already, so it is left to what the cloud assumes of
// new endpoints: no apply waits for the interval of a check.
func verdicts(all map[dataplane.PoolRef]map[lbmodel.Target]lbmodel.Health) reports {
	out := make(reports, len(all))
	for ref, targets := range all {
		known := maps.Clone(targets)
		maps.DeleteFunc(known, func(_ lbmodel.Target, h lbmodel.Health) bool { return h == lbmodel.HealthInitial })
		if len(known) > 0 {
			out[ref.Pool] = known
		}
	}
	return out
}
