package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MeshBindingStatus is a bounded summary; the command line shows all of it.
type MeshBindingStatus struct {
	// Conditions are Accepted, ResolvedRefs and Programmed.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Roots are the mesh's CA certificates as the gateways hold them.
	// +optional
	// +listType=map
	// +listMapKey=sha256
	// +kubebuilder:validation:MaxItems=32
	Roots []RootStatus `json:"roots,omitempty"`

	// Gateways counts members.
	// +optional
	Gateways GatewayCounts `json:"gateways,omitzero"`

	// Groups counts groups of pods (same Service port and ServiceAccount) by the
	// path that traffic takes to them.
	// +optional
	Groups GroupCounts `json:"groups,omitzero"`

	// Blocked are the first groups that traffic cannot reach, worst first.
	// +optional
	// +listType=map
	// +listMapKey=service
	// +listMapKey=port
	// +kubebuilder:validation:MaxItems=16
	Blocked []BlockedGroup `json:"blocked,omitempty"`
}

// RootStatus is one CA certificate.
type RootStatus struct {
	// SHA256 is the certificate's fingerprint: SHA-256 of the DER, in hex.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	SHA256 string `json:"sha256"`

	// NotAfter is when the certificate ends.
	// +required
	NotAfter metav1.Time `json:"notAfter"`

	// State is how far it is.
	// +required
	State RootState `json:"state"`
}

// RootState says where in a rotation a root is.
//
// +kubebuilder:validation:Enum=Adding;Trusted;Removing
type RootState string

// The states in the order that a root passes them.
const (
	RootAdding   RootState = "Adding"   // not yet at every member
	RootTrusted  RootState = "Trusted"  // at every member
	RootRemoving RootState = "Removing" // gone at the source, kept for the overlap
)

// GatewayCounts counts a binding's gateways.
type GatewayCounts struct {
	// Selected are the gateways in the selected namespaces.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Selected int32 `json:"selected"`

	// Joined are those of them that hold the roots and an identity.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Joined int32 `json:"joined"`

	// NextExpiry is when the first of their client certificates ends.
	// +optional
	NextExpiry *metav1.Time `json:"nextExpiry,omitempty"`
}

// GroupCounts counts groups of pods by path.
type GroupCounts struct {
	// Direct groups are reached by the gateway's own TLS.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Direct int32 `json:"direct"`

	// LandingPad groups are reached through the landing pad.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LandingPad int32 `json:"landingPad"`

	// Blocked groups are not reached.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Blocked int32 `json:"blocked"`

	// NotMeshed groups are outside the mesh and selected by nobody.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NotMeshed int32 `json:"notMeshed"`
}

// BlockedGroup is a group that traffic cannot reach, and why.
type BlockedGroup struct {
	// Service is namespace/name.
	// +required
	// +kubebuilder:validation:MaxLength=317
	Service string `json:"service"`

	// Port is the Service's.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`

	// Reason is the one that routes' BackendTLS condition gives.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	Reason string `json:"reason"`
}
