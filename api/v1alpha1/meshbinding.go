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
//
// +kubebuilder:validation:XValidation:rule="!has(self.identity) || !has(self.identity.socket) || has(self.identity.issuer) && self.identity.issuer == 'WorkloadAPI' || self.controllerName == 'spiffe.io/spiffe'",message="identity.socket is where a SPIFFE agent is: set identity.issuer to WorkloadAPI, or remove it"
// +kubebuilder:validation:XValidation:rule="!has(self.identity) || !(has(self.identity.tokenSecret) || has(self.identity.authMethod)) || self.controllerName == 'consul.hashicorp.com/consul'",message="identity.tokenSecret and identity.authMethod are for Consul's CA: the CAs of other meshes know a gateway by its ServiceAccount's token; remove them"
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

	// Probe has backends dialled as the gateways' providers would dial them.
	// +optional
	// +kubebuilder:default={}
	Probe MeshProbe `json:"probe,omitzero"`
}

// MeshProbe says what is made of real TLS handshakes with a few pods of each group.
type MeshProbe struct {
	// Mode says what a handshake decides. Off makes none. Report shows what fails in
	// the conditions of routes and Services, and keeps a root that backends still use.
	// Gate also holds back what would change how backends are spoken to, until it was
	// seen to work; the manager must reach the pods for that.
	// +optional
	// +kubebuilder:default=Off
	Mode ProbeMode `json:"mode,omitempty"`
}

// ProbeMode says what a handshake decides.
//
// +kubebuilder:validation:Enum=Off;Report;Gate
type ProbeMode string

// The modes.
const (
	ProbeOff    ProbeMode = "Off"
	ProbeReport ProbeMode = "Report"
	ProbeGate   ProbeMode = "Gate"
)

// GatewaySelection selects gateways by their namespace.
type GatewaySelection struct {
	// NamespaceSelector selects the namespaces whose Gateways join. A selector that
	// matches no namespace selects no gateway; an empty one ({}) selects all.
	// +required
	NamespaceSelector metav1.LabelSelector `json:"namespaceSelector"`
}

// TrustBundleReference names an object that holds CA certificates, or a place outside
// of the cluster where they are asked for.
//
// +kubebuilder:validation:XValidation:rule="(self.kind == 'ConfigMap') == has(self.__namespace__)",message="a ConfigMap needs a namespace; a ClusterTrustBundle has none, nor has a place outside"
// +kubebuilder:validation:XValidation:rule="self.kind == 'ConfigMap' || !has(self.key)",message="only a ConfigMap has keys: remove key"
// +kubebuilder:validation:XValidation:rule="(self.kind in ['SPIFFEBundle', 'WorkloadAPI', 'ConsulRoots']) == has(self.url)",message="SPIFFEBundle, WorkloadAPI and ConsulRoots need a url; objects have none"
// +kubebuilder:validation:XValidation:rule="self.kind != 'SPIFFEBundle' || !has(self.url) || self.url.startsWith('https://')",message="a SPIFFE bundle endpoint is asked by https: url must begin with https://"
// +kubebuilder:validation:XValidation:rule="self.kind != 'WorkloadAPI' || !has(self.url) || self.url.startsWith('unix:/')",message="a SPIFFE agent is asked at its socket: url must begin with unix:/"
// +kubebuilder:validation:XValidation:rule="self.kind != 'ConsulRoots' || !has(self.url) || ['https://', 'http://', 'grpcs://', 'grpc://'].exists(p, self.url.startsWith(p))",message="Consul is asked by https or grpcs, on the same host also by http or grpc: url must begin so"
// +kubebuilder:validation:XValidation:rule="self.kind == 'SPIFFEBundle' || !has(self.profile) && !has(self.spiffeID)",message="only a SPIFFE bundle endpoint has a profile and a spiffeID: remove them"
// +kubebuilder:validation:XValidation:rule="(has(self.profile) && self.profile == 'https_spiffe') == has(self.spiffeID)",message="profile https_spiffe needs the spiffeID of the server; https_web has none"
// +kubebuilder:validation:XValidation:rule="!has(self.spiffeID) || has(self.serverRoots)",message="profile https_spiffe needs serverRoots to begin with"
// +kubebuilder:validation:XValidation:rule="self.kind in ['SPIFFEBundle', 'ConsulRoots'] || !has(self.serverRoots)",message="only SPIFFEBundle and ConsulRoots have a server to verify: remove serverRoots"
// +kubebuilder:validation:XValidation:rule="self.kind == 'ConsulRoots' || !has(self.serverName) && !has(self.tokenSecret)",message="only Consul has a serverName and a tokenSecret: remove them"
type TrustBundleReference struct {
	// Kind is ClusterTrustBundle or ConfigMap, for an object; or, for a place outside of
	// the cluster, SPIFFEBundle (a SPIFFE bundle endpoint), WorkloadAPI (a SPIFFE agent)
	// or ConsulRoots (the roots of Consul's CA). Roots are public: no Secret.
	// +required
	// +kubebuilder:validation:Enum=ClusterTrustBundle;ConfigMap;SPIFFEBundle;WorkloadAPI;ConsulRoots
	Kind string `json:"kind"`

	// Name is the object's; of a place outside the trust domain whose roots are wanted,
	// such as prod.example, or <uuid>.consul.
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

	// URL is where a place outside is asked: a bundle endpoint by https; a SPIFFE agent
	// at its socket, unix:///run/spire/agent.sock; Consul's HTTP API by https, or its
	// gRPC by grpcs, with the port.
	// +optional
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`

	// Profile is how a bundle endpoint proves who it is: https_web as any web server, or
	// https_spiffe by spiffeID. Unset is https_web.
	// +optional
	// +kubebuilder:validation:Enum=https_web;https_spiffe
	Profile string `json:"profile,omitempty"`

	// SPIFFEID is whom a bundle endpoint of profile https_spiffe must prove to be, in the
	// trust domain itself.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^spiffe://[^/]+/.+$`
	SPIFFEID string `json:"spiffeID,omitempty"`

	// ServerRoots are CA certificates, in PEM, that the server itself is verified by; of
	// profile https_spiffe only until a bundle was read. Unset are the system's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	ServerRoots string `json:"serverRoots,omitempty"`

	// ServerName is what Consul's own certificate names, where that is not the URL's
	// host: server.dc1.consul.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`

	// TokenSecret is a Secret in the manager's own namespace, of type
	// gatehouse.dev/consul-token, whose entry token is what Consul is told. The command
	// line has it from the environment, CONSUL_HTTP_TOKEN. Unset is to ask as anonymous.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TokenSecret string `json:"tokenSecret,omitempty"`
}

// SecretTypeConsulToken is the type of the Secrets that TokenSecret may name: no other
// leaves the cluster by a MeshBinding.
const SecretTypeConsulToken = "gatehouse.dev/consul-token"

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
