package events

import (
	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/lbmodel"
)

// Reason is why there is an event: one of those below.
type Reason string

// The reasons on Gateways and what belongs to them.
const (
	Applied         Reason = "Applied"
	ApplyFailed     Reason = "ApplyFailed"
	AccessDenied    Reason = "AccessDenied"
	QuotaExceeded   Reason = "QuotaExceeded"
	Conflict        Reason = "Conflict"
	NameTaken       Reason = "NameTaken"
	PlanReady       Reason = "PlanReady"
	PlanStale       Reason = "PlanStale"
	DriftDetected   Reason = "DriftDetected"
	DriftCorrected  Reason = "DriftCorrected"
	DeletionBlocked Reason = "DeletionBlocked"
	Deleted         Reason = "Deleted"
	PausedByUser    Reason = "Paused"
)

// The reasons on Services, which are those of Kubernetes' service controller.
const (
	EnsuringLoadBalancer     Reason = "EnsuringLoadBalancer"
	EnsuredLoadBalancer      Reason = "EnsuredLoadBalancer"
	UpdatedLoadBalancer      Reason = "UpdatedLoadBalancer"
	UnavailableLoadBalancer  Reason = "UnAvailableLoadBalancer"
	SyncLoadBalancerFailed   Reason = "SyncLoadBalancerFailed"
	DeletingLoadBalancer     Reason = "DeletingLoadBalancer"
	DeletedLoadBalancer      Reason = "DeletedLoadBalancer"
	DeleteLoadBalancerFailed Reason = "DeleteLoadBalancerFailed"
)

// Row says what a reason means.
type Row struct {
	Reason  Reason
	Service bool   // on Services; others are on Gateways
	Type    string // Normal or Warning
	Means   string
}

// Reasons is the table of all reasons, in the order to read them.
func Reasons() []Row {
	const normal, warning = corev1.EventTypeNormal, corev1.EventTypeWarning
	return []Row{
		{Applied, false, normal, "The cloud was changed and is as it should be; the message counts the changes."},
		{ApplyFailed, false, warning, "A change failed for a reason that has no reason of its own here; it is tried again."},
		{AccessDenied, false, warning, "The cloud refuses an action to our credentials; the message names the action."},
		{QuotaExceeded, false, warning, "A limit of the cloud account is reached; the message names it."},
		{Conflict, false, warning, "Something that the gateway needs is taken, or was changed by somebody else; the message names it."},
		{NameTaken, false, warning, "The name of the Gateway's Service belongs to an object of somebody else, which stays as it is."},
		{PlanReady, false, normal, "A plan waits for approval; the message names its GatewayPlan."},
		{PlanStale, false, normal, "A plan that waited for approval no longer fits and was replaced."},
		{DriftDetected, false, warning, "Somebody changed the gateway's resources in the cloud, and parameters say drift: Report; the message counts them."},
		{DriftCorrected, false, normal, "Such a change was set right."},
		{DeletionBlocked, false, warning, "The Gateway cannot go yet; the message says what keeps it."},
		{Deleted, false, normal, "All that the Gateway had in the cloud is gone."},
		{PausedByUser, false, normal, "The annotation gatehouse.dev/paused stops all changes, deletion too."},
		{EnsuringLoadBalancer, true, normal, "A load balancer is being made or changed for the Service."},
		{EnsuredLoadBalancer, true, normal, "The Service has its load balancer."},
		{UpdatedLoadBalancer, true, normal, "The load balancer sends to other targets now."},
		{UnavailableLoadBalancer, true, warning, "There is no target that the load balancer could send to."},
		{SyncLoadBalancerFailed, true, warning, "The load balancer could not be made or changed; it is tried again."},
		{DeletingLoadBalancer, true, normal, "The load balancer is being deleted."},
		{DeletedLoadBalancer, true, normal, "The load balancer is gone."},
		{DeleteLoadBalancerFailed, true, warning, "The load balancer could not be deleted; it is tried again."},
	}
}

// failure is the reason of an error on a Gateway. Errors that only mean to wait,
// and those that conditions tell about the objects, are no events: "".
func failure(err error) Reason {
	switch lbmodel.CodeOf(err) {
	case lbmodel.CodeDenied:
		return AccessDenied
	case lbmodel.CodeQuota:
		return QuotaExceeded
	case lbmodel.CodeConflict:
		return Conflict
	case lbmodel.CodeInternal, lbmodel.CodeUnknown:
		return ApplyFailed
	default:
		return ""
	}
}
