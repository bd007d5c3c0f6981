package gcp

import (
	"slices"

	"gatehouse.dev/lbmodel"
)

// What stands in its place while something is not there yet: decision 0027. A URL map
// has many places, so what is there is kept, or answered for, rule by rule.

// StandIn implements lbmodel.Standing.
func (u *URLMap) StandIn(have lbmodel.Spec, missing func(lbmodel.ID) bool) lbmodel.Spec {
	there, _ := have.(*URLMap)
	out := *u
	out.PathMatchers = slices.Clone(u.PathMatchers)
	for i := range out.PathMatchers {
		m := &out.PathMatchers[i]
		m.RouteRules = slices.Clone(m.RouteRules)
		for j := range m.RouteRules {
			m.RouteRules[j] = m.RouteRules[j].standIn(there.rule(u.hostsOf(m.Name), &m.RouteRules[j]), u.nobody, missing)
		}
	}
	return &out
}

// hostsOf are those that a path matcher serves.
func (u *URLMap) hostsOf(matcher string) []string {
	var out []string
	for _, h := range u.HostRules {
		if h.PathMatcher == matcher {
			out = append(out, h.Hosts...)
		}
	}
	return out
}

// rule is what takes the same requests of the same hosts; nil when there is none. Of
// hosts that are divided otherwise, the first counts.
func (u *URLMap) rule(hosts []string, like *RouteRule) *RouteRule {
	if u == nil || len(hosts) == 0 {
		return nil
	}
	for _, h := range u.HostRules {
		if !slices.Contains(h.Hosts, hosts[0]) {
			continue
		}
		for i := range u.PathMatchers {
			if m := &u.PathMatchers[i]; m.Name == h.PathMatcher {
				return m.rule(like)
			}
		}
	}
	return nil
}

func (m *PathMatcher) rule(like *RouteRule) *RouteRule {
	want := encode(like.MatchRules)
	for i := range m.RouteRules {
		if encode(m.RouteRules[i].MatchRules) == want {
			return &m.RouteRules[i]
		}
	}
	return nil
}

// standIn is the rule without what is missing. Where it would answer for something, and
// what is there serves somebody, that goes on in its place.
func (r RouteRule) standIn(there *RouteRule, nobody Ref, missing func(lbmodel.ID) bool) RouteRule {
	without := r.without(nobody, missing)
	if there == nil || encode(without) == encode(r) || there.standsFor(&r, nobody) || slices.ContainsFunc(needs(there.services()...), missing) {
		return without
	}
	kept := *there
	kept.Priority, kept.broken = r.Priority, r.broken
	return kept
}

// standsFor says whether a rule is only what is left of a wanted one, or answers for
// itself.
func (r *RouteRule) standsFor(want *RouteRule, nobody Ref) bool {
	if r.Service == nobody {
		return true
	}
	served := r.services()
	left := want.without(nobody, func(id lbmodel.ID) bool { return !slices.Contains(served, refTo(id)) })
	left.Priority = r.Priority
	return encode(left) == encode(r)
}

// without is the rule without what is missing: its share is answered by the load
// balancer, and mirrors are left out.
func (r RouteRule) without(nobody Ref, missing func(lbmodel.ID) bool) RouteRule {
	lost := func(ref Ref) bool {
		id, ok := ref.id()
		return ok && missing(id)
	}
	if !slices.ContainsFunc(r.services(), lost) {
		return r
	}
	if r.RouteAction == nil || len(r.RouteAction.WeightedBackendServices) == 0 && lost(r.Service) {
		return r.answering(nobody)
	}
	a := *r.RouteAction
	if a.RequestMirrorPolicy != nil && lost(a.RequestMirrorPolicy.BackendService) {
		a.RequestMirrorPolicy = nil
	}
	var kept []WeightedService
	var sum, gone float64
	for _, w := range a.WeightedBackendServices {
		sum += float64(w.Weight)
		if lost(w.BackendService) {
			gone += float64(w.Weight)
			continue
		}
		kept = append(kept, w)
	}
	if len(kept) == 0 && len(a.WeightedBackendServices) > 0 || !a.answersLike(r.broken) && gone > 0 {
		return r.answering(nobody)
	}
	if gone > 0 {
		own := a.ownShare()
		a.FaultInjectionPolicy = &FaultPolicy{Abort{HTTPStatus: int32(r.broken), Percentage: own + (100-own)*gone/sum}}
	}
	a.WeightedBackendServices = kept
	r.RouteAction = &a
	return r
}

