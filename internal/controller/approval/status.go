package approval

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

// The conditions of a GatewayPlan.
const (
	ConditionApproved = "Approved" // what waits may run; True also when nothing waits
	ConditionApplied  = "Applied"  // everything that was let through is done, and nothing waits
)

// The reasons of the conditions.
const (
	ReasonApprovalRequired = "ApprovalRequired" // nobody has approved
	ReasonPlanChanged      = "PlanChanged"      // what was approved is not what waits
	ReasonPlanOnly         = "PlanOnly"         // parameters say that nothing is done
	ReasonApproved         = "Approved"         // the plan shown last was approved
	ReasonNothingWaits     = "NothingWaits"     // there is nothing to approve
	ReasonWaiting          = "Waiting"
	ReasonApplied          = "Applied"
	ReasonApplying         = "Applying"
	ReasonFailed           = "Failed"
)

// status is what the object should say, given what it says.
func (w writer) status(plan *v1alpha1.GatewayPlan) v1alpha1.GatewayPlanStatus {
	out := *plan.Status.DeepCopy()
	out.ObservedGeneration, out.Running = w.pass.Object.GetGeneration(), w.pass.Running
	if !w.pass.Applying {
		out.Plan = w.summary()
	}
	for _, c := range []metav1.Condition{w.approved(plan, out.Plan), w.applied()} {
		c.ObservedGeneration, c.LastTransitionTime = plan.Generation, w.now
		meta.SetStatusCondition(&out.Conditions, c)
	}
	return out
}

// summary is what waits, or nil.
func (w writer) summary() *v1alpha1.PlanSummary {
	if len(w.waiting.Steps) == 0 {
		return nil
	}
	n := w.waiting.Summary()
	return &v1alpha1.PlanSummary{
		Hash: Hash(w.waiting), Add: int32(n.Add), Change: int32(n.Change), Destroy: int32(n.Destroy), Text: text(w.waiting),
	}
}

// approved is the condition Approved.
func (w writer) approved(before *v1alpha1.GatewayPlan, now *v1alpha1.PlanSummary) metav1.Condition {
	out := metav1.Condition{Type: ConditionApproved, Status: metav1.ConditionFalse}
	switch {
	case now != nil && w.pass.Mode == v1alpha1.ApplyPlanOnly:
		out.Reason, out.Message = ReasonPlanOnly, "The parameters say PlanOnly: this is shown and never done."
	case now != nil && before.Spec.Approve == "":
		out.Reason, out.Message = ReasonApprovalRequired, "Nobody has approved this plan: run gatehouse approve "+argument(w.pass.Object)+", or set spec.approve to its hash."
	case now != nil && before.Spec.Approve != now.Hash:
		out.Reason, out.Message = ReasonPlanChanged, "The plan is not the one that was approved: read it again."+forgotten(w.pass.Running)
	case now != nil, w.wasApproved(before):
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, ReasonApproved, "The plan is approved."+forgotten(w.pass.Running)
	default:
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, ReasonNothingWaits, "Nothing waits for approval."
	}
	return out
}

// forgotten says of an approved plan that too little of it is kept.
func forgotten(running *v1alpha1.ApprovedPlan) string {
	if running == nil || int(running.Total) == len(running.Steps) {
		return ""
	}
	return fmt.Sprintf(" What was approved has %d steps, and no more than %d are kept: after a restart of the controller what is left asks again.",
		running.Total, keptSteps)
}

// wasApproved says whether the last plan that was shown has run by approval.
func (w writer) wasApproved(before *v1alpha1.GatewayPlan) bool {
	if before.Spec.Approve == "" {
		return false
	}
	if w.pass.Running != nil && w.pass.Running.Hash == before.Spec.Approve {
		return true
	}
	if shown := before.Status.Plan; shown != nil {
		return shown.Hash == before.Spec.Approve
	}
	c := meta.FindStatusCondition(before.Status.Conditions, ConditionApproved)
	return c != nil && c.Reason == ReasonApproved
}

// applied is the condition Applied.
func (w writer) applied() metav1.Condition {
	switch steps := len(w.waiting.Steps); {
	case steps > 0:
		return metav1.Condition{Type: ConditionApplied, Status: metav1.ConditionFalse, Reason: ReasonWaiting, Message: fmt.Sprintf("Steps that wait: %d.", steps)}
	case w.pass.Applying, lbmodel.CodeOf(w.pass.Err) == lbmodel.CodePending:
		return metav1.Condition{Type: ConditionApplied, Status: metav1.ConditionFalse, Reason: ReasonApplying, Message: "The plan runs."}
	case w.pass.Err != nil:
		return metav1.Condition{Type: ConditionApplied, Status: metav1.ConditionFalse, Reason: ReasonFailed, Message: cut(w.pass.Err.Error(), messageLimit)}
	default:
		return metav1.Condition{Type: ConditionApplied, Status: metav1.ConditionTrue, Reason: ReasonApplied, Message: "Nothing of the plan is left to do."}
	}
}

// messageLimit is what a person reads of a condition, in bytes; the API's limit is
// 32768.
const messageLimit = 1024

func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const dots = "…"
	end := limit - len(dots)
	for end > 0 && text[end]&0xC0 == 0x80 { // not amid a character
		end--
	}
	return text[:end] + dots
}
