package lbmodel

import (
	"cmp"
	"fmt"
	"slices"
)

// Restrict replaces whatever a provider cannot do, once and before Compile, by
// something that cannot be mistaken for success, and says so in findings:
//
//   - a rule whose action it cannot do answers 500 in its place, or as a gRPC rule
//     what gRPC's clients read as UNAVAILABLE; one whose match
//     it cannot express is dropped, since no other match would take exactly its
//     requests;
//   - a share of a rule that it cannot serve, or whose pool's TLS it cannot
//     protect as asked, answers likewise; where it has no answering shares, the
//     whole rule does;
//   - a mirror to such a pool is dropped: nobody waits for its answer;
//   - a listener of another protocol, or with client validation or source ranges
//     that it cannot do, is dropped; so are listeners and rules beyond its limits;
//   - a health check or a pool's own session persistence is dropped alone, and
//     endpoints beyond its limit are left out: the pool still serves, to the
//     right backends and as well protected;
//   - a gateway that asks for an address of its own gets no listener at all.
//
// TLS to backends below the floor of its BackendTLS is refused whatever the
// provider can do. What only refused things referred to (pools, trust,
// identities) is left out.
//
// The argument is not changed; the result shares with it what is the same in
// both. Restrict of a result changes nothing more.
func Restrict(g Gateway, f Features) (Gateway, []Finding) {
	r := &restriction{
		offers: f, gateway: g.source(), trust: g.Trust,
		refusedTrust: map[string]refusal{}, pools: map[string][]refusal{}, said: map[Finding]bool{},
	}
	before := referencesOf(&g)
	g.Addresses, g.Listeners = r.addresses(g.Addresses, g.Listeners)
	g.Trust = r.roots(g.Trust)
	g.Pools = r.judgePools(g.Pools)
	g.Listeners = r.listeners(g.Listeners)
	return prune(g, before), r.findings
}

// restriction is one run of Restrict.
type restriction struct {
	offers   Features
	gateway  Source
	trust    []Trust
	findings []Finding
	said     map[Finding]bool

	refusedTrust map[string]refusal   // by name
	pools        map[string][]refusal // by name: why no traffic may go there
}

// refusal is a Finding without the object.
type refusal struct{ condition, reason, detail string }

// say makes one finding for an object; saying the same again makes none.
func (r *restriction) say(about, parent Source, refusals ...refusal) {
	for _, why := range refusals {
		f := Finding{About: about, Parent: parent, Condition: why.condition, Reason: why.reason, Detail: why.detail, Code: CodeUnsupported}
		if !r.said[f] {
			r.said[f] = true
			r.findings = append(r.findings, f)
		}
	}
}

// lacks are the refusals for those of uses that the provider does not offer.
func (r *restriction) lacks(uses []use) []refusal {
	var out []refusal
	for _, u := range uses {
		if !r.offers.Offers(u.feature) {
			out = append(out, refuseUse(u))
		}
	}
	return out
}

func refuseUse(u use) refusal {
	condition, reason := conditionOfLack(u.feature)
	return refusal{condition, reason, fmt.Sprintf(
		"%s needs %s (%s), which this provider does not offer with these settings; remove it or use a class that offers it",
		u.field, u.feature, u.feature.Describe())}
}

// refuseLimit is nil when count is within limit; zero is no limit.
func refuseLimit(what string, count, limit int, reason string) []refusal {
	if limit == 0 || count <= limit {
		return nil
	}
	return []refusal{{"Accepted", reason, fmt.Sprintf(
		"%s: %d are more than the %d that this provider takes; use fewer or a class that takes more", what, count, limit)}}
}

// conditionOfLack are the words of Gateway API, or ours, for a lack.
func conditionOfLack(f Feature) (condition, reason string) {
	switch f {
	case FeatureStaticAddress, FeatureIPv6:
		return "Accepted", "UnsupportedAddress"
	case FeatureHTTP, FeatureHTTPS, FeatureTLSPassthrough, FeatureTLSTerminate, FeatureTLSMixed, FeatureTCP, FeatureUDP:
		return "Accepted", "UnsupportedProtocol"
	case FeatureH2C, FeatureHTTP2, FeatureWebSocket:
		return "ResolvedRefs", "UnsupportedProtocol"
	case FeatureBackendTLSIdentity, FeatureBackendTLSPerBackend:
		return ConditionBackendTLS, "ClientCertificateUnsupported"
	case FeatureBackendTLSTrust:
		return ConditionBackendTLS, "PrivateRootsUnsupported"
	case FeatureBackendTLSSNI:
		return ConditionBackendTLS, "SNIUnsupported"
	case FeatureBackendTLSDNSSAN, FeatureBackendTLSURISAN:
		return ConditionBackendTLS, "SANUnsupported"
	case FeatureBackendTLSUnverified, FeatureBackendTLSSystem, FeatureBackendTLSMin13, FeatureBackendTLSALPN:
		return ConditionBackendTLS, "UnsupportedValue"
	default:
		return "Accepted", "UnsupportedValue"
	}
}

