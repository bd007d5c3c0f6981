package live

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"gatehouse.dev/fake/gcpapi/certmanager"
	"gatehouse.dev/fake/gcpapi/netsec"
	"gatehouse.dev/fake/gcpapi/pki"
	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/fake/gcpapi/store"
)

// backendTLS is how a backend service meets its endpoints: tlsSettings with what they
// name.
type backendTLS struct {
	sni      string
	names    []serve.SAN
	verifies bool // there is an authenticationConfig
	missing  bool // which is not there, or its trust config is not
	trust    pki.Store
	client   *tls.Certificate
	protocol string // of the backend service
	made     source
}

// readBackendTLS follows tlsSettings to the trust config and the client certificate. was
// is the service as it was before; nil if it is new.
func (r *reader) readBackendTLS(n store.Name, s, was *service) *backendTLS {
	out := &backendTLS{made: s.made, protocol: s.spec.Protocol}
	settings := s.spec.TLSSettings
	if settings == nil {
		settings = &serve.TLSSettings{}
	}
	out.sni, out.names = settings.SNI, settings.SubjectAltNames
	at, config := r.to(netsec.Host, n, settings.AuthenticationConfig)
	_, trust := r.to(certmanager.Host, at, store.Text(config, "trustConfig"))
	_, certificate := r.to(certmanager.Host, at, store.Text(config, "clientCertificate"))
	out.made = source{s.made[0], config, trust, certificate}
	if was != nil && was.tls != nil && was.tls.made.is(out.made) {
		return was.tls
	}
	if out.verifies = settings.AuthenticationConfig != ""; !out.verifies {
		return out
	}
	out.missing = config == nil || trust == nil && store.Text(config, "trustConfig") != ""
	if trust != nil {
		out.trust = certmanager.Store(trust)
	}
	if config["wellKnownRoots"] == "PUBLIC_ROOTS" && settings.SNI != "" { // which counts only with a name
		out.trust.Public = r.roots()
	}
	out.trust.AuthoritiesNeedEKU = r.config.AuthoritiesNeedEKU
	if pair, ok := certmanager.KeyPair(certificate); ok {
		out.client = &pair
	}
	return out
}

func (l *Live) roots() *x509.CertPool {
	if l.config.SystemRoots != nil {
		return l.config.SystemRoots
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return x509.NewCertPool()
	}
	return pool
}

// hopError is a failure on the way to a backend, with Google's statusDetails.
type hopError struct {
	details string
	err     error
}

// Error implements error.
func (e *hopError) Error() string { return e.details + ": " + e.err.Error() }

// Unwrap implements errors.
func (e *hopError) Unwrap() error { return e.err }

// The details of failures to reach a backend.
const (
	failedToConnect   = "failed_to_connect_to_backend"
	failedToPick      = "failed_to_pick_backend"
	failedALPN        = "failed_to_negotiate_alpn"
	failedSAN         = "ssl_certificate_san_verification_failed"
	failedChain       = "ssl_certificate_chain_verification_failed"
	failedHandshake   = "backend_ssl_handshake_failed" // no name is documented
	closedBefore      = "backend_connection_closed_before_data_sent_to_client"
	timedOut          = "backend_timeout"
	badResponse       = "backend_response_corrupted"
	serverCertificate = "server_cert_"
)

// handshake makes a session with an endpoint; name is its domain name, if it has one.
func (b *backendTLS) handshake(ctx context.Context, raw net.Conn, name string) (net.Conn, error) {
	if b.missing {
		raw.Close()
		return nil, &hopError{serverCertificate + string(pki.NoTrustConfig), errors.New("the trust config is not there")}
	}
	conn := tls.Client(raw, b.config(name))
	err := conn.HandshakeContext(ctx)
	if err == nil && b.protocol == "HTTP2" && conn.ConnectionState().NegotiatedProtocol != "h2" {
		err = &hopError{failedALPN, errors.New("the backend does not speak HTTP/2")}
	}
	if err != nil {
		raw.Close()
		var known *hopError
		switch {
		case errors.As(err, &known):
		case strings.Contains(err.Error(), "no application protocol"): // an alert has no type of its own
			err = &hopError{failedALPN, err}
		default:
			err = &hopError{failedHandshake, err}
		}
		return nil, err
	}
	return conn, nil
}

// config has no session cache: each connection is judged by what is trusted then.
func (b *backendTLS) config(name string) *tls.Config {
	c := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, ServerName: b.sni, VerifyConnection: b.verify}
	if c.ServerName == "" {
		c.ServerName = name
	}
	switch b.protocol {
	case "HTTP2":
		c.NextProtos = []string{"h2"}
	case "HTTPS":
		c.NextProtos = []string{"http/1.1"}
	}
	if b.client != nil {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return b.client, nil }
	}
	return c
}

// verify judges a backend's certificate: the chain where an authentication config says
// so, the names also without one.
func (b *backendTLS) verify(s tls.ConnectionState) error {
	if b.verifies {
		switch failure := b.trust.Verify(s.PeerCertificates, pki.Server, time.Now()); failure {
		case "":
		case pki.NotValid:
			return &hopError{failedChain, fingerprint(s)}
		default:
			return &hopError{serverCertificate + string(failure), fingerprint(s)}
		}
	}
	if len(s.PeerCertificates) == 0 || !b.named(s.PeerCertificates[0]) {
		return &hopError{failedSAN, fingerprint(s)}
	}
	return nil
}

// fingerprint says which certificate it was.
func fingerprint(s tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("no certificate")
	}
	sum := sha256.Sum256(s.PeerCertificates[0].Raw)
	return errors.New("certificate " + hex.EncodeToString(sum[:]))
}

// named: one of the subjectAltNames, exactly; without them the SNI, as a host name.
func (b *backendTLS) named(c *x509.Certificate) bool {
	if len(b.names) == 0 {
		return b.sni == "" || c.VerifyHostname(b.sni) == nil
	}
	return slices.ContainsFunc(b.names, func(want serve.SAN) bool {
		if want.DNSName != "" {
			return slices.Contains(c.DNSNames, want.DNSName)
		}
		return slices.ContainsFunc(c.URIs, urlIs(want.UniformResourceIdentifier))
	})
}
