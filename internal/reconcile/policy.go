package reconcile

import (
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// Careful keeps back what somebody must agree to, and with a delete everything
// that is deleted on the way to it: a listener that stays keeps its rules, or it
// would answer 404 to whoever was not asked.
func Careful(p lbmodel.Plan, _ time.Time) lbmodel.Plan {
	roots, at := map[lbmodel.ID]lbmodel.Wait{}, map[lbmodel.ID]lbmodel.Step{}
	for _, s := range p.Steps {
		at[s.ID] = s
	}
	// Steps stand after those that they wait for, so backwards a held delete is
	// met before what leads to it.
	for _, s := range slices.Backward(p.Steps) {
		if s.Impact != "" {
			roots[s.ID] = lbmodel.Wait{ID: s.ID, Reason: lbmodel.WaitApproval, Why: "needs agreement: " + s.Impact}
		}
		root, held := roots[s.ID]
		if !held || s.Verb != lbmodel.Delete {
			continue
		}
		for _, id := range s.After {
			if before := at[id]; before.Verb == lbmodel.Delete && before.Impact == "" {
				roots[id] = lbmodel.Wait{ID: id, Reason: root.Reason, Why: "goes with " + s.ID.String() + ", which " + root.Why}
			}
		}
	}
	return lbmodel.KeepBack(p, roots)
}
