package lbmodel

import (
	"slices"
	"time"
)

// Flowing is a Spec with a part that follows its surroundings rather than
// anybody's decision: the endpoints of a group, the leaf of a certificate, the
// roots that a trust gains. Approval is about the rest, which is structure. A Spec
// that is not Flowing is all structure.
type Flowing interface {
	// Flows says whether the way from have to it changes nothing but that part and
	// takes nothing from anybody: dropping a root is structure.
	Flows(have Spec) bool
	// Structure is the Spec without that part: equal while nothing else changes, so
	// that an approval outlives a rollout.
	Structure() Spec
}

// Flows says whether a step brings only what flows to a resource that is there. It
// needs nothing that the resource has not needed before, so it is safe whatever
// becomes of the other steps.
func (s Step) Flows() bool {
	f, ok := s.Want.(Flowing)
	return ok && s.Verb == Update && s.Impact == "" && f.Flows(s.Have.Spec) &&
		slotOf(s.Want) == slotOf(s.Have.Spec) && needsNoMore(s)
}

func needsNoMore(s Step) bool {
	before := needsOf(s.Have.Spec)
	return !slices.ContainsFunc(needsOf(s.Want), func(id ID) bool { return !slices.Contains(before, id) })
}

// Structure is the step without what flows: what a person approves. Who approves
// that something is made approves what stands in for it, and that it takes its place.
func (s Step) Structure() Step {
	s.Want, s.For = wholeOf(s), nil
	if s.Verb == Update && StandsIn(s.Want, s.Have.Spec) {
		s.Verb, s.Have = Create, Resource{}
	}
	s.Want, s.Have.Spec = structureOf(s.Want), structureOf(s.Have.Spec)
	return s
}

func structureOf(s Spec) Spec {
	if f, ok := s.(Flowing); ok {
		return f.Structure()
	}
	return s
}

// HoldStructure keeps back every step but those that flow until somebody agrees
// (apply: Approve).
func HoldStructure(p Plan, _ time.Time) Plan {
	return keepStructure(p, func(s Step) Wait {
		return Wait{Reason: WaitApproval, Why: wouldBe(s) + ", and waits for approval"}
	})
}

// ReportStructure keeps back every step but those that flow: the rest of the plan
// is for reading (apply: PlanOnly).
func ReportStructure(p Plan, _ time.Time) Plan { return keepStructure(p, reported) }

// keepStructure leaves the steps that flow. None of them needs one that is kept
// back, so an order with those (a Follower's, say) is no reason to wait: a
// certificate would end before somebody approves what else was to change.
func keepStructure(p Plan, wait func(Step) Wait) Plan {
	out := Plan{Later: slices.Clone(p.Later)}
	stays := map[ID]bool{}
	for _, s := range p.Steps {
		if !s.Flows() {
			w := wait(s)
			w.ID = s.ID
			out.Later = append(out.Later, w)
			continue
		}
		s.After = keep(s.After, func(id *ID) bool { return stays[*id] })
		stays[s.ID] = true
		out.Steps = append(out.Steps, s)
	}
	return out
}
