package member

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"strings"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/consul"
	"gatehouse.dev/meshsync/issue"
	"gatehouse.dev/meshsync/issue/consulca"
	"gatehouse.dev/meshsync/issue/istioca"
	"gatehouse.dev/meshsync/issue/linkerdca"
	"gatehouse.dev/meshsync/istio"
	"gatehouse.dev/meshsync/linkerd"
	"gatehouse.dev/meshsync/spiffe"
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
	signer, err := m.signs(b, id)
	if err != nil {
		return nil, meshsync.Account{}, err
	}
	return m.counted(b.Binding.Name, signer), member.Account, nil
}

// signs is who signs for a binding.
func (m *Members) signs(b translate.Bound, id lbmodel.Identity) (meshsync.Issuer, error) {
	switch how := cmp.Or(b.Binding.Spec.Identity.Issuer, v1alpha1.IssuerMesh); how {
	case v1alpha1.IssuerMesh:
		return m.meshIssuer(b, id)
	case v1alpha1.IssuerWorkloadAPI:
		return m.agent(b), nil
	case v1alpha1.IssuerCertManager:
		return m.certManager(b)
	case v1alpha1.IssuerCSR:
		return m.signer(b)
	default:
		return nil, refusal(lbmodel.CodeUnsupported, "MeshBinding %s says identity.issuer: %s, whom nobody here can ask", b.Binding.Name, how)
	}
}

// meshIssuer is the CA of a binding's mesh.
func (m *Members) meshIssuer(b translate.Bound, id lbmodel.Identity) (meshsync.Issuer, error) {
	switch name := b.Binding.Spec.ControllerName; name {
	case istio.Controller:
		return m.istioCA(b)
	case linkerd.Controller:
		return m.linkerdCA(b)
	case consul.Controller:
		return m.consulCA(b, id)
	case spiffe.Controller:
		return m.agent(b), nil
	default:
		return nil, refusal(lbmodel.CodeUnsupported,
			"the CA of %s signs for nobody outside of the mesh: set identity.issuer of MeshBinding %s to CertManager, CertificateSigningRequest or WorkloadAPI, "+
				"or give the Gateway a Secret with a client certificate in spec.tls.backend.clientCertificateRef", name, b.Binding.Name)
	}
}

func (m *Members) istioCA(b translate.Bound) (meshsync.Issuer, error) {
	server := istiodName(b.Mesh)
	at, err := m.at(b, place{server + ":15012", server})
	if err != nil {
		return nil, err
	}
	return istioca.New(istioca.Config{Address: at.address, ServerName: at.name, Roots: m.serverRoots(b), Token: m.config.Tokens, Now: m.config.Clock}), nil
}

// linkerdCA proves to be a name of the mesh, and not the one that it is dialled by.
func (m *Members) linkerdCA(b translate.Bound) (meshsync.Issuer, error) {
	at, err := m.at(b, place{address: "linkerd-identity-headless." + b.Mesh.Namespace + ".svc:8080"})
	if err != nil {
		return nil, err
	}
	return linkerdca.New(linkerdca.Config{
		Address: at.address, Namespace: b.Mesh.Namespace, TrustDomain: b.Mesh.TrustDomain, ServerName: b.Binding.Spec.Identity.ServerName,
		Roots: m.serverRoots(b), Token: m.config.Tokens, Now: m.config.Clock,
	}), nil
}

