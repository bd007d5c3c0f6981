package serve

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// mutual is a listener's way with client certificates, compiled.
type mutual struct {
	MutualTLS
	roots *x509.CertPool
	store *TrustStore
	now   func() time.Time
}

// newMutual is nil for off. A trust store that is not there lets nobody in.
func newMutual(f *front, stores []TrustStore, now func() time.Time) (*mutual, error) {
	if f.MutualTLS == nil || f.MutualTLS.Mode == MutualOff || f.MutualTLS.Mode == "" {
		return nil, nil
	}
	m := &mutual{MutualTLS: *f.MutualTLS, roots: x509.NewCertPool(), store: &TrustStore{}, now: now}
	if m.Mode != MutualVerify {
		return m, nil
	}
	for i := range stores {
		if stores[i].Name == m.TrustStore {
			m.store = &stores[i]
			for _, c := range m.store.Roots {
				m.roots.AddCert(c)
			}
			return m, nil
		}
	}
	return m, fmt.Errorf("there is no trust store %q", m.TrustStore)
}

func (m *mutual) apply(c *tls.Config, u *Undocumented) {
	c.SessionTicketsDisabled = true
	c.ClientAuth = tls.RequireAnyClientCert
	if m.Mode != MutualVerify && u.PassthroughEmpty == Allowed {
		c.ClientAuth = tls.RequestClientCert
	}
	if m.AdvertiseCANames && m.Mode == MutualVerify {
		c.ClientCAs = m.roots
	}
}

// maxChain is how many certificates deep a client's chain may be.
const maxChain = 4

// verify fails with the reason as connection logs give it.
func (m *mutual) verify(raw [][]byte) error {
	if m.Mode != MutualVerify {
		return nil
	}
	chain, err := parseChain(raw)
	switch {
	case err != nil:
		return errors.New("Failed:ClientCertInvalid")
	case len(chain) > maxChain:
		return errors.New("Failed:ClientCertMaxChainDepthExceeded")
	}
	leaf, now := chain[0], m.now()
	switch {
	case now.Before(leaf.NotBefore):
		return errors.New("Failed:ClientCertNotYetValid")
	case now.After(leaf.NotAfter) && !m.IgnoreExpiry:
		return errors.New("Failed:ClientCertExpired")
	case now.After(leaf.NotAfter):
		now = leaf.NotAfter // judged as when it was good
	}
	others := x509.NewCertPool()
	for _, c := range chain[1:] {
		others.AddCert(c)
	}
	found, err := leaf.Verify(x509.VerifyOptions{Roots: m.roots, Intermediates: others, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.IncompatibleUsage:
		return errors.New("Failed:ClientCertPurposeInvalid")
	case err != nil:
		return errors.New("Failed:ClientCertUntrusted")
	case m.revoked(found):
		return errors.New("Failed:ClientCertCrlHit")
	default:
		return nil
	}
}

func parseChain(raw [][]byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for _, der := range raw {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New("no certificate")
	}
	return out, nil
}

// revoked says whether every chain has a certificate that its issuer's list names.
func (m *mutual) revoked(chains [][]*x509.Certificate) bool {
	for _, chain := range chains {
		if !m.chainRevoked(chain) {
			return false
		}
	}
	return true
}

func (m *mutual) chainRevoked(chain []*x509.Certificate) bool {
	for i, c := range chain[:len(chain)-1] {
		for _, list := range m.store.Revocation {
			if list.CheckSignatureFrom(chain[i+1]) == nil && lists(list, c) {
				return true
			}
		}
	}
	return false
}

func lists(l *x509.RevocationList, c *x509.Certificate) bool {
	for _, e := range l.RevokedCertificateEntries {
		if e.SerialNumber.Cmp(c.SerialNumber) == 0 {
			return true
		}
	}
	return false
}

// mutualHeaders are the headers that a target gets of a client's certificate.
var mutualHeaders = []string{
	"X-Amzn-Mtls-Clientcert", "X-Amzn-Mtls-Clientcert-Serial-Number", "X-Amzn-Mtls-Clientcert-Issuer", "X-Amzn-Mtls-Clientcert-Subject",
	"X-Amzn-Mtls-Clientcert-Validity", "X-Amzn-Mtls-Clientcert-Leaf",
}

// tell sets them: the whole chain for passthrough, facts of the leaf for verify.
func (m *mutual) tell(h http.Header, state *tls.ConnectionState, attributes *listenerAttributes) {
	if len(state.PeerCertificates) == 0 {
		return
	}
	set := func(i int, value string) { h.Set(attributes.requestHeader(mutualHeaders[i]), value) }
	leaf := state.PeerCertificates[0]
	if m.Mode != MutualVerify {
		set(0, escapedPEM(state.PeerCertificates...))
		return
	}
	set(1, strings.ToUpper(leaf.SerialNumber.Text(16)))
	set(2, distinguishedName(leaf.RawIssuer))
	set(3, distinguishedName(leaf.RawSubject))
	set(4, fmt.Sprintf("NotBefore=%s;NotAfter=%s", leaf.NotBefore.UTC().Format(time.RFC3339), leaf.NotAfter.UTC().Format(time.RFC3339)))
	set(5, escapedPEM(leaf))
}

// distinguishedName is RFC 2253's form.
func distinguishedName(raw []byte) string {
	var name pkix.RDNSequence
	if _, err := asn1.Unmarshal(raw, &name); err != nil {
		return ""
	}
	return name.String()
}

// escapedPEM is URL-encoded with +, = and / left as they are.
func escapedPEM(certificates ...*x509.Certificate) string {
	var text strings.Builder
	for _, c := range certificates {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // a Builder never fails
	}
	safe := strings.NewReplacer("%2B", "+", "%3D", "=", "%2F", "/")
	return safe.Replace(url.PathEscape(text.String()))
}

func (s *tcpSocket) clientAt(hello *tls.ClientHelloInfo) netip.AddrPort {
	if c, ok := hello.Conn.(*clientConn); ok {
		return c.client
	}
	return netip.AddrPort{}
}
