package lbmodel

// WaitReason classifies a Wait, for programs; Why is for people.
type WaitReason string

// The reasons. The first group is found by Diff, the second is given by policies,
// the third by an account.
const (
	WaitMissing WaitReason = "Missing"     // something that is not ours to make is not there
	WaitForeign WaitReason = "Foreign"     // the object of that name belongs to somebody else
	WaitSlot    WaitReason = "SlotHeld"    // an exclusive slot is held by something that will not let go
	WaitInUse   WaitReason = "InUse"       // it would be deleted, but something that stays uses it
	WaitNoOrder WaitReason = "NoSafeOrder" // it waits for itself through others

	WaitReported WaitReason = "ReportOnly"
	WaitPaused   WaitReason = "Paused"
	WaitApproval WaitReason = "ApprovalRequired"
	WaitRetained WaitReason = "Retained"
	WaitRefused  WaitReason = "NotAccepted" // what it is part of is not accepted as a whole
	WaitLinger   WaitReason = "Lingering"

	WaitUnread WaitReason = "Unread" // what it hangs on could not be read: a document is broken

	WaitProbe WaitReason = "ProbeFailed" // backends were not seen to take what would change

	WaitDisputed WaitReason = "Disputed" // it depends on something shared that two gateways describe differently
	WaitPending  WaitReason = "Pending"  // the cloud accepted it and is not finished
	WaitRenewal  WaitReason = "Renewal"  // it is as wanted, and due to be renewed then: this holds nothing up
)

// Unmet says whether something that is wanted is not there because of the wait.
// What renews some day is as wanted; what lingers, is retained or is still used by
// somebody is only left over.
func (w Wait) Unmet() bool {
	switch w.Reason {
	case WaitRenewal, WaitLinger, WaitRetained, WaitInUse:
		return false
	default:
		return true
	}
}
