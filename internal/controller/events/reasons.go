package events

import (
	"slices"

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

	MeshJoined          Reason = "MeshJoined"
	IdentityRefused     Reason = "IdentityRefused"
	CertificateExpiring Reason = "CertificateExpiring"
	ProbeFailed         Reason = "ProbeFailed"
)

// The reasons on MeshBindings.
const (
	TrustStale   Reason = "TrustStale"
	RootRemoved  Reason = "RootRemoved"
	RecordFailed Reason = "RecordFailed"
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

// On is the kind of object that a reason is told of.
type On string

// The kinds.
const (
	Gateways     On = "Gateways"
	Services     On = "Services"
	MeshBindings On = "MeshBindings"
)

// Row says what a reason means.
type Row struct {
	Reason Reason
	On     On     // what it is told of
	Type   string // Normal or Warning
	Means  string
}

// Reasons is the table of all reasons, in the order to read them.
func Reasons() []Row {
	const normal, warning = corev1.EventTypeNormal, corev1.EventTypeWarning
	return []Row{
		{Applied, Gateways, normal, "The cloud was changed and is as it should be; the message counts the changes."},
		{ApplyFailed, Gateways, warning, "A change failed for a reason that has no reason of its own here; it is tried again."},
		{AccessDenied, Gateways, warning, "The cloud refuses an action to our credentials; the message names the action."},
		{QuotaExceeded, Gateways, warning, "A limit of the cloud account is reached; the message names it."},
		{Conflict, Gateways, warning, "Something that the gateway needs is taken, or was changed by somebody else; the message names it."},
		{NameTaken, Gateways, warning, "The name of the Gateway's Service belongs to an object of somebody else, which stays as it is."},
		{PlanReady, Gateways, normal, "A plan waits for approval; the message names its GatewayPlan and how to approve it. On Services too."},
		{PlanStale, Gateways, normal, "A plan that waited for approval no longer fits and was replaced. On Services too."},
		{DriftDetected, Gateways, warning, "Somebody changed the gateway's resources in the cloud, and parameters say drift: Report; the message counts them."},
		{DriftCorrected, Gateways, normal, "Such a change was set right."},
		{DeletionBlocked, Gateways, warning, "The Gateway cannot go yet; the message says what keeps it. On Services too."},
		{Deleted, Gateways, normal, "All that the Gateway had in the cloud is gone."},
		{PausedByUser, Gateways, normal, "The annotation gatehouse.dev/paused stops all changes, deletion too."},
		{MeshJoined, Gateways, normal, "The gateway is a member of its meshes: it has their roots and its certificates."},
		{IdentityRefused, Gateways, warning, "A mesh's CA refuses the gateway a certificate, or what it signed cannot be believed; the message says why."},
		{CertificateExpiring, Gateways, warning, "A client certificate ends soon and could not be renewed; the message says when."},
		{ProbeFailed, Gateways, warning, "Pods were dialled as the gateway would dial them, and do not take it; the message says which, and what is wrong."},
		{EnsuringLoadBalancer, Services, normal, "A load balancer is being made or changed for the Service."},
		{EnsuredLoadBalancer, Services, normal, "The Service has its load balancer."},
		{UpdatedLoadBalancer, Services, normal, "The load balancer sends to other targets now."},
		{UnavailableLoadBalancer, Services, warning, "There is no target that the load balancer could send to."},
		{SyncLoadBalancerFailed, Services, warning, "The load balancer could not be made or changed; it is tried again."},
		{DeletingLoadBalancer, Services, normal, "The load balancer is being deleted."},
		{DeletedLoadBalancer, Services, normal, "The load balancer is gone."},
		{DeleteLoadBalancerFailed, Services, warning, "The load balancer could not be deleted; it is tried again."},
		{TrustStale, MeshBindings, warning, "The mesh's roots cannot be read; gateways keep those that they have. The message names the source."},
		{RootRemoved, MeshBindings, normal, "A root that the mesh does not publish any more has left the gateways: the end of a rotation."},
		{RecordFailed, MeshBindings, warning, "What is known of meshes' roots cannot be written to ConfigMap gatehouse-roots; the message says why, and what to do."},
	}
}

// states are the reasons that tell how something stands, and not what was done. A
// gateway may be in several at a time, and every pass finds them again.
func states() []Reason {
	return []Reason{
		PlanReady, DriftDetected, NameTaken, DeletionBlocked, PausedByUser,
		ApplyFailed, AccessDenied, QuotaExceeded, Conflict,
		IdentityRefused, CertificateExpiring, TrustStale, RecordFailed,
		EnsuringLoadBalancer, DeletingLoadBalancer, UnavailableLoadBalancer, SyncLoadBalancerFailed, DeleteLoadBalancerFailed,
	}
}

func (r Reason) lasts() bool { return slices.Contains(states(), r) }

// ends are the states that are over when something was done.
func (r Reason) ends() []Reason {
	switch {
	case r.lasts():
		return nil
	case r == PlanStale:
		return []Reason{PlanReady}
	case r == MeshJoined:
		return []Reason{IdentityRefused, CertificateExpiring}
	case r == RootRemoved:
		return []Reason{TrustStale}
	case r == UpdatedLoadBalancer:
		return []Reason{UnavailableLoadBalancer, SyncLoadBalancerFailed}
	default:
		return states()
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
