package cloud

import (
	"gatehouse.dev/lbmodel"
)

// StandIn implements lbmodel.Standing: a rule without its pools answers in its
// place, and one that serves somebody goes on as it is.
func (r *Rule) StandIn(have lbmodel.Spec, missing func(lbmodel.ID) bool) lbmodel.Spec {
	if there, ok := have.(*Rule); ok {
		moved := *there
		moved.Number = r.Number
		if !lbmodel.StandsIn(r, &moved) {
			return &moved
		}
	}
	out := *r
	out.Action = lbmodel.Rule{Match: r.Match, Action: r.Action}.Without(func(pool string) bool {
		id, _ := refID(pool)
		return missing(id)
	}, r.whole)
	return &out
}
