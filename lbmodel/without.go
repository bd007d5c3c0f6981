package lbmodel

import "slices"

// Without is the rule's action where some pools cannot be reached: their shares are
// answered as a reference is that leads nowhere, and mirrors to them are left out.
// Where all shares are, or (whole) where a provider has no FeatureFixedShare and
// some of any weight are, that answers everything. It is what a Standing rule stands
// in with.
func (r Rule) Without(missing func(pool string) bool, whole Whole) Action {
	out := r.Action
	out.Edits = out.Edits.without(missing)
	if out.Forward == nil {
		return out
	}
	answer := r.Match.unreachable()
	fw := Forward{Backends: slices.Clone(out.Forward.Backends)}
	short, serves := false, false
	for i, b := range fw.Backends {
		if b.Pool == "" || !missing(b.Pool) {
			fw.Backends[i].Edits = b.Edits.without(missing)
			serves = serves || b.Fixed == nil
			continue
		}
		short = short || b.Weight > 0
		fw.Backends[i] = Backend{Source: b.Source, Weight: b.Weight, Fixed: answer}
	}
	if !serves || short && whole == WholeRules {
		return Action{Fixed: answer}
	}
	out.Forward = &fw
	return out
}

// Whole says how much of a rule can be answered by a provider itself.
type Whole uint8

// The parts.
const (
	AnyShare   Whole = iota // a single share of it (FeatureFixedShare)
	WholeRules              // all or nothing
)

// unreachable is what Gateway API asks for where a backend cannot be reached by its
// reference: 500, and for gRPC what its clients read as UNAVAILABLE.
func (m Match) unreachable() *Fixed {
	if m.GRPC != nil {
		return &Fixed{Status: 503}
	}
	return serverError()
}

func (e Edits) without(missing func(pool string) bool) Edits {
	e.Mirrors = slices.DeleteFunc(slices.Clone(e.Mirrors), func(m Mirror) bool { return missing(m.Pool) })
	return e
}
