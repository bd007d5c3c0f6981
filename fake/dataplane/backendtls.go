package dataplane

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json/v2"
	"fmt"
	"slices"

	"gatehouse.dev/lbmodel"
)

// backendTLS is the TLS of a pool, compiled. Its digest changes with anything
// that a connection made earlier would not reflect: names, roots, the client
// certificate.
type backendTLS struct {
	config *tls.Config
	digest string
}

// needsHTTP2 says whether a pool is spoken to in HTTP/2 only.
func needsHTTP2(p lbmodel.PoolProtocol) bool {
	return p == lbmodel.PoolHTTP2 || p == lbmodel.PoolH2C || p == lbmodel.PoolGRPC
}

// offeredALPN is what the model says, or what the pool's protocol needs.
func offeredALPN(t *lbmodel.BackendTLS, p lbmodel.PoolProtocol) []string {
	switch {
	case t.NoALPN:
		return nil
	case len(t.ALPN) > 0:
		return t.ALPN
	case needsHTTP2(p):
		return []string{"h2"}
	case p == lbmodel.PoolHTTP1 || p == lbmodel.PoolWebSocket:
		return []string{"http/1.1"}
	default:
		return nil
	}
}

// compileBackendTLS fails where the model asks for more than can be had, and the
// pool is then served by nobody.
func (g *gateway) compileBackendTLS(p lbmodel.Pool) (*backendTLS, error) {
	t := p.TLS
	if !t.Level().AtLeast(t.Floor) {
		return nil, fmt.Errorf("backend TLS reaches only %s, below the floor %s", t.Level(), t.Floor)
	}
	out := &backendTLS{config: &tls.Config{
		ServerName: t.SNI,
		NextProtos: offeredALPN(t, p.Protocol),
		MinVersion: minVersion(t.MinVersion),
		// The check is ours: the standard one can't compare SPIFFE IDs.
		InsecureSkipVerify: true,
		Time:               g.plane.config.Now,
	}}
	if err := g.addVerifier(out, p); err != nil {
		return nil, err
	}
	leaf, err := g.addIdentity(out.config, t.Identity)
	if err != nil {
		return nil, err
	}
	out.digest = tlsDigest(p, g.trust[t.Trust], leaf)
	return out, nil
}

func minVersion(v string) uint16 {
	if v == "1.3" {
		return tls.VersionTLS13
	}
	return tls.VersionTLS12
}

// addVerifier has every handshake checked and counted. A pool without Trust is
// Unverified by its own words, and its handshakes count under no root.
func (g *gateway) addVerifier(out *backendTLS, p lbmodel.Pool) error {
	count := g.plane.tallies.handshakes(g.owner, p.Name)
	if p.TLS.Trust == "" {
		out.config.VerifyConnection = func(tls.ConnectionState) error {
			count.add("")
			return nil
		}
		return nil
	}
	v, err := newVerifier(p.TLS, g.trust[p.TLS.Trust], g.plane.config.Now)
	if err != nil {
		return err
	}
	out.config.VerifyConnection = func(state tls.ConnectionState) error {
		root, err := v.verify(state)
		if err != nil {
			return err
		}
		count.add(fingerprint(root.Raw))
		return nil
	}
	return nil
}

// addIdentity presents the client certificate whatever CAs the server names: a
// server in the middle of a rotation may name the old ones only.
func (g *gateway) addIdentity(config *tls.Config, name string) (leaf string, err error) {
	if name == "" {
		return "", nil
	}
	key, ok := g.keys[name]
	if !ok || len(key.Certificate) == 0 {
		return "", fmt.Errorf("backend TLS: the key of identity %q is not here", name)
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &key, nil }
	return fingerprint(key.Certificate[0]), nil
}

func tlsDigest(p lbmodel.Pool, trust *trust, leaf string) string {
	t := *p.TLS
	t.Source = lbmodel.Source{}
	t.SANs = slices.Clone(t.SANs)
	text, err := json.Marshal(t, json.Deterministic(true))
	if err != nil {
		panic("dataplane: BackendTLS cannot be encoded: " + err.Error())
	}
	roots := ""
	if trust != nil {
		roots = trust.digest
	}
	return fingerprint(append(text, roots+"|"+leaf...))
}

// priorKnowledge makes net/http speak HTTP/2 over a TLS session in which no
// protocol was negotiated, as some mesh proxies want it.
type priorKnowledge struct{ *tls.Conn }

// ConnectionState says that h2 was agreed on: the pool's protocol is the
// agreement.
func (c priorKnowledge) ConnectionState() tls.ConnectionState {
	state := c.Conn.ConnectionState()
	state.NegotiatedProtocol = "h2"
	return state
}

// agreed returns the connection as net/http should see it, or an error when the
// backend chose a protocol that the pool does not speak.
func agreed(conn *tls.Conn, p lbmodel.PoolProtocol) (secured, error) {
	chosen := conn.ConnectionState().NegotiatedProtocol
	switch {
	case !needsHTTP2(p) || chosen == "h2":
		return conn, nil
	case chosen == "":
		return priorKnowledge{conn}, nil
	default:
		return nil, &protocolError{chosen}
	}
}

// protocolError is a backend that chose a protocol which was not offered.
type protocolError struct{ chosen string }

func (e *protocolError) Error() string {
	return fmt.Sprintf("it chose %q in the TLS handshake, the pool speaks HTTP/2", e.chosen)
}

// leafOf is the parsed leaf of a key pair.
func leafOf(key *tls.Certificate) (*x509.Certificate, error) {
	if key.Leaf != nil {
		return key.Leaf, nil
	}
	if len(key.Certificate) == 0 {
		return nil, fmt.Errorf("the certificate is empty")
	}
	return x509.ParseCertificate(key.Certificate[0])
}
