package lbmodel

import (
	"cmp"
	"fmt"
	"slices"
)

// judgePools drops the pools that may not get traffic and makes the others fit.
func (r *restriction) judgePools(pools []Pool) []Pool {
	for i := range pools {
		r.refusePool(&pools[i], r.poolLacks(&pools[i]))
	}
	if !r.offers.Offers(FeatureBackendTLSPerBackend) {
		r.oneIdentity(pools)
	}
	return mapKept(pools, func(p Pool) (Pool, bool) {
		if len(r.pools[p.Name]) > 0 {
			return p, false
		}
		return r.fitPool(p), true
	})
}

// refusePool tells the owner of the pool or of its TLS; the routes to it hear
// when they are restricted.
func (r *restriction) refusePool(p *Pool, lacks []refusal) {
	r.pools[p.Name] = append(r.pools[p.Name], lacks...)
	for _, why := range lacks {
		about := p.Source
		if why.condition == ConditionBackendTLS {
			about = p.TLS.Source
		}
		r.say(about, r.gateway, why)
	}
}

// poolLacks are the reasons why no traffic may go to the pool.
func (r *restriction) poolLacks(p *Pool) []refusal {
	lacks := r.lacks(append(protocolUses(p), backendTLSUses(p.TLS, r.trust)...))
	if p.TLS == nil {
		return lacks
	}
	if why, refused := r.refusedTrust[p.TLS.Trust]; refused {
		lacks = append(lacks, why)
	}
	for _, why := range refuseLimit("validation.subjectAltNames", len(p.TLS.SANs), r.offers.Limits.SANs, "TooManySANs") {
		why.condition = ConditionBackendTLS
		lacks = append(lacks, why)
	}
	return append(lacks, refuseBelowFloor(p.TLS)...)
}

func refuseBelowFloor(t *BackendTLS) []refusal {
	if t.Level().AtLeast(t.Floor) {
		return nil
	}
	return []refusal{{ConditionBackendTLS, "BelowMinimum", fmt.Sprintf(
		"TLS to the backend would be %s, below the minimum %s; give it what is missing (roots, client certificate) or have the operator lower minimumBackendTLS", t.Level(), t.Floor)}}
}

// oneIdentity refuses what would get another client certificate than the first
// usable pool, or none, on a provider that has one for all.
func (r *restriction) oneIdentity(pools []Pool) {
	usable := mapKept(pools, func(p Pool) (Pool, bool) { return p, len(r.pools[p.Name]) == 0 })
	one := commonIdentity(usable)
	for i := range usable {
		if p := &usable[i]; p.TLS != nil && p.TLS.Identity != one {
			r.refusePool(p, []refusal{refuseUse(use{FeatureBackendTLSPerBackend, "clientCertificateRef"})})
		}
	}
}

// RestrictPool makes a pool that may get traffic fit the provider: a health
// check or session persistence that it cannot do is dropped, and endpoints
// beyond its limit are left out, usable ones last. It is the part of Restrict
// that a change of endpoints can change. Findings have no Parent.
func RestrictPool(p Pool, f Features) (Pool, []Finding) {
	r := &restriction{offers: f, said: map[Finding]bool{}}
	return r.fitPool(p), r.findings
}

func (r *restriction) fitPool(p Pool) Pool {
	if lacks := r.lacks(persistenceUses(p.Persistence)); len(lacks) > 0 {
		r.say(p.Source, r.gateway, lacks...)
		p.Persistence = nil
	}
	if p.Health != nil && !r.offers.Offers(FeatureHealth) {
		r.say(cmp.Or(p.Health.Source, p.Source), r.gateway, refuseUse(use{FeatureHealth, "healthCheck"}))
		p.Health = nil
	}
	if limit := r.offers.Limits.EndpointsPerPool; exceeds(len(p.Endpoints), limit) {
		r.say(p.Source, r.gateway, refuseLimit("endpoints", len(p.Endpoints), limit, "UnsupportedValue")...)
		p.Endpoints = firstUsable(p.Endpoints, limit)
	}
	return p
}

// firstUsable are at most limit endpoints in their order, unusable ones left out
// first.
func firstUsable(endpoints []Endpoint, limit int) []Endpoint {
	unusable := 0
	for _, e := range endpoints {
		if !e.Usable() {
			unusable++
		}
	}
	spare := max(0, limit-(len(endpoints)-unusable)) // how many unusable ones may stay
	out := make([]Endpoint, 0, limit)
	for _, e := range endpoints {
		if !e.Usable() {
			if spare == 0 {
				continue
			}
			spare--
		}
		if len(out) < limit {
			out = append(out, e)
		}
	}
	return out
}

// references are the names that listeners and pools use.
type references struct{ pools, trust, identities map[string]bool }

func referencesOf(g *Gateway) references {
	refs := references{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for i := range g.Listeners {
		refs.addListener(&g.Listeners[i])
	}
	for i := range g.Pools {
		if t := g.Pools[i].TLS; t != nil {
			refs.trust[t.Trust] = true
			refs.identities[t.Identity] = true
		}
	}
	return refs
}

func (refs references) addListener(l *Listener) {
	if t := l.TLS; t != nil {
		for _, name := range t.Certificates {
			refs.identities[name] = true
		}
		if t.Validation != nil {
			refs.trust[t.Validation.Trust] = true
		}
	}
	for i := range l.Rules {
		refs.addMirrors(l.Rules[i].Action.Edits.Mirrors)
	}
	for fw := range forwardsOf(l) {
		for i := range fw.Backends {
			refs.pools[fw.Backends[i].Pool] = true
			refs.addMirrors(fw.Backends[i].Edits.Mirrors)
		}
	}
}

func (refs references) addMirrors(mirrors []Mirror) {
	for i := range mirrors {
		refs.pools[mirrors[i].Pool] = true
	}
}

// prune leaves out what was referred to before and is not any more. Pools go
// first: with them go their trust and identities.
func prune(g Gateway, before references) Gateway {
	now := referencesOf(&g).pools
	g.Pools = keep(g.Pools, func(p *Pool) bool { return !before.pools[p.Name] || now[p.Name] })
	after := referencesOf(&g)
	g.Trust = keep(g.Trust, func(t *Trust) bool { return !before.trust[t.Name] || after.trust[t.Name] })
	g.Identities = keep(g.Identities, func(i *Identity) bool { return !before.identities[i.Name] || after.identities[i.Name] })
	return g
}

// keep is the elements that pass; the same slice when all do.
func keep[T any](all []T, pass func(*T) bool) []T {
	return mapKept(all, func(v T) (T, bool) { return v, pass(&v) })
}

// mapKept makes a new slice of what change returns, without those it is false
// for. An empty slice stays what it is.
func mapKept[T any](all []T, change func(T) (T, bool)) []T {
	if len(all) == 0 {
		return all
	}
	out := make([]T, 0, len(all))
	for _, v := range all {
		if changed, ok := change(v); ok {
			out = append(out, changed)
		}
	}
	return slices.Clip(out)
}
