package inbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// handshakeTimeout is Envoy's connect timeout, about.
const handshakeTimeout = 10 * time.Second

// terminate ends TLS as the chain says.
func (t *taken) terminate(set *Setting) error {
	if t.chain.MustAgree && len(t.hello.ALPN) > 0 && overlap(t.chain.ALPN, t.hello.ALPN) == "" {
		// crypto/tls lets a client of HTTP/1.1 in where only h2 is meant, so the alert is
		// written here: fatal, no_application_protocol (RFC 7301, 3.2).
		_, _ = t.Write([]byte{recordTypeAlert, 3, 3, 0, 2, 2, 120})
		return errALPN
	}
	conn := tls.Server(t.Conn, t.tlsConfig(set))
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	state := conn.ConnectionState()
	t.Conn, t.state = conn, &state
	if len(state.PeerCertificates) > 0 {
		t.visit.Cert = state.PeerCertificates[0]
		t.visit.Client = Identity(t.visit.Cert)
	}
	return nil
}

func (t *taken) tlsConfig(set *Setting) *tls.Config {
	c := &tls.Config{
		Certificates: []tls.Certificate{set.Leaf},
		Time:         t.pod.config.Now,
		MinVersion:   max(t.chain.MinVersion, tls.VersionTLS12),
		// What Istio's sidecars take of TLS 1.2; TLS 1.3 has no choice to make.
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		},
		// Every connection shows who it is.
		SessionTicketsDisabled: true,
	}
	// Envoy goes on without ALPN where nothing fits; crypto/tls would not.
	if chosen := overlap(t.chain.ALPN, t.hello.ALPN); chosen != "" {
		c.NextProtos = []string{chosen}
	}
	if t.chain.Client == Unasked {
		return c
	}
	c.ClientAuth = tls.RequireAnyClientCert
	if t.chain.Client == Optional {
		c.ClientAuth = tls.RequestClientCert
	}
	c.ClientCAs = x509.NewCertPool() // the names that clients are told
	for _, roots := range append(values(set.Mates), set.Roots) {
		for _, r := range roots {
			c.ClientCAs.AddCert(r)
		}
	}
	c.VerifyConnection = func(s tls.ConnectionState) error { return t.verify(set, s.PeerCertificates) }
	return c
}

func values(m map[string][]*x509.Certificate) [][]*x509.Certificate {
	var out [][]*x509.Certificate
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

var (
	errALPN   = errors.New("the client offers no protocol that is spoken here")
	errKey    = errors.New("the client's key is of a type that is not verified here")
	errDomain = errors.New("the client is of no trust domain that is taken here")
)

// verify judges a client's certificate. No certificate is judged by ClientAuth.
func (t *taken) verify(set *Setting, shown []*x509.Certificate) error {
	if len(shown) == 0 {
		return nil
	}
	leaf := shown[0]
	if t.chain.Keys != nil && !slices.Contains(t.chain.Keys, leaf.PublicKeyAlgorithm) {
		return fmt.Errorf("%w: %s", errKey, leaf.PublicKeyAlgorithm)
	}
	name := Identity(leaf)
	options := x509.VerifyOptions{
		Roots:         pool(rootsFor(set, name)),
		Intermediates: pool(shown[1:]),
		CurrentTime:   t.pod.config.Now(),
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if _, err := leaf.Verify(options); err != nil {
		return err
	}
	prefixed := func(p string) bool { return strings.HasPrefix(name, p) }
	if t.chain.Prefixes != nil && !slices.ContainsFunc(t.chain.Prefixes, prefixed) {
		return fmt.Errorf("%w: %q", errDomain, name)
	}
	return nil
}

// rootsFor are the roots of a name's own trust domain, or the pod's.
func rootsFor(set *Setting, name string) []*x509.Certificate {
	domain, _, _ := strings.Cut(strings.TrimPrefix(name, "spiffe://"), "/")
	if roots, ok := set.Mates[domain]; ok {
		return roots
	}
	return set.Roots
}

func pool(certs []*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range certs {
		p.AddCert(c)
	}
	return p
}

// Identity is whom a certificate names: its first URI, or else its first DNS name.
func Identity(c *x509.Certificate) string {
	switch {
	case c == nil:
		return ""
	case len(c.URIs) > 0:
		return c.URIs[0].String()
	case len(c.DNSNames) > 0:
		return c.DNSNames[0]
	}
	return ""
}
