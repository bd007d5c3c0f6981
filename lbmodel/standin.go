package lbmodel

import (
	"slices"
)

// Standing is a Spec with a place that may not be empty while what it needs is
// missing, such as a rule among rules: requests that are its own would fall to the
// next one.
type Standing interface {
	Spec
	// StandIn is what stands in its place until what is missing is there: the same
	// without it, which answers for itself that it cannot serve. have is what stands
	// there now, nil for nothing. Where that serves somebody, and does not only stand
	// in itself, StandIn is have in the place that is wanted now. It is nil where
	// nothing can stand in.
	StandIn(have Spec, missing func(ID) bool) Spec
}

// lacks says whether what waits for this reason lacks something that it needs, and
// not somebody's word or somebody else's going.
func (r WaitReason) lacks() bool {
	return slices.Contains([]WaitReason{WaitMissing, WaitForeign, WaitDisputed, WaitProbe, waitFailed}, r)
}

// waitFailed is what holds the steps behind one that has failed.
const waitFailed WaitReason = "Failed"

// StandIns are the steps that keep the places of what a run left undone: those of
// the plan whose Spec is Standing and which wait for a step that has failed, and what
// is made for which it is enough that the place is kept. What they still need is there
// when the run is over.
func StandIns(p Plan, failed map[ID]error) Plan {
	roots := map[ID]Wait{}
	for id := range failed {
		roots[id] = Wait{ID: id, Reason: waitFailed}
	}
	h := keptBack(roots)
	h.followers(p, nobody)
	out := h.split(p)
	behind := map[ID]bool{} // steps that the run has left undone
	for _, s := range p.Steps {
		_, broken := failed[s.ID]
		behind[s.ID] = broken || slices.ContainsFunc(s.After, func(id ID) bool { return behind[id] })
	}
	out.Steps = slices.DeleteFunc(out.Steps, func(s Step) bool { return !behind[s.ID] })
	out.Later = nil
	return out
}

// nobody is missing but whom a plan holds back.
func nobody(ID) bool { return false }

// standIn is the step that keeps the place of one that is held; false when there is
// none to make. before has what each earlier step comes after.
func (h holding) standIn(s Step, before map[ID][]ID, missing func(ID) bool) (Step, bool) {
	root := h.by[s.ID]
	full, ok := wholeOf(s).(Standing)
	if !ok || s.Verb == Delete || !root.Reason.lacks() || root.ID == s.ID && root.Reason != WaitMissing && root.Reason != WaitDisputed {
		return Step{}, false
	}
	served, short := needsOf(s.Have.Spec), shortOf(s)
	lost := func(id ID) bool {
		_, held := h.by[id]
		return (held || missing(id) || slices.Contains(short, id)) && !slices.Contains(served, id)
	}
	want := full.StandIn(s.Have.Spec, lost)
	if want == nil || slices.ContainsFunc(needsOf(want), lost) {
		return Step{}, false
	}
	if s.Verb == Update && DigestOf(want) == s.Have.Digest {
		h.kept[s.ID] = true
		return Step{}, false
	}
	after, ok := h.afterwards(s, before)
	if !ok {
		return Step{}, false
	}
	h.kept[s.ID] = true
	s.Want, s.For, s.After = want, full, after
	explainStep(&s)
	return s, true
}

// awaited are the steps that a step comes after, without those for which something
// stands in that does what it waits for: it frees a slot, or moves away from what is
// deleted. What is made, and replaces nothing, needs only that something is there: a
// port of a gateway whose map of requests lacks one backend is opened for all others.
func (h holding) awaited(s Step, deletes map[ID]bool) []ID {
	fresh := s.Verb == Create && !slices.ContainsFunc(s.After, func(id ID) bool { return deletes[id] })
	return slices.DeleteFunc(slices.Clone(s.After), func(id ID) bool {
		if slices.Contains(needsOf(s.Want), id) {
			return fresh && h.kept[id]
		}
		in, ok := h.in[id]
		return ok && !slices.Contains(needsOf(in.Want), s.ID)
	})
}

// afterwards are the steps that a stand-in comes after: those of the step that it
// stands in for, and in the place of a need that is held what that one comes after.
// It is false where something else than a need is held: a slot that is not free yet.
func (h holding) afterwards(s Step, before map[ID][]ID) ([]ID, bool) {
	var out []ID
	needs, todo := needsOf(s.Want), slices.Clone(s.After)
	for n := 0; n < len(todo); n++ {
		id := todo[n]
		if _, held := h.by[id]; !held {
			out = append(out, id)
			continue
		}
		if n < len(s.After) && !slices.Contains(needs, id) {
			if _, ok := h.in[id]; !ok {
				return nil, false
			}
			out = append(out, id)
			continue
		}
		todo = append(todo, before[id]...)
	}
	slices.SortFunc(out, ID.Compare)
	return slices.Compact(out), true
}

// shortOf are the needs that a step which stands in does without already.
func shortOf(s Step) []ID {
	if s.For == nil {
		return nil
	}
	has := needsOf(s.Want)
	return slices.DeleteFunc(slices.Clone(needsOf(s.For)), func(id ID) bool { return slices.Contains(has, id) })
}

// wholeOf is what a step is for in the end.
func wholeOf(s Step) Spec {
	if s.For != nil {
		return s.For
	}
	return s.Want
}

// StandsIn says whether have is just what stands in for want while something that
// have does not need is missing.
func StandsIn(want, have Spec) bool {
	full, ok := want.(Standing)
	if !ok || have == nil {
		return false
	}
	served := needsOf(have)
	lost := func(id ID) bool { return !slices.Contains(served, id) }
	if !slices.ContainsFunc(needsOf(want), lost) {
		return false
	}
	in := full.StandIn(nil, lost)
	return in != nil && DigestOf(in) == DigestOf(have)
}