// ownShare is the percentage that is answered without a backend already.
func (a *RouteAction) ownShare() float64 {
	if a.FaultInjectionPolicy == nil {
		return 0
	}
	return a.FaultInjectionPolicy.Abort.Percentage
}

// answersLike says whether a share that is answered already is by the same status.
func (a *RouteAction) answersLike(status int) bool {
	return a.FaultInjectionPolicy == nil || a.FaultInjectionPolicy.Abort.HTTPStatus == int32(status)
}

// answering is the rule, answered by the load balancer alone.
func (r RouteRule) answering(nobody Ref) RouteRule {
	return RouteRule{Priority: r.Priority, MatchRules: r.MatchRules, Service: nobody, RouteAction: abort(r.broken, 100), broken: r.broken}
}

// StandIn implements lbmodel.Standing: connections for what is missing are closed, but
// for those of a name that somebody serves.
func (r *TLSRoute) StandIn(have lbmodel.Spec, missing func(lbmodel.ID) bool) lbmodel.Spec {
	there, _ := have.(*TLSRoute)
	out := *r
	out.Rules = slices.Clone(r.Rules)
	for i := range out.Rules {
		want := &r.Rules[i]
		in := want.without(r.nobody, missing)
		if encode(in) != encode(want) {
			out.Rules[i] = there.serving(want, in, r.nobody, missing)
		}
	}
	return &out
}

// without is the rule with nobody in the place of what is missing.
func (r *TLSRule) without(nobody Ref, missing func(lbmodel.ID) bool) TLSRule {
	out := *r
	out.Action.Destinations = slices.Clone(r.Action.Destinations)
	for i := range out.Action.Destinations {
		to := &out.Action.Destinations[i]
		if id, ok := Ref(to.ServiceName).id(); ok && missing(id) {
			to.ServiceName = LocatedRef(nobody)
		}
	}
	return out
}

// serving is the rule that is there for the same names, if it serves and does not only
// stand in for want; else it is in.
func (r *TLSRoute) serving(want *TLSRule, in TLSRule, nobody Ref, missing func(lbmodel.ID) bool) TLSRule {
	if r == nil {
		return in
	}
	i := slices.IndexFunc(r.Rules, func(t TLSRule) bool { return encode(t.Matches) == encode(want.Matches) })
	if i < 0 {
		return in
	}
	served := func(id lbmodel.ID) bool {
		return slices.ContainsFunc(r.Rules[i].Action.Destinations, func(d Destination) bool { return Ref(d.ServiceName) == refTo(id) })
	}
	left := want.without(nobody, func(id lbmodel.ID) bool { return !served(id) })
	kept := r.Rules[i].without(nobody, missing)
	if encode(left) == encode(r.Rules[i]) || encode(kept) != encode(r.Rules[i]) {
		return in
	}
	return kept
}

// StandIn implements lbmodel.Standing: a group of endpoints that cannot be made costs
// its zone, and nobody else. Where none can, what serves goes on.
func (b *BackendService) StandIn(have lbmodel.Spec, missing func(lbmodel.ID) bool) lbmodel.Spec {
	out := *b
	out.Backends = slices.DeleteFunc(slices.Clone(b.Backends), func(b Backend) bool {
		id, ok := b.Group.id()
		return ok && missing(id)
	})
	if id, ok := b.firewall.id(); ok && missing(id) {
		out.firewall = "" // others may let the load balancer in
	}
	if there, ok := have.(*BackendService); ok && len(out.Backends) == 0 && len(there.Backends) > 0 {
		kept := *there
		return &kept
	}
	return &out
}

// StandIn implements lbmodel.Standing: a certificate that cannot be made costs those
// who ask for it, as long as there is another.
func (p *TargetHTTPSProxy) StandIn(_ lbmodel.Spec, missing func(lbmodel.ID) bool) lbmodel.Spec {
	out := *p
	out.SSLCertificates = slices.DeleteFunc(slices.Clone(p.SSLCertificates), func(r NamedRef) bool {
		id, ok := Ref(r).id()
		return ok && missing(id)
	})
	if len(p.SSLCertificates) > 0 && len(out.SSLCertificates) == 0 {
		return nil
	}
	return &out
}
