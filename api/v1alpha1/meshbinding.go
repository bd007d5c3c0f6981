package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// MeshBinding lets selected gateways take part in one service mesh. It is named
// as the mesh's XMesh object and gives way to Gateway API's own fields when
// GEP-3951 lands. Absence of a match is never permission: a gateway that no
// binding selects is no member, and a backend that a binding selects is never
// spoken to below the binding's minimum.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories=gatehouse,shortName=mb
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Controller",type=string,JSONPath=`.spec.controllerName`
// +kubebuilder:printcolumn:name="Programmed",type=string,JSONPath=`.status.conditions[?(@.type=="Programmed")].status`
// +kubebuilder:printcolumn:name="Joined",type=integer,JSONPath=`.status.gateways.joined`
// +kubebuilder:printcolumn:name="Direct",type=integer,JSONPath=`.status.groups.direct`
// +kubebuilder:printcolumn:name="Blocked",type=integer,JSONPath=`.status.groups.blocked`
// +kubebuilder:printcolumn:name="NextExpiry",type=date,JSONPath=`.status.gateways.nextExpiry`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MeshBinding struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is which gateways join which mesh, and how.
	// +required
	Spec MeshBindingSpec `json:"spec"`

	// Status is what became of it.
	// +optional
	Status MeshBindingStatus `json:"status,omitzero"`
}

// MeshBindingSpec says which mesh, which gateways and which backends.
type MeshBindingSpec struct {
	// ControllerName is the mesh's, as in its XMesh, and picks the dialect that is
	// spoken: istio.io/istio, linkerd.io/linkerd and so on.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="controllerName is immutable: create another MeshBinding"
	ControllerName string `json:"controllerName"`

	// Gateways are the gateways that become members.
	// +required
	Gateways GatewaySelection `json:"gateways"`

	// LabelSelector names the Routes, by their own labels or their namespace's,
	// whose backends must be reached by mutual TLS (GEP-3951). Unset selects none
	// that are not meshed by themselves.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// TrustBundles are where the mesh's roots come from. Unset is the dialect's
	// own place.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	TrustBundles []TrustBundleReference `json:"trustBundles,omitempty"`

	// Identity is who the gateways are in the mesh.
	// +optional
	// +kubebuilder:default={}
	Identity MeshIdentity `json:"identity,omitzero"`

	// MinimumTLS is the least protection towards meshed backends; nothing below it
	// is programmed.
	// +optional
	// +kubebuilder:default=ClientAndServer
	MinimumTLS TLSLevel `json:"minimumTLS,omitempty"`

	// Overlap is how long an old root stays trusted beside a new one. Unset is the
	// longest life of a leaf in the dialect, which this may lengthen but never
	// shorten.
	// +optional
	Overlap *gwv1.Duration `json:"overlap,omitempty"`

	// LandingPad is a gateway of the mesh that takes traffic for backends which
	// cannot be reached directly. Unset leaves those Blocked.
	// +optional
	LandingPad *LandingPad `json:"landingPad,omitempty"`
}

// GatewaySelection selects gateways by their namespace.
type GatewaySelection struct {
	// NamespaceSelector selects the namespaces whose Gateways join. A selector that
	// matches no namespace selects no gateway; an empty one ({}) selects all.
	// +required
	NamespaceSelector metav1.LabelSelector `json:"namespaceSelector"`
}

// TrustBundleReference names an object that holds CA certificates.
//
// +kubebuilder:validation:XValidation:rule="(self.kind == 'ConfigMap') == has(self.__namespace__)",message="a ConfigMap needs a namespace; a ClusterTrustBundle has none"
// +kubebuilder:validation:XValidation:rule="self.kind == 'ConfigMap' || !has(self.key)",message="only a ConfigMap has keys: remove key"
type TrustBundleReference struct {
	// Kind is ClusterTrustBundle or ConfigMap. Roots are public: no Secret.
	// +required
	// +kubebuilder:validation:Enum=ClusterTrustBundle;ConfigMap
	Kind string `json:"kind"`

	// Name is the object's.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace is the ConfigMap's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Key is the ConfigMap's entry that holds the PEM text. Unset is ca.crt.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// MeshIdentity says who signs the gateways' client certificates. A Gateway's own
// spec.tls.backend.clientCertificateRef comes before it.
type MeshIdentity struct {
	// Issuer is who signs: the mesh's CA, cert-manager, the cluster's signers, or
	// nobody. Mesh is asked of Istio and Linkerd; CertManager and
	// CertificateSigningRequest are not asked yet, and a gateway that needs them is
	// told so.
	// +optional
	// +kubebuilder:default=Mesh
	Issuer MeshIssuer `json:"issuer,omitempty"`

	// Duration is the life asked for. Unset is the dialect's.
	// +optional
	Duration *gwv1.Duration `json:"duration,omitempty"`

	// Address is where the mesh's CA is asked, host:port. Unset is where the mesh's
	// own installation has it: istiod.<namespace>.svc:15012 or
	// linkerd-identity-headless.<namespace>.svc:8080. A DNS name is also the name that
	// the server must prove; at an IP address it must prove its usual one.
	// +optional
	Address HostPort `json:"address,omitempty"`
}

// HostPort is a DNS name or an IP address (IPv6 in brackets), a colon and a port.
//
// +kubebuilder:validation:MinLength=3
// +kubebuilder:validation:MaxLength=261
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\]):([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$`
type HostPort string

// MeshIssuer names who signs a gateway's certificate.
//
// +kubebuilder:validation:Enum=Mesh;CertManager;CertificateSigningRequest;None
type MeshIssuer string

// The issuers.
const (
	IssuerMesh        MeshIssuer = "Mesh"
	IssuerCertManager MeshIssuer = "CertManager"
	IssuerCSR         MeshIssuer = "CertificateSigningRequest"
	IssuerNone        MeshIssuer = "None"
)

// LandingPad names the listener of a Gateway inside the mesh.
type LandingPad struct {
	// Namespace is the Gateway's.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// Name is the Gateway's.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// SectionName is the listener's.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SectionName string `json:"sectionName"`
}

// MeshBindingList is a list of MeshBindings.
//
// +kubebuilder:object:root=true
type MeshBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MeshBinding `json:"items"`
}
