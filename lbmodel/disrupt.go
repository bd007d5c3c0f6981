package lbmodel

import "slices"

// TornDown are the deletes that belong to a teardown which the user must agree
// to: those with an Impact, and those of the parts that need what they delete.
// Each comes with the step that has the Impact. The parts of a balancer whose
// address goes are not disruptive by themselves, but without them it is no
// balancer any more: they wait, or go, together.
func TornDown(p Plan) map[ID]Step {
	out := map[ID]Step{}
	for _, s := range slices.Backward(p.Steps) { // what is needed is deleted after its users
		switch {
		case s.Verb != Delete:
		case s.Impact != "":
			out[s.ID] = s
		default:
			for _, need := range needsOf(s.Have.Spec) {
				if root, torn := out[need]; torn {
					out[s.ID] = root
					break
				}
			}
		}
	}
	return out
}
