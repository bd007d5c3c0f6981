package member

import (
	"cmp"
	"context"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/consul"
	"gatehouse.dev/meshsync/issue/kubeca"
	"gatehouse.dev/meshsync/issue/spiffeca"
	"gatehouse.dev/meshsync/spiffe"
)

// Around is what issuers need of where this process runs. What is nil or empty is not
// to be had there, and bindings that need it are told so.
type Around struct {
	// Namespace is the process' own: that of CertificateRequests, and of Secrets.
	Namespace string
	// Requests are the cluster's CertificateSigningRequests, and Objects cert-manager's
	// CertificateRequests of Namespace.
	Requests kubeca.Requests
	Objects  kubeca.Objects
	// Secret reads what a Secret of Namespace has for Consul, by its name. Its errors are
	// lbmodel.Errors with a code.
	Secret func(ctx context.Context, name string) (string, error)
	// Socket is where the SPIFFE agent is whose binding does not say (SPIFFE_ENDPOINT_SOCKET).
	Socket string
}

// agent is the SPIFFE agent of a binding.
func (m *Members) agent(b translate.Bound) *spiffeca.Agent {
	return spiffeca.New(cmp.Or(b.Binding.Spec.Identity.Socket, m.config.Around.Socket))
}

// certManager asks one of cert-manager's issuers.
func (m *Members) certManager(b translate.Bound) (meshsync.Issuer, error) {
	ref := b.Binding.Spec.Identity.IssuerRef
	switch {
	case ref == nil:
		return nil, refusal(lbmodel.CodeInvalid, "MeshBinding %s: identity.issuer CertManager needs identity.issuerRef", b.Binding.Name)
	case m.config.Around.Objects == nil:
		return nil, m.nowhere(b, "CertificateRequests of cert-manager")
	}
	return kubeca.NewCertManager(kubeca.CertManagerConfig{
		Objects: m.config.Around.Objects, Namespace: m.config.Around.Namespace, Now: m.config.Clock,
		Issuer: kubeca.IssuerRef{Group: ref.Group, Kind: ref.Kind, Name: ref.Name},
	}), nil
}

// signer asks a signer of the cluster.
func (m *Members) signer(b translate.Bound) (meshsync.Issuer, error) {
	name := b.Binding.Spec.Identity.SignerName
	switch {
	case name == "":
		return nil, refusal(lbmodel.CodeInvalid, "MeshBinding %s: identity.issuer CertificateSigningRequest needs identity.signerName", b.Binding.Name)
	case m.config.Around.Requests == nil:
		return nil, m.nowhere(b, "CertificateSigningRequests")
	}
	return kubeca.NewCSR(m.config.Around.Requests, name), nil
}

// nowhere refuses what only a cluster has.
func (m *Members) nowhere(b translate.Bound, what string) error {
	how := cmp.Or(b.Binding.Spec.Identity.Issuer, v1alpha1.IssuerMesh)
	return refusal(lbmodel.CodeUnsupported, "MeshBinding %s says identity.issuer: %s, and there is no cluster here that has %s: "+
		"let a controller in the cluster serve the gateway, or give it a Secret in spec.tls.backend.clientCertificateRef", b.Binding.Name, how, what)
}

// Alone says whether the issuer of a binding can be asked without a cluster: it takes
// no object and no token of a ServiceAccount.
func Alone(b *v1alpha1.MeshBinding) bool {
	id := &b.Spec.Identity
	switch cmp.Or(id.Issuer, v1alpha1.IssuerMesh) {
	case v1alpha1.IssuerWorkloadAPI:
		return true
	case v1alpha1.IssuerMesh:
		return b.Spec.ControllerName == spiffe.Controller || b.Spec.ControllerName == consul.Controller && id.AuthMethod == ""
	default:
		return false
	}
}
