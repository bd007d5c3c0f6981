package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fake "gatehouse.dev/fake/settings"
	aws "gatehouse.dev/providers/aws/settings"
	gcp "gatehouse.dev/providers/gcp/settings"
)

// GatewayParameters says how a class of gateways, or one gateway, is run. A
// GatewayClass names it in spec.parametersRef and thereby sets floors; a Gateway
// names one in spec.infrastructure.parametersRef and may only be stricter: of
// the two, the stricter value holds for each field.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=gatehouse,shortName=gwparams
// +kubebuilder:printcolumn:name="Apply",type=string,JSONPath=`.spec.apply`
// +kubebuilder:printcolumn:name="Drift",type=string,JSONPath=`.spec.drift`
// +kubebuilder:printcolumn:name="Deletion",type=string,JSONPath=`.spec.deletion`
// +kubebuilder:printcolumn:name="MinimumTLS",type=string,JSONPath=`.spec.minimumBackendTLS`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GatewayParameters struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the operator wants.
	// +required
	Spec GatewayParametersSpec `json:"spec"`
}

// GatewayParametersSpec is what an operator decides about gateways. The defaults
// are the values that a Gateway API user without parameters would expect.
//
// A new provider adds its field below and its has() to this one rule:
// +kubebuilder:validation:XValidation:rule="[has(self.aws), has(self.fake), has(self.gcp)].exists_one(section, section)",message="set exactly one provider section: aws, fake, gcp"
type GatewayParametersSpec struct {
	// Apply says whether changes of structure are made at once (Auto), when a
	// person approved them in the GatewayPlan (Approve), or never (PlanOnly).
	// Endpoints, renewed certificates and added roots always flow. What would
	// interrupt somebody waits for a person under Auto too.
	// +optional
	// +kubebuilder:default=Auto
	Apply ApplyMode `json:"apply,omitempty"`

	// Drift says whether a change that somebody else made to our cloud resources
	// is undone (Repair) or only told (Report).
	// +optional
	// +kubebuilder:default=Repair
	Drift DriftMode `json:"drift,omitempty"`

	// Deletion says what happens to the cloud resources when the Gateway goes:
	// they are deleted (Delete), left in place and forgotten (Retain), or the
	// deletion waits (Protect).
	// +optional
	// +kubebuilder:default=Delete
	Deletion DeletionPolicy `json:"deletion,omitempty"`

	// MinimumBackendTLS is the least protection of the hop from the gateway to a
	// backend. What is below it is refused, never programmed. Unverified, in a
	// class's parameters, also says that encryption alone will do for a
	// BackendTLSPolicy where the provider verifies no backend at all; without it
	// such a policy is refused.
	// +optional
	// +kubebuilder:default=None
	MinimumBackendTLS TLSLevel `json:"minimumBackendTLS,omitempty"`

	// ForeignEndpoints says whether endpoint addresses may be programmed that no
	// Pod of the same namespace has (CVE-2021-25740). It has no default here, so
	// that a Gateway's parameters that leave it out keep the class's; with
	// neither, Deny holds.
	// +optional
	ForeignEndpoints ForeignEndpoints `json:"foreignEndpoints,omitempty"`

	// ServiceTargets says what the load balancer of a Service sends to: its pods
	// (Pods), or the nodes, at the Service's node ports (Nodes). A port without a
	// node port is served by its pods in either case. It means nothing to Gateways.
	// +optional
	// +kubebuilder:default=Pods
	ServiceTargets ServiceTargets `json:"serviceTargets,omitempty"`

	// Held are cloud objects that somebody else owns and the gateway uses.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=64
	Held []HeldObject `json:"held,omitempty"`

	// AWS are the settings of Application and Network Load Balancers, gatehouse.dev/aws.
	// +optional
	AWS *aws.Settings `json:"aws,omitempty"`

	// Fake are the settings of the in-memory provider gatehouse.dev/fake.
	// +optional
	Fake *fake.Settings `json:"fake,omitempty"`

	// GCP are the settings of Google Cloud's Application and Network Load Balancers,
	// gatehouse.dev/gcp.
	// +optional
	GCP *gcp.Settings `json:"gcp,omitempty"`
}

// HeldObject names one cloud object in the cloud's own terms.
type HeldObject struct {
	// Kind is the provider's word for what it is, such as LoadBalancer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9]*$`
	Kind string `json:"kind"`

	// ID is the cloud's name of it: an ARN, a self link, an identifier.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	ID string `json:"id"`
}

// ApplyMode says who starts a change.
//
// +kubebuilder:validation:Enum=Auto;Approve;PlanOnly
type ApplyMode string

// The apply modes, loosest first.
const (
	ApplyAuto     ApplyMode = "Auto"
	ApplyApprove  ApplyMode = "Approve"
	ApplyPlanOnly ApplyMode = "PlanOnly"
)

// DriftMode says what is done about changes by others.
//
// +kubebuilder:validation:Enum=Repair;Report
type DriftMode string

// The drift modes; Report, which touches nothing, is the stricter.
const (
	DriftRepair DriftMode = "Repair"
	DriftReport DriftMode = "Report"
)

// DeletionPolicy says what becomes of cloud resources.
//
// +kubebuilder:validation:Enum=Delete;Retain;Protect
type DeletionPolicy string

// The deletion policies, loosest first.
const (
	DeletionDelete  DeletionPolicy = "Delete"
	DeletionRetain  DeletionPolicy = "Retain"
	DeletionProtect DeletionPolicy = "Protect"
)

// TLSLevel ranks how well the gateway's own hop to a backend is protected.
//
// +kubebuilder:validation:Enum=None;Unverified;ServerOnly;ClientAndServer
type TLSLevel string

// The levels, weakest first.
const (
	TLSNone            TLSLevel = "None"            // plain text
	TLSUnverified      TLSLevel = "Unverified"      // encrypted to whoever answers
	TLSServerOnly      TLSLevel = "ServerOnly"      // the backend's certificate is verified
	TLSClientAndServer TLSLevel = "ClientAndServer" // and the gateway shows its own
)

// ForeignEndpoints says what is done about endpoint addresses without a Pod.
//
// +kubebuilder:validation:Enum=Deny;Allow
type ForeignEndpoints string

// The choices for foreign endpoints. Empty means what the class says, or Deny.
const (
	ForeignDeny  ForeignEndpoints = "Deny"
	ForeignAllow ForeignEndpoints = "Allow"
)

// ServiceTargets says who the targets of a Service's load balancer are.
//
// +kubebuilder:validation:Enum=Pods;Nodes
type ServiceTargets string

// The targets.
const (
	TargetPods  ServiceTargets = "Pods"
	TargetNodes ServiceTargets = "Nodes"
)

// GatewayParametersList is a list of GatewayParameters.
//
// +kubebuilder:object:root=true
type GatewayParametersList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []GatewayParameters `json:"items"`
}
