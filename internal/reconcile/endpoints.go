package reconcile

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Endpoints is the fast path of a difference that is EndpointsOnly for the loop: it brings the
// endpoints of the pools concerned up to date, each shared set once, and plans
// nothing. The keys are the gateways concerned.
func (l *Loop) Endpoints(ctx context.Context, d Difference) ([]translate.Key, error) {
	l.mu.Lock()
	keys, changes := l.redirect(d.Change, d.Backends)
	ids := map[string][]lbmodel.ID{}
	for provider, list := range changes {
		ids[provider] = l.accounts[provider].Retarget(list...)
	}
	l.mu.Unlock()
	var errs []error
	for _, provider := range slices.Sorted(maps.Keys(ids)) {
		outcome, err := l.accounts[provider].Bring(ctx, ids[provider]...)
		errs = append(errs, err, outcome.Err())
	}
	return keys, errors.Join(errs...)
}

// EndpointsOnly says whether Endpoints is all that a difference needs: nothing but
// EndpointSlices changed, and the pods behind them are reached as before by every
// gateway that is a member of their mesh.
func (l *Loop) EndpointsOnly(d Difference) bool {
	if !d.EndpointsOnly() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	next, concerned := l.index.With(d.Change)
	for _, key := range concerned {
		g := l.gateways[key]
		if len(g.Result.Meshes) == 0 {
			continue
		}
		for _, backend := range d.Backends {
			if _, _, again := next.PoolsOf(backend, g.Result); again {
				return false
			}
		}
	}
	return true
}

// Targets are the resources that hold a gateway's endpoints and whose content has
// changed.
type Targets struct {
	Gateway  translate.Key
	Provider string
	IDs      []lbmodel.ID
}

// Followed is what a change leads to.
type Followed struct {
	// Keys are the gateways to plan.
	Keys []translate.Key
	// Targets are to be brought (providers.Account.Bring) besides, at once: no plan
	// need be awaited for them.
	Targets []Targets
	// Leaving are the owners that shall own nothing since this change.
	Leaving []Leaver
}

