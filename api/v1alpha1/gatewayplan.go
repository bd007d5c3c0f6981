package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ServicePlanSuffix ends the name of a Service's GatewayPlan. No Service has a dot
// in its name, so it can be taken off again.
const ServicePlanSuffix = ".service"

// PlanName is the name of the GatewayPlan of a Gateway or Service: that of the
// Gateway, or that of the Service and [ServicePlanSuffix].
func PlanName(kind, name string) string {
	if kind == "Service" {
		return name + ServicePlanSuffix
	}
	return name
}

// GatewayPlan shows what would be done for a Gateway or a Service and waits for a
// person, and takes the approval. It has the namespace and name of its Gateway, or
// its Service's name with ".service" behind it; the owner reference says which of
// the two it is.
//
// With apply: Approve or PlanOnly in the parameters it shows every change of
// structure. With apply: Auto there is one only while steps wait that would
// interrupt somebody, such as a port that closes: these need a person's word under
// Auto too.
//
// The controller creates it and writes its status; only people write its spec. So
// the right to update gatewayplans, without the status, is the right to approve,
// and nothing else needs it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=gatehouse,shortName=gwplan
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Add",type=integer,JSONPath=`.status.plan.add`
// +kubebuilder:printcolumn:name="Change",type=integer,JSONPath=`.status.plan.change`
// +kubebuilder:printcolumn:name="Destroy",type=integer,JSONPath=`.status.plan.destroy`
// +kubebuilder:printcolumn:name="Approved",type=string,JSONPath=`.status.conditions[?(@.type=="Approved")].reason`
// +kubebuilder:printcolumn:name="Applied",type=string,JSONPath=`.status.conditions[?(@.type=="Applied")].reason`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.conditions[?(@.type=="Applied")].lastTransitionTime`
// +kubebuilder:printcolumn:name="Hash",type=string,JSONPath=`.status.plan.hash`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GatewayPlan struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the approval.
	// +optional
	Spec GatewayPlanSpec `json:"spec,omitzero"`

	// Status is the plan.
	// +optional
	Status GatewayPlanStatus `json:"status,omitzero"`
}

// GatewayPlanSpec is what a person decides.
type GatewayPlanSpec struct {
	// Approve is the status.plan.hash that was read and agreed to. A plan that has
	// changed since has another hash and stays unapproved.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	Approve string `json:"approve,omitempty"`
}

// GatewayPlanStatus is what the controller would do.
type GatewayPlanStatus struct {
	// ObservedGeneration is that of the Gateway which the plan is for. Services have
	// none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Approved and Applied.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Plan is unset when nothing waits.
	// +optional
	Plan *PlanSummary `json:"plan,omitempty"`

	// Running is a plan that was approved, from its first step until its last is
	// done. A controller that starts anew goes on with what is left of it.
	// +optional
	Running *ApprovedPlan `json:"running,omitempty"`
}

// ApprovedPlan is what was approved, by digests alone.
type ApprovedPlan struct {
	// Hash is the plan's, as in spec.approve.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	Hash string `json:"hash"`

	// Total counts the steps that were approved.
	// +required
	// +kubebuilder:validation:Minimum=1
	Total int32 `json:"total"`

	// Steps are the SHA-256 of the steps, in hex and sorted. Of a plan with more
	// than 1024 none is kept: what is left of it asks again after a restart.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:Pattern=`^[0-9a-f]{64}$`
	Steps []string `json:"steps,omitempty"`
}

// PlanSummary is a plan as a person reads it. It holds no secret.
type PlanSummary struct {
	// Hash identifies the plan: SHA-256 of its canonical form, in hex. Equal plans
	// have equal hashes.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	Hash string `json:"hash"`

	// Add, Change and Destroy count the steps.
	// +required
	// +kubebuilder:validation:Minimum=0
	Add int32 `json:"add"`
	// +required
	// +kubebuilder:validation:Minimum=0
	Change int32 `json:"change"`
	// +required
	// +kubebuilder:validation:Minimum=0
	Destroy int32 `json:"destroy"`

	// Text is the plan as the command line prints it. One that is too long ends
	// with a line that says how many steps are left out; the hash covers them.
	// +required
	// +kubebuilder:validation:MaxLength=65536
	Text string `json:"text"`
}

// GatewayPlanList is a list of GatewayPlans.
//
// +kubebuilder:object:root=true
type GatewayPlanList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []GatewayPlan `json:"items"`
}