func (m *Members) consulCA(b translate.Bound, id lbmodel.Identity) (meshsync.Issuer, error) {
	spec := &b.Binding.Spec.Identity
	switch {
	case b.Mesh.TrustDomain == "":
		return nil, refusal(lbmodel.CodeUnresolved, "the trust domain of Consul's CA is not known, so nobody can say what the gateway is called there: name it in a trustBundles entry of kind ConsulRoots")
	case spec.ServerRoots == "":
		return nil, refusal(lbmodel.CodeInvalid, "Consul's servers have a CA of their own, and without it no token is shown to them: put it into identity.serverRoots of MeshBinding %s", b.Binding.Name)
	}
	server := "server." + datacenterOf(id) + ".consul"
	at, err := m.at(b, place{"consul-server." + cmp.Or(b.Mesh.Namespace, "consul") + ".svc:8503", server})
	if err != nil {
		return nil, err
	}
	config := consulca.Config{Address: at.address, ServerName: at.name, Roots: m.serverRoots(b), Now: m.config.Clock}
	switch {
	case spec.AuthMethod != "":
		config.Login = &consulca.Login{Method: spec.AuthMethod, Bearer: func(ctx context.Context, account meshsync.Account) (string, error) {
			return m.config.Tokens(ctx, "", account)
		}}
	case spec.TokenSecret != "" && m.config.Around.Secret == nil:
		return nil, refusal(lbmodel.CodeUnsupported, "nobody here reads Secret %s of identity.tokenSecret", spec.TokenSecret)
	case spec.TokenSecret != "":
		config.Token = func(ctx context.Context, _ meshsync.Account) (string, error) {
			return m.config.Around.Secret(ctx, spec.TokenSecret)
		}
	}
	return consulca.New(config), nil
}

// datacenterOf is the datacenter in a name of Consul's, or the usual one.
func datacenterOf(id lbmodel.Identity) string {
	_, rest, _ := strings.Cut(id.SPIFFEID, "/dc/")
	dc, _, _ := strings.Cut(rest, "/")
	return cmp.Or(dc, "dc1")
}

// istiodName is the name that istiod proves, also by the address of its Service.
func istiodName(mesh meshsync.Mesh) string {
	name := "istiod"
	if mesh.Revision != "" && mesh.Revision != "default" {
		name += "-" + mesh.Revision
	}
	return name + "." + mesh.Namespace + ".svc"
}

// place is where a CA is and the name that it must prove.
type place struct{ address, name string }

// at is the binding's place, or its dialect's. A binding that gives a DNS name means a
// server of that name; one that gives an IP address means the usual server at another
// place.
func (m *Members) at(b translate.Bound, usual place) (place, error) {
	spec := &b.Binding.Spec.Identity
	out := usual
	if spec.Address != "" {
		host, _, err := net.SplitHostPort(string(spec.Address))
		if err != nil {
			return place{}, refusal(lbmodel.CodeInvalid, "identity.address %q is no host:port: %w", spec.Address, err)
		}
		out.address = string(spec.Address)
		if _, err := netip.ParseAddr(host); err != nil {
			out.name = strings.TrimSuffix(host, ".")
		}
	}
	return place{m.config.Reach(out.address), cmp.Or(spec.ServerName, out.name)}, nil
}

// serverRoots are those that the CA's server is verified by, asked at every call: the
// binding's for it, or the mesh's.
func (m *Members) serverRoots(b translate.Bound) func() *x509.CertPool {
	if text := b.Binding.Spec.Identity.ServerRoots; text != "" {
		own := x509.NewCertPool()
		own.AppendCertsFromPEM([]byte(text)) // of a text that has none nobody is believed
		return func() *x509.CertPool { return own }
	}
	return func() *x509.CertPool { return pool(m.roots(issuerOf(b.Binding.Name))) }
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

func (m *Members) counted(binding string, signer meshsync.Issuer) meshsync.Issuer {
	c := counted{signer, func(code lbmodel.Code) { m.config.Issued(binding, code) }}
	if holder, ok := signer.(issue.Holder); ok {
		return countedHolder{c, holder}
	}
	return c
}

// Issue implements meshsync.Issuer.
func (c counted) Issue(ctx context.Context, r meshsync.Request) (meshsync.Issued, error) {
	out, err := c.Issuer.Issue(ctx, r)
	c.tell(lbmodel.CodeOf(err))
	return out, err
}

// countedHolder is the same of one that makes the keys.
type countedHolder struct {
	counted
	holder issue.Holder
}

// Hold implements issue.Holder.
func (c countedHolder) Hold(ctx context.Context, r meshsync.Request) (tls.Certificate, error) {
	out, err := c.holder.Hold(ctx, r)
	c.tell(lbmodel.CodeOf(err))
	return out, err
}
