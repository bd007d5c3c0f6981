package lbmodel

import "slices"

// serverError is the answer in place of what cannot be done.
func serverError() *Fixed { return &Fixed{Status: 500} }

// sharing is whose forward is restricted, and the answer in place of what cannot be
// done of it.
type sharing struct {
	about, listener Source
	broken          *Fixed
}

func (r *restriction) rules(l *Listener) []Rule {
	expressible := mapKept(l.Rules, func(rule Rule) (Rule, bool) {
		lacks := r.lacks(matchUses(&rule.Match))
		r.say(rule.Source, l.Source, lacks...)
		return rule, len(lacks) == 0
	})
	return mapKept(withinLimit(r, expressible, l.Source), func(rule Rule) (Rule, bool) {
		rule.Action = r.action(rule, l.Source)
		return rule, true
	})
}

// action is the rule's action, or the answer that it cannot be done.
func (r *restriction) action(rule Rule, listener Source) Action {
	a := rule.Action
	lacks := r.lacks(actionUses(&a))
	lacks = append(lacks, r.mirrorLimit(len(a.Edits.Mirrors))...)
	r.say(rule.Source, listener, lacks...)
	if len(lacks) > 0 {
		return Action{Fixed: rule.Match.unreachable()}
	}
	a.Edits = r.mirrors(a.Edits, listener)
	if a.Forward == nil {
		return a
	}
	fw, whole := r.forward(*a.Forward, sharing{rule.Source, listener, rule.Match.unreachable()})
	if whole != nil {
		return Action{Fixed: whole}
	}
	a.Forward = &fw
	return a
}

func (r *restriction) mirrorLimit(count int) []refusal {
	return refuseLimit("filters.requestMirror", count, r.offers.Limits.MirrorsPerRule, "UnsupportedValue")
}

// mirrors drops those whose pool may not get traffic.
func (r *restriction) mirrors(e Edits, listener Source) Edits {
	e.Mirrors = mapKept(e.Mirrors, func(m Mirror) (Mirror, bool) {
		lacks := r.pools[m.Pool]
		r.say(m.Source, listener, lacks...)
		return m, len(lacks) == 0
	})
	return e
}

// streams restricts a forward of connections. One that cannot be done at all has
// no backends, which closes every connection.
func (r *restriction) streams(fw Forward, about, listener Source) Forward {
	fw, whole := r.forward(fw, sharing{about, listener, serverError()})
	if whole != nil {
		return Forward{}
	}
	return fw
}

// forward restricts the shares. When it cannot be shared out as asked, whole is
// the answer to everything.
func (r *restriction) forward(fw Forward, s sharing) (_ Forward, whole *Fixed) {
	backends := mapKept(fw.Backends, func(b Backend) (Backend, bool) { return r.backend(b, s), true })
	if !r.offers.Offers(FeatureFixedShare) {
		if backends, whole = r.withoutFixedShares(backends, s); whole != nil {
			return Forward{}, whole
		}
	}
	backends, lacks := r.weights(backends)
	if len(lacks) > 0 {
		r.say(s.about, s.listener, lacks...)
		return Forward{}, s.broken
	}
	return Forward{Backends: backends}, nil
}

// backend is the share as it is, or one that answers that it cannot be served.
func (r *restriction) backend(b Backend, s sharing) Backend {
	lacks := r.lacks(backendUses(&b))
	lacks = append(lacks, r.mirrorLimit(len(b.Edits.Mirrors))...)
	lacks = append(lacks, r.pools[b.Pool]...)
	r.say(b.Source, s.listener, lacks...)
	if len(lacks) > 0 {
		return Backend{Source: b.Source, Weight: b.Weight, Fixed: s.broken}
	}
	b.Edits = r.mirrors(b.Edits, s.listener)
	return b
}

// withoutFixedShares does for a provider that cannot answer a share itself. Such
// shares without weight may go; when there are no others, one answer serves the
// whole rule; else the rule answers that it cannot be served, since another backend
// may not get the broken one's share.
func (r *restriction) withoutFixedShares(backends []Backend, s sharing) ([]Backend, *Fixed) {
	if !slices.ContainsFunc(backends, Backend.answersItself) {
		return backends, nil
	}
	backends = mapKept(backends, func(b Backend) (Backend, bool) { return b, b.Weight > 0 || !b.answersItself() })
	if !slices.ContainsFunc(backends, Backend.answersItself) {
		return backends, nil
	}
	if first := backends[0].Fixed; first != nil && !slices.ContainsFunc(backends, func(b Backend) bool { return b.Fixed == nil || *b.Fixed != *first }) {
		return nil, first
	}
	r.say(s.about, s.listener, refuseUse(use{FeatureFixedShare, "backendRefs"}))
	return nil, s.broken
}

// weights makes the backends fit the provider's weights without changing any
// share, or says why it cannot.
func (r *restriction) weights(backends []Backend) ([]Backend, []refusal) {
	limits := r.offers.Limits
	tight := !r.offers.Offers(FeatureWeights) && len(backends) > 1 || exceeds(len(backends), limits.BackendsPerForward)
	if tight {
		backends = mapKept(backends, func(b Backend) (Backend, bool) { return b, b.Weight > 0 })
	}
	if greatest(backends) > int(limits.MaxWeight) && limits.MaxWeight > 0 {
		backends = reducedWeights(backends)
	}
	var lacks []refusal
	if len(backends) > 1 {
		lacks = r.lacks(forwardUses(&Forward{Backends: backends}))
	}
	lacks = append(lacks, refuseLimit("backendRefs", len(backends), limits.BackendsPerForward, "UnsupportedValue")...)
	return backends, append(lacks, refuseWeight(greatest(backends), int(limits.MaxWeight))...)
}

func exceeds(count, limit int) bool { return limit > 0 && count > limit }

func refuseWeight(weight, limit int) []refusal {
	if !exceeds(weight, limit) {
		return nil
	}
	return refuseLimit("backendRefs.weight", weight, limit, "UnsupportedValue")
}

func greatest(backends []Backend) int {
	out := 0
	for i := range backends {
		out = max(out, int(backends[i].Weight))
	}
	return out
}

// reducedWeights divides all weights by what divides them all.
func reducedWeights(backends []Backend) []Backend {
	var divisor int32
	for _, b := range backends {
		divisor = greatestCommonDivisor(divisor, b.Weight)
	}
	if divisor <= 1 {
		return backends
	}
	return mapKept(backends, func(b Backend) (Backend, bool) {
		b.Weight /= divisor
		return b, true
	})
}

func greatestCommonDivisor(a, b int32) int32 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
