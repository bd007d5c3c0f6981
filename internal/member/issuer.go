package member

import (
	"cmp"
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"strings"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue/istioca"
	"gatehouse.dev/meshsync/issue/linkerdca"
	"gatehouse.dev/meshsync/istio"
	"gatehouse.dev/meshsync/linkerd"
)

// issuer implements issue.Config.Issuers.
func (m *Members) issuer(id lbmodel.Identity) (meshsync.Issuer, meshsync.Account, error) {
	b, ok := m.bound(id.Issuer)
	if !ok || b.Dialect == nil {
		return nil, meshsync.Account{}, refusal(lbmodel.CodeUnresolved, "there is no %s of a mesh that is known", id.Issuer)
	}
	_, member, err := m.gateway(id)
	if err != nil {
		return nil, meshsync.Account{}, err
	}
	if how := cmp.Or(b.Binding.Spec.Identity.Issuer, v1alpha1.IssuerMesh); how != v1alpha1.IssuerMesh {
		return nil, meshsync.Account{}, refusal(lbmodel.CodeUnsupported,
			"%s says identity.issuer: %s, which is not asked here: use Mesh, or give the Gateway a Secret in spec.tls.backend.clientCertificateRef", id.Issuer, how)
	}
	signer, err := m.meshIssuer(b)
	if err != nil {
		return nil, meshsync.Account{}, err
	}
	return counted{signer, func(code lbmodel.Code) { m.config.Issued(b.Binding.Name, code) }}, member.Account, nil
}

// meshIssuer is the CA of a binding's mesh.
func (m *Members) meshIssuer(b translate.Bound) (meshsync.Issuer, error) {
	roots := func() *x509.CertPool { return pool(m.roots(issuerOf(b.Binding.Name))) }
	switch name := b.Binding.Spec.ControllerName; name {
	case istio.Controller:
		server := istiodName(b.Mesh)
		address, proves, err := m.address(b.Binding.Spec.Identity.Address, server+":15012", server)
		if err != nil {
			return nil, err
		}
		return istioca.New(istioca.Config{Address: address, ServerName: proves, Roots: roots, Token: m.config.Tokens, Now: m.config.Clock}), nil
	case linkerd.Controller:
		address, _, err := m.address(b.Binding.Spec.Identity.Address, "linkerd-identity-headless."+b.Mesh.Namespace+".svc:8080", "")
		if err != nil {
			return nil, err
		}
		return linkerdca.New(linkerdca.Config{
			Address: address, Namespace: b.Mesh.Namespace, TrustDomain: b.Mesh.TrustDomain, Roots: roots, Token: m.config.Tokens, Now: m.config.Clock,
		}), nil
	default:
		return nil, refusal(lbmodel.CodeUnsupported,
			"nobody here asks the CA of %s: give the Gateway a Secret with a client certificate in spec.tls.backend.clientCertificateRef", name)
	}
}

// istiodName is the name that istiod proves, also by the address of its Service.
func istiodName(mesh meshsync.Mesh) string {
	name := "istiod"
	if mesh.Revision != "" && mesh.Revision != "default" {
		name += "-" + mesh.Revision
	}
	return name + "." + mesh.Namespace + ".svc"
}

// address is where a CA is and the name that it must prove: the binding's, or its
// dialect's. A binding that gives a DNS name means a server of that name; one that
// gives an IP address means the usual server at another place.
func (m *Members) address(given v1alpha1.HostPort, usual, name string) (address, proves string, err error) {
	if given == "" {
		return m.config.Reach(usual), name, nil
	}
	host, _, err := net.SplitHostPort(string(given))
	if err != nil {
		return "", "", refusal(lbmodel.CodeInvalid, "identity.address %q is no host:port: %w", given, err)
	}
	if _, err := netip.ParseAddr(host); err != nil {
		name = strings.TrimSuffix(host, ".")
	}
	return m.config.Reach(string(given)), name, nil
}

// pool is the roots as TLS has them; nil for none.
func pool(roots []lbmodel.Root) *x509.CertPool {
	if len(roots) == 0 {
		return nil
	}
	out := x509.NewCertPool()
	for _, r := range roots {
		out.AppendCertsFromPEM([]byte(r.PEM))
	}
	return out
}

// counted is an issuer whose answers are counted.
type counted struct {
	meshsync.Issuer
	tell func(lbmodel.Code)
}

// Issue implements meshsync.Issuer.
func (c counted) Issue(ctx context.Context, r meshsync.Request) (meshsync.Issued, error) {
	out, err := c.Issuer.Issue(ctx, r)
	c.tell(lbmodel.CodeOf(err))
	return out, err
}
