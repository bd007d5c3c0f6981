package lbmodel

import (
	"slices"
	"time"
)

// Renewals are when those wanted resources that are there must be renewed,
// although nobody changes them: one WaitRenewal each, sorted by ID. They hold up
// nothing; they tell a loop when to plan again.
func Renewals(want, have Graph) []Wait {
	var out []Wait
	for id, w := range want {
		spec, renews := w.Spec.(Renewing)
		h, there := have[id]
		if !renews || !there || w.Hold == External {
			continue
		}
		if at := spec.RenewAt(h.Facts); !at.IsZero() {
			out = append(out, Wait{ID: id, Until: at, Reason: WaitRenewal, Why: "renews"})
		}
	}
	slices.SortFunc(out, func(a, b Wait) int { return a.ID.Compare(b.ID) })
	return out
}

// At is when a leaf is due: Before its end or, where Before is not set, after two
// thirds of its life.
func (r RenewRule) At(leaf Leaf) time.Time {
	before := time.Duration(r.Before)
	if before == 0 {
		before = leaf.NotAfter.Sub(leaf.NotBefore) / 3
	}
	return leaf.NotAfter.Add(-before)
}

// Waiting are the waits that hold something up. What is only due some day
// (WaitRenewal) does not: a plan that has nothing else is settled.
func (p Plan) Waiting() []Wait {
	var out []Wait
	for _, w := range p.Later {
		if w.Reason != WaitRenewal {
			out = append(out, w)
		}
	}
	return out
}

// Next is when the first of the plan's waits ends and it is worth planning again;
// zero when none has an end. Of an Outcome ask its Held.
func (p Plan) Next() time.Time {
	var next time.Time
	for _, w := range p.Later {
		if !w.Until.IsZero() && (next.IsZero() || w.Until.Before(next)) {
			next = w.Until
		}
	}
	return next
}
