package providers

import (
	"maps"
	"time"

	"gatehouse.dev/lbmodel"
)

// PoolHealth is what is known of the targets of one gateway's pool.
type PoolHealth struct {
	Observed bool // the cloud was looked at since start; until then nothing is known
	There    bool // the cloud holds what the pool's endpoints are kept in
	// Targets are the endpoints that the cloud holds, by "address:port", with what
	// its health checks said when it was last looked at.
	Targets map[lbmodel.Target]lbmodel.Health
	// At is when that look began, by the account's clock; zero before all of it was
	// seen. What Apply returned is no look: a target that was replaced by another of
	// its address would have the other's health.
	At time.Time
}

// Naming is a Spec of endpoints that the cloud knows by other names than their
// addresses, such as those of their nodes.
type Naming interface {
	// Named is the name of an endpoint in Facts.Health.
	Named(lbmodel.Endpoint) lbmodel.Target
}

// Health is what is remembered of a pool's targets. It makes no call: to look
// anew, Invalidate the owner and plan.
func (a *Account) Health(c PoolChange) PoolHealth {
	features, _ := a.provider.Offers(c.Settings)
	pool, _ := lbmodel.RestrictPool(c.Pool, features)
	parts := a.provider.Endpoints(c.Owner, pool, c.Settings)
	a.mu.Lock()
	defer a.mu.Unlock()
	out := PoolHealth{Observed: a.shadow.seen, There: len(parts) > 0, Targets: map[lbmodel.Target]lbmodel.Health{}}
	first := true
	for id, part := range parts {
		r, there := a.shadow.entries[id]
		out.There = out.There && there
		out.take(pool, part.Spec, r.Facts.Health)
		if at := a.shadow.read[id]; first || at.Before(out.At) {
			out.At, first = at, false
		}
	}
	return out
}

// take adds what is known of a part of a pool's endpoints.
func (h *PoolHealth) take(pool lbmodel.Pool, part lbmodel.Spec, known map[lbmodel.Target]lbmodel.Health) {
	naming, other := part.(Naming)
	if !other {
		maps.Copy(h.Targets, known)
		return
	}
	for _, e := range pool.Endpoints {
		if state, there := known[naming.Named(e)]; there {
			h.Targets[e.Target()] = state
		}
	}
}