// ConditionBackendTLS is our condition of a route's parent and of a policy's
// ancestor that says how well the hop to the backends is protected.
const ConditionBackendTLS = "gatehouse.dev/BackendTLS"

func (g *Gateway) source() Source {
	return Source{Kind: g.Owner.Kind, Namespace: g.Owner.Namespace, Name: g.Owner.Name}
}

// addresses drops everything that would be served on another address than the
// one asked for.
func (r *restriction) addresses(asked []AddressRequest, listeners []Listener) ([]AddressRequest, []Listener) {
	lacks := r.lacks(addressUses(asked))
	if len(lacks) == 0 {
		return asked, listeners
	}
	r.say(r.gateway, r.gateway, lacks...)
	asked = slices.DeleteFunc(slices.Clone(asked), func(a AddressRequest) bool { return len(r.lacks(addressUses([]AddressRequest{a}))) > 0 })
	return asked, nil
}

// roots drops trust with more roots than the provider takes: some of the roots
// are not the roots.
func (r *restriction) roots(trust []Trust) []Trust {
	return keep(trust, func(t *Trust) bool {
		lacks := refuseLimit("roots of "+t.Name, len(t.Roots), r.offers.Limits.Roots, "TooManyRoots")
		for _, why := range lacks {
			why.condition = ConditionBackendTLS
			r.refusedTrust[t.Name] = why
			r.say(t.Source, r.gateway, why)
		}
		return len(lacks) == 0
	})
}

// listeners restricts each, and drops those that cannot be served.
func (r *restriction) listeners(all []Listener) []Listener {
	kept := keep(all, func(l *Listener) bool {
		lacks := r.listenerLacks(all, l)
		r.say(l.Source, r.gateway, lacks...)
		return len(lacks) == 0
	})
	if limit := r.offers.Limits.ListenersPerGateway; limit > 0 && len(kept) > limit {
		for i := range kept[limit:] {
			r.say(kept[limit+i].Source, r.gateway, refuseLimit("listeners of the gateway", len(kept), limit, "UnsupportedValue")...)
		}
		kept = kept[:limit:limit]
	}
	return mapKept(kept, func(l Listener) (Listener, bool) { return r.listener(l), true })
}

func (r *restriction) listenerLacks(all []Listener, l *Listener) []refusal {
	uses := slices.DeleteFunc(listenerUses(l), func(u use) bool { return u.feature == FeatureManyCertificates })
	lacks := r.lacks(uses)
	lacks = append(lacks, refuseLimit("source ranges", len(l.SourceRanges), r.offers.Limits.SourceRanges, "UnsupportedValue")...)
	if mixesModes(all, l) {
		lacks = append(lacks, r.lacks([]use{{FeatureTLSMixed, "tls.mode"}})...)
	}
	if l.TLS != nil && l.TLS.Validation != nil {
		if why, refused := r.refusedTrust[l.TLS.Validation.Trust]; refused {
			why.condition = "Accepted"
			lacks = append(lacks, why)
		}
	}
	return lacks
}

// listener restricts what a listener holds.
func (r *restriction) listener(l Listener) Listener {
	l.TLS = r.certificates(&l)
	l.Rules = r.rules(&l)
	l.SNI = mapKept(withinLimit(r, l.SNI, l.Source), func(s SNIRule) (SNIRule, bool) {
		s.Forward = r.streams(s.Forward, s.Source, l.Source)
		return s, true
	})
	if l.Forward != nil {
		fw := r.streams(*l.Forward, l.Route, l.Source)
		l.Forward = &fw
	}
	return l
}

// certificates keeps as many as the provider takes, the first of them: they
// serve who asks without a server name.
func (r *restriction) certificates(l *Listener) *FrontendTLS {
	if l.TLS == nil {
		return nil
	}
	limit := cmp.Or(r.offers.Limits.CertificatesPerListener, len(l.TLS.Certificates))
	if !r.offers.Offers(FeatureManyCertificates) {
		limit = min(limit, 1)
	}
	lacks := refuseLimit("tls.certificateRefs", len(l.TLS.Certificates), limit, "UnsupportedValue")
	if len(lacks) == 0 {
		return l.TLS
	}
	r.say(l.Source, r.gateway, lacks...)
	out := *l.TLS
	out.Certificates = out.Certificates[:limit:limit]
	return &out
}

// withinLimit keeps the first rules of a listener, which come first in matching
// order.
func withinLimit[T interface{ ruleSource() Source }](r *restriction, rules []T, listener Source) []T {
	limit := r.offers.Limits.RulesPerListener
	lacks := refuseLimit("rules of listener "+listener.String(), len(rules), limit, "UnsupportedValue")
	if len(lacks) == 0 {
		return rules
	}
	for _, rule := range rules[limit:] {
		r.say(rule.ruleSource(), listener, lacks...)
	}
	return rules[:limit:limit]
}

func (s SNIRule) ruleSource() Source { return s.Source }
func (s Rule) ruleSource() Source    { return s.Source }
