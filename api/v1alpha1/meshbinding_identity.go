package v1alpha1

import gwv1 "sigs.k8s.io/gateway-api/apis/v1"

// MeshIdentity says who signs the gateways' client certificates. A Gateway's own
// spec.tls.backend.clientCertificateRef comes before it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.issuer) || self.issuer != 'CertificateSigningRequest' || has(self.signerName)",message="issuer CertificateSigningRequest needs signerName: who shall sign"
// +kubebuilder:validation:XValidation:rule="has(self.issuer) && self.issuer == 'CertificateSigningRequest' || !has(self.signerName)",message="signerName is for issuer CertificateSigningRequest: set that issuer, or remove signerName"
// +kubebuilder:validation:XValidation:rule="!has(self.issuer) || self.issuer != 'CertManager' || has(self.issuerRef)",message="issuer CertManager needs issuerRef: which Issuer or ClusterIssuer shall sign"
// +kubebuilder:validation:XValidation:rule="has(self.issuer) && self.issuer == 'CertManager' || !has(self.issuerRef)",message="issuerRef is for issuer CertManager: set that issuer, or remove issuerRef"
// +kubebuilder:validation:XValidation:rule="!has(self.issuer) || self.issuer in ['Mesh', 'WorkloadAPI'] || !has(self.socket)",message="socket is for issuer WorkloadAPI: set that issuer, or remove socket"
// +kubebuilder:validation:XValidation:rule="!has(self.issuer) || self.issuer == 'Mesh' || !(has(self.address) || has(self.serverRoots) || has(self.serverName))",message="address, serverRoots and serverName say where the mesh's own CA is: set issuer to Mesh, or remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.issuer) || self.issuer == 'Mesh' || !(has(self.tokenSecret) || has(self.authMethod))",message="tokenSecret and authMethod are for the mesh's own CA: set issuer to Mesh, or remove them"
// +kubebuilder:validation:XValidation:rule="!has(self.tokenSecret) || !has(self.authMethod)",message="tokenSecret has a token that is there, authMethod gets one for each certificate: set one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.issuer) || self.issuer != 'WorkloadAPI' || !has(self.duration)",message="how long an agent's certificates live is said by its SPIRE server: remove duration"
type MeshIdentity struct {
	// Issuer is who signs: the mesh's own CA (Mesh), a SPIFFE agent (WorkloadAPI),
	// cert-manager (CertManager), a signer of the cluster (CertificateSigningRequest)
	// or nobody (None). Whoever it is, its certificates must lead to roots that the
	// binding trusts. For spiffe.io/spiffe Mesh is the agent; Kuma's CA signs for
	// nobody outside of the mesh.
	// +optional
	// +kubebuilder:default=Mesh
	Issuer MeshIssuer `json:"issuer,omitempty"`

	// Duration is the life asked for. Unset is the issuer's own, and a week with
	// Istio's CA. Linkerd and Consul do not let it be asked for.
	// +optional
	Duration *gwv1.Duration `json:"duration,omitempty"`

	// Address is where the mesh's CA is asked, host:port. Unset is where the mesh's
	// own installation has it: istiod.<namespace>.svc:15012,
	// linkerd-identity-headless.<namespace>.svc:8080 or
	// consul-server.<namespace>.svc:8503. A DNS name is also the name that the server
	// must prove; at an IP address it must prove its usual one, and Linkerd's service
	// anywhere. For istio-csr it is cert-manager-istio-csr.cert-manager.svc:443.
	// +optional
	Address HostPort `json:"address,omitempty"`

	// ServerRoots are CA certificates, in PEM, that the server at Address is verified by.
	// Unset are the mesh's own roots. Consul's servers have others, which must be given
	// here: tls.crt of the Secret <release>-ca-cert.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	ServerRoots string `json:"serverRoots,omitempty"`

	// ServerName is what the server at Address must prove to be, where that is not what
	// Address says: server.dc1.consul. Linkerd's service must prove to be
	// linkerd-identity.<namespace>.serviceaccount.identity.<namespace>.<trust domain>.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`

	// TokenSecret is a Secret in the manager's own namespace, of type
	// gatehouse.dev/consul-token, whose entry token is an ACL token with service:write on
	// the gateways' services, which Consul's CA is shown. Unset is to ask as anonymous.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TokenSecret string `json:"tokenSecret,omitempty"`

	// AuthMethod is the auth method of Consul at which each gateway's ServiceAccount
	// logs in for a token, which is given back when the certificate is there. With
	// consul-k8s it is <release>-k8s-auth-method.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][-A-Za-z0-9_]*$`
	AuthMethod string `json:"authMethod,omitempty"`

	// SignerName is who signs CertificateSigningRequests. Kubernetes' own signers give
	// access to the cluster and are refused.
	// +optional
	// +kubebuilder:validation:MinLength=5
	// +kubebuilder:validation:MaxLength=571
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('kubernetes.io/')",message="signers of kubernetes.io sign for Kubernetes itself: name a signer whose CA the mesh trusts"
	SignerName string `json:"signerName,omitempty"`

	// IssuerRef is which of cert-manager's issuers signs.
	// +optional
	IssuerRef *IssuerReference `json:"issuerRef,omitempty"`

	// Socket is where the agent's Workload API is: unix:///run/spire/agent.sock. Unset is
	// where the manager's environment has it, SPIFFE_ENDPOINT_SOCKET.
	// +optional
	// +kubebuilder:validation:MaxLength=120
	// +kubebuilder:validation:Pattern=`^unix:///[^?#\s]+$`
	Socket string `json:"socket,omitempty"`
}

// IssuerReference names an issuer of cert-manager, or of one of its external issuers.
// One that has a namespace must be in the controller's own, where the requests are
// made.
type IssuerReference struct {
	// Group is the issuer's API group.
	// +optional
	// +kubebuilder:default=cert-manager.io
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`

	// Kind is Issuer, ClusterIssuer, or an external issuer's.
	// +optional
	// +kubebuilder:default=ClusterIssuer
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// Name is the issuer's.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// HostPort is a DNS name or an IP address (IPv6 in brackets), a colon and a port.
//
// +kubebuilder:validation:MinLength=3
// +kubebuilder:validation:MaxLength=261
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\]):([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$`
type HostPort string

// MeshIssuer names who signs a gateway's certificate.
//
// +kubebuilder:validation:Enum=Mesh;WorkloadAPI;CertManager;CertificateSigningRequest;None
type MeshIssuer string

// The issuers.
const (
	IssuerMesh        MeshIssuer = "Mesh"
	IssuerWorkloadAPI MeshIssuer = "WorkloadAPI"
	IssuerCertManager MeshIssuer = "CertManager"
	IssuerCSR         MeshIssuer = "CertificateSigningRequest"
	IssuerNone        MeshIssuer = "None"
)
