package reconcile

import (
	"time"

	"gatehouse.dev/lbmodel"
)

// leaveRefused is the policy for gateways that are not accepted themselves
// (translate.Untouched): of a new one nothing is made, and what is there of one that
// was accepted before goes on being served. What flows, endpoints and certificates,
// does so all the same.
func leaveRefused(p lbmodel.Plan, now time.Time) lbmodel.Plan {
	held := lbmodel.HoldStructure(p, now)
	for i := len(p.Later); i < len(held.Later); i++ {
		held.Later[i].Reason = lbmodel.WaitRefused
		held.Later[i].Why = "is left as it is: its Gateway is not accepted, see its status"
	}
	return held
}
