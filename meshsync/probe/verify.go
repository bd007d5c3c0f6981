package probe

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
)

// verify checks the other side as a load balancer would, and keeps what is wrong in
// p.check. The error ends the handshake.
func (p *probing) verify(s tls.ConnectionState) error {
	p.saw(s)
	if len(p.target.Roots) == 0 || len(s.PeerCertificates) == 0 {
		return nil
	}
	leaf := s.PeerCertificates[0]
	p.check = p.chain(leaf, s.PeerCertificates[1:])
	if p.check.outcome == "" {
		p.check = p.name(leaf)
	}
	if p.check.outcome != "" {
		return errors.New(p.check.detail)
	}
	return nil
}

func (p *probing) chain(leaf *x509.Certificate, between []*x509.Certificate) failure {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, r := range p.target.Roots {
		roots.AppendCertsFromPEM([]byte(r.PEM))
	}
	for _, c := range between {
		intermediates.AddCert(c)
	}
	chains, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, CurrentTime: p.target.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err == nil {
		chain := chains[0]
		p.result.Root = certificateOf(chain[len(chain)-1])
		for _, chain := range chains {
			p.leads(chain[len(chain)-1])
		}
		return failure{}
	}
	if ended := p.ended(slices.Concat([]*x509.Certificate{leaf}, between)); ended != "" {
		return failure{Expired, ended}
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return failure{Expired, "a root: " + p.dates(invalid.Cert)}
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return failure{Chain, fmt.Sprintf("the certificate, issued by %q, leads to none of the %s", last(leaf, between).Issuer, countRoots(p.target.Roots))}
	}
	return failure{Chain, strings.TrimPrefix(err.Error(), "x509: ")}
}

// leads notes a root that the leaf leads to.
func (p *probing) leads(root *x509.Certificate) {
	sum := sha256.Sum256(root.RawSubjectPublicKeyInfo)
	if key := hex.EncodeToString(sum[:]); !slices.Contains(p.result.Leads, key) {
		p.result.Leads = append(p.result.Leads, key)
	}
}

func last(leaf *x509.Certificate, between []*x509.Certificate) *x509.Certificate {
	if len(between) == 0 {
		return leaf
	}
	return between[len(between)-1]
}

func countRoots(roots []lbmodel.Root) string {
	if len(roots) == 1 {
		return "roots (1: " + roots[0].Subject + ")"
	}
	return fmt.Sprintf("%d roots", len(roots))
}

// ended names the first certificate that does not hold now.
func (p *probing) ended(all []*x509.Certificate) string {
	for _, c := range all {
		if now := p.target.Now(); now.After(c.NotAfter) || now.Before(c.NotBefore) {
			return p.dates(c)
		}
	}
	return ""
}

func (p *probing) dates(c *x509.Certificate) string {
	if p.target.Now().Before(c.NotBefore) {
		return fmt.Sprintf("the certificate %q holds only from %s: is a clock wrong?", lbmodel.CertificateName(c), c.NotBefore.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("the certificate %q ended at %s", lbmodel.CertificateName(c), c.NotAfter.UTC().Format(time.RFC3339))
}

// name compares as BackendTLSPolicy says: any one of the names must be there, and
// without names the server name must.
func (p *probing) name(leaf *x509.Certificate) failure {
	t := p.target.TLS
	if len(t.SANs) == 0 {
		if t.SNI == "" || leaf.VerifyHostname(t.SNI) == nil {
			return failure{}
		}
		return failure{Name, fmt.Sprintf("the certificate is not for %s; it names %s", t.SNI, p.names())}
	}
	if slices.ContainsFunc(t.SANs, func(want lbmodel.SAN) bool { return has(leaf, want) }) {
		return failure{}
	}
	var want []string
	for _, san := range t.SANs {
		want = append(want, san.Value)
	}
	return failure{Name, fmt.Sprintf("the certificate names %s, and not %s", p.names(), strings.Join(want, " or "))}
}

func has(leaf *x509.Certificate, want lbmodel.SAN) bool {
	if want.Kind == lbmodel.SANDNS {
		return leaf.VerifyHostname(want.Value) == nil
	}
	for _, uri := range leaf.URIs {
		if uri.String() == want.Value {
			return true
		}
	}
	return false
}

func (p *probing) names() string {
	if len(p.result.Names) == 0 {
		return "nobody"
	}
	var out []string
	for _, n := range p.result.Names {
		out = append(out, n.Value)
	}
	return strings.Join(out, ", ")
}