// Follow takes a change of the objects, of any kinds. Gateways that it concerns by
// their endpoints alone are not planned: their targets are brought. What is wanted
// is what it says from now on, whenever it is brought.
func (l *Loop) Follow(c translate.Change) Followed {
	l.mu.Lock()
	defer l.mu.Unlock()
	slow, quick := divide(c)
	var out Followed
	leaving := maps.Clone(l.dropped)
	if len(slow.Put)+len(slow.Delete) > 0 {
		out.Keys = l.advance(slow)
	}
	before := map[translate.Key]Gateway{}
	for _, key := range out.Keys {
		before[key] = l.gateways[key]
	}
	touched, changes := l.redirectOthers(quick, before)
	for _, key := range out.Keys {
		l.retranslateOne(key)
		if moved := l.moved(before[key], l.gateways[key]); len(moved) > 0 {
			changes[key] = moved
		}
	}
	out.Keys = append(out.Keys, touched...)
	for _, who := range l.leaving() {
		if !leaving[who] {
			out.Leaving = append(out.Leaving, who)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(changes), compareKeys) {
		provider := l.gateways[key].Result.Provider
		if ids := l.accounts[provider].Retarget(changes[key]...); len(ids) > 0 {
			out.Targets = append(out.Targets, Targets{Gateway: key, Provider: provider, IDs: ids})
		}
	}
	return out
}

// divide takes the EndpointSlices out of a change.
func divide(c translate.Change) (slow, quick translate.Change) {
	for _, obj := range c.Put {
		if _, is := obj.(*discoveryv1.EndpointSlice); is {
			quick.Put = append(quick.Put, obj)
		} else {
			slow.Put = append(slow.Put, obj)
		}
	}
	for _, key := range c.Delete {
		if key.Kind == translate.KindEndpointSlice {
			quick.Delete = append(quick.Delete, key)
		} else {
			slow.Delete = append(slow.Delete, key)
		}
	}
	return slow, quick
}

// redirectOthers takes a change of EndpointSlices for all gateways but some, which
// are translated anyway. The keys are gateways about whose endpoints there is
// something else to say than before: they are translated and must be planned.
func (l *Loop) redirectOthers(c translate.Change, but map[translate.Key]Gateway) ([]translate.Key, map[translate.Key][]providers.PoolChange) {
	out := map[translate.Key][]providers.PoolChange{}
	if len(c.Put)+len(c.Delete) == 0 {
		return nil, out
	}
	backends := l.backendsOf(c)
	next, concerned := l.index.With(c)
	l.index = next
	var again []translate.Key
	for _, key := range concerned {
		g, ok := l.gateways[key]
		if _, other := but[key]; other || !ok || !g.Planned() || l.accounts[g.Result.Provider] == nil {
			continue
		}
		pools, said := l.pools(&g, backends)
		l.gateways[key] = g
		out[key] = l.poolChanges(g, pools)
		if said {
			l.retranslateOne(key)
			again = append(again, key)
		}
	}
	return again, out
}

// backendsOf are the Services that EndpointSlices belong to, or did.
func (l *Loop) backendsOf(c translate.Change) []translate.Key {
	var out []translate.Key
	note := func(obj any) {
		if s, ok := obj.(*discoveryv1.EndpointSlice); ok && s != nil {
			if key := translate.ServiceKey(s); !slices.Contains(out, key) {
				out = append(out, key)
			}
		}
	}
	for _, obj := range c.Put {
		note(obj)
		if key, ok := translate.KeyOf(obj); ok {
			note(l.index.Object(key))
		}
	}
	for _, key := range c.Delete {
		note(l.index.Object(key))
	}
	return out
}

// redirect takes a change of EndpointSlices. The gateways are brought up to date
// with their new endpoints.
func (l *Loop) redirect(c translate.Change, backends []translate.Key) ([]translate.Key, map[string][]providers.PoolChange) {
	next, concerned := l.index.With(c)
	l.index = next
	out := map[string][]providers.PoolChange{}
	for _, key := range concerned {
		g, ok := l.gateways[key]
		if !ok || !g.Planned() || l.accounts[g.Result.Provider] == nil {
			continue
		}
		pools, _ := l.pools(&g, backends) // the findings about refused endpoints come with the next full pass
		out[g.Result.Provider] = append(out[g.Result.Provider], l.poolChanges(g, pools)...)
		l.gateways[key] = g
	}
	return concerned, out
}

func (l *Loop) poolChanges(g Gateway, pools []lbmodel.Pool) []providers.PoolChange {
	var out []providers.PoolChange
	for _, pool := range pools {
		out = append(out, providers.PoolChange{Owner: g.Result.Gateway.Owner, Settings: g.Result.Gateway.Settings, Pool: pool})
	}
	return out
}

// pools are a gateway's pools with new endpoints, as its provider serves them.
// The gateway is brought up to date with them. said is whether there is, or was,
// something to say about them.
func (l *Loop) pools(g *Gateway, backends []translate.Key) (out []lbmodel.Pool, said bool) {
	fresh := map[string]lbmodel.Pool{}
	for _, backend := range backends {
		pools, findings, again := l.index.PoolsOf(backend, g.Result)
		for _, p := range pools {
			fresh[p.Name] = p
		}
		said = said || again || len(findings) > 0
	}
	said = said || slices.ContainsFunc(g.Result.Findings, translate.IsAboutEndpoints)
	replace := func(pools []lbmodel.Pool) []lbmodel.Pool {
		pools = slices.Clone(pools)
		for i, p := range pools {
			if now, ok := fresh[p.Name]; ok {
				pools[i].Endpoints = now.Endpoints
			}
		}
		return pools
	}
	g.Result.Gateway.Pools = replace(g.Result.Gateway.Pools)
	*g = restricted(*g, l.index)
	for _, p := range g.Served.Pools {
		if _, ok := fresh[p.Name]; ok {
			out = append(out, p)
		}
	}
	return out, said
}

// moved are the pools of a gateway that are as before but for their endpoints.
func (l *Loop) moved(before, now Gateway) []providers.PoolChange {
	if before.leaver() != now.leaver() || !now.Planned() || now.Result.Deleting || l.accounts[now.Result.Provider] == nil {
		return nil
	}
	old := map[string]lbmodel.Pool{}
	for _, p := range before.Served.Pools {
		old[p.Name] = p
	}
	var out []lbmodel.Pool
	for _, p := range now.Served.Pools {
		was, known := old[p.Name]
		same := p
		if same.Endpoints = was.Endpoints; known && reflect.DeepEqual(same, was) && !reflect.DeepEqual(p.Endpoints, was.Endpoints) {
			out = append(out, p)
		}
	}
	return l.poolChanges(now, out)
}
