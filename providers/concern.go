package providers

import (
	"slices"

	"gatehouse.dev/lbmodel"
)

// Concerns are what of a plan is each owner's business: what it owns or did own,
// and the shared and foreign resources that it needs. What becomes of the rest of
// a plan says nothing about an owner.
func (p Plan) Concerns() map[lbmodel.Owner]map[lbmodel.ID]bool {
	out := map[lbmodel.Owner]map[lbmodel.ID]bool{}
	note := func(owner lbmodel.Owner, ids ...lbmodel.ID) {
		if out[owner] == nil {
			out[owner] = map[lbmodel.ID]bool{}
		}
		for _, id := range ids {
			out[owner][id] = true
		}
	}
	for id, r := range p.placed {
		if r.Hold == lbmodel.Own {
			note(r.Owner, id)
			note(r.Owner, needsOf(r)...)
		}
	}
	for _, s := range slices.Concat(p.Steps, p.Held.Steps) {
		if s.Verb == lbmodel.Delete && s.Hold == lbmodel.Own {
			note(s.Have.Owner, s.ID)
		}
	}
	return out
}
