package memcloud

import (
	"slices"

	"gatehouse.dev/lbmodel"
)

// StandIn implements lbmodel.Standing.
func (r Rule) StandIn(have lbmodel.Spec, missing func(lbmodel.ID) bool) lbmodel.Spec {
	if r.bug == LosesPlace {
		return nil
	}
	if there, ok := have.(Rule); ok {
		there.Priority = r.Priority
		if !lbmodel.StandsIn(r, there) {
			return there
		}
	}
	r.Shares = slices.Clone(r.Shares)
	for i, s := range r.Shares {
		if missing(s.Backend) {
			r.Shares[i] = Share{Fixed: 500, Weight: s.Weight}
		}
	}
	return r
}
