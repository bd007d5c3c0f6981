package lbmodel

import (
	"maps"
	"slices"
)

// TornDown are the deletes that belong to a teardown which the user must agree
// to: those with an Impact, and those of the parts that need what they delete.
// Each comes with the step that has the Impact. The parts of a balancer whose
// address goes are not disruptive by themselves, but without them it is no
// balancer any more: they wait, or go, together.
func TornDown(p Plan) map[ID]Step {
	roots := map[ID]Step{}
	for _, s := range p.Steps {
		if s.Verb == Delete && s.Impact != "" {
			roots[s.ID] = s
		}
	}
	return torn(p, roots)
}

// torn are roots, which are deletes, and the deletes of the parts that need what those
// delete, each with its root.
func torn(p Plan, roots map[ID]Step) map[ID]Step {
	out := maps.Clone(roots)
	for _, s := range slices.Backward(p.Steps) { // what is needed is deleted after its users
		if _, root := out[s.ID]; root || s.Verb != Delete {
			continue
		}
		for _, need := range needsOf(s.Have.Spec) {
			if root, is := out[need]; is {
				out[s.ID] = root
				break
			}
		}
	}
	return out
}

// addressed are the deletes of what has an address, of owners that stay, and of what it
// stands on, each with that root.
func addressed(p Plan, stays func(Owner) bool) map[ID]Step {
	out := map[ID]Step{}
	for _, s := range p.Steps { // users are deleted before what they need
		if s.Verb != Delete {
			continue
		}
		if len(s.Have.Facts.Addresses) > 0 && stays(s.Have.Owner) {
			out[s.ID] = s
		}
		if root, is := out[s.ID]; is {
			for _, need := range needsOf(s.Have.Spec) {
				out[need] = root
			}
		}
	}
	deletes := map[ID]bool{}
	for _, s := range p.Steps {
		deletes[s.ID] = s.Verb == Delete
	}
	maps.DeleteFunc(out, func(id ID, _ Step) bool { return !deletes[id] })
	return out
}
