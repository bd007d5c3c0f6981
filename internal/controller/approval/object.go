package approval

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
)

// The kinds of objects that have plans.
const (
	kindGateway = "Gateway"
	kindService = "Service"
)

// ErrNameTaken is that the name of a Service's plan is that of a Gateway's, which
// has it by right: nobody can approve the Service's until one of them is renamed.
var ErrNameTaken = errors.New("its name is taken")

// Approval is what a person has agreed to for an object.
type Approval struct {
	Hash string // of the plan; "" is nothing
	// Running is an approved plan that an earlier process may have left half done.
	Running *v1alpha1.ApprovedPlan
}

// Of is the approval that counts for a Gateway or a Service: a plan which is not
// this very object's, but one's of the same name that is gone, is nobody's approval.
func Of(obj metav1.Object, plan *v1alpha1.GatewayPlan) Approval {
	if plan == nil || !mine(obj, plan) {
		return Approval{}
	}
	return Approval{Hash: plan.Spec.Approve, Running: plan.Status.Running}
}

// NameOf is the name of the plan of a Gateway or a Service.
func NameOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: v1alpha1.PlanName(kindOf(obj), obj.GetName())}
}

// WayOut tells people how to approve what waits, given the plan as a cache has it.
func WayOut(obj metav1.Object, plan *v1alpha1.GatewayPlan) string {
	if plan != nil && taken(obj, plan) {
		return "nobody can approve it, since GatewayPlan " + plan.Name + " is that of Gateway " + plan.Name + ": rename one of the two"
	}
	return "read GatewayPlan " + NameOf(obj).Name + ", and approve it with: gatehouse approve " + argument(obj)
}

// argument is an object as the command line takes it. A namespace may be called as
// a kind is.
func argument(obj metav1.Object) string {
	name := obj.GetNamespace() + "/" + obj.GetName()
	switch {
	case kindOf(obj) == kindService:
		return "service/" + name
	case obj.GetNamespace() == "service" || obj.GetNamespace() == "gateway":
		return "gateway/" + name
	default:
		return name
	}
}

func kindOf(obj metav1.Object) string {
	if _, is := obj.(*corev1.Service); is {
		return kindService
	}
	return kindGateway
}

// titleOf is an object in an error.
func titleOf(obj metav1.Object) string {
	return kindOf(obj) + " " + obj.GetNamespace() + "/" + obj.GetName()
}

func ownerOf(obj metav1.Object) metav1.OwnerReference {
	version := gwv1.GroupVersion.String()
	if kindOf(obj) == kindService {
		version = corev1.SchemeGroupVersion.String()
	}
	yes, no := true, false
	return metav1.OwnerReference{
		APIVersion: version, Kind: kindOf(obj), Name: obj.GetName(), UID: obj.GetUID(), Controller: &yes, BlockOwnerDeletion: &no,
	}
}

// mine says whether a plan is this very object's. One that we did not make is
// replaced: only its creation may write what it hangs on, since the right to update
// it is the right to approve.
func mine(obj metav1.Object, plan *v1alpha1.GatewayPlan) bool {
	return metav1.IsControlledBy(plan, obj)
}

// taken says whether a Service's plan would have the name of a Gateway's that is
// there. The other way round the Gateway takes it: its plan can have no other name.
func taken(obj metav1.Object, plan *v1alpha1.GatewayPlan) bool {
	owner := metav1.GetControllerOf(plan)
	return kindOf(obj) == kindService && owner != nil && owner.Kind == kindGateway && owner.Name == plan.Name
}
