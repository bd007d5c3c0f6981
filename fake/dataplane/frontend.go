package dataplane

import (
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"

	"gatehouse.dev/lbmodel"
)

// frontend is the TLS of a port, compiled: for each listener what it does with
// a session for one of its names.
type frontend struct {
	sessions  map[*lbmodel.Listener]*tlsSession
	fallback  *lbmodel.Listener // takes clients that name no server
	peeks     bool              // some listener passes TLS through, so the name is read before any handshake
	onlyHTTPS bool
}

// tlsSession is one listener's TLS.
type tlsSession struct {
	listener *lbmodel.Listener
	config   *tls.Config // nil for passthrough
	rules    []sniRoute  // of TLS listeners
}

// sniRoute is a compiled SNIRule.
type sniRoute struct {
	hostname string
	forward  *forward
}

// route is the first rule that covers the name.
func (s *tlsSession) route(name string) *forward {
	for _, r := range s.rules {
		if lbmodel.HostMatches(r.hostname, name) {
			return r.forward
		}
	}
	return nil
}

func (s *tlsSession) passes() bool { return s.config == nil }

// compileFrontend costs a listener that can't be served its own names only:
// its handshakes are refused.
func (g *gateway) compileFrontend(listeners []*lbmodel.Listener) (*frontend, error) {
	f := &frontend{sessions: map[*lbmodel.Listener]*tlsSession{}, onlyHTTPS: true}
	var broken errorList
	for _, l := range listeners {
		s, err := g.compileSession(l)
		broken.add(err)
		f.sessions[l] = s
		f.peeks = f.peeks || s.passes()
		f.onlyHTTPS = f.onlyHTTPS && l.Protocol == lbmodel.ProtocolHTTPS
	}
	f.fallback = fallbackOf(listeners)
	return f, broken.join()
}

// fallbackOf takes clients that name no server: the listener of any hostname, or
// else the first that ends TLS, whose first certificate is the default one.
func fallbackOf(listeners []*lbmodel.Listener) *lbmodel.Listener {
	var first *lbmodel.Listener
	for _, l := range listeners {
		if l.Hostname == "" {
			return l
		}
		if first == nil && !passthrough(l) {
			first = l
		}
	}
	return first
}

func passthrough(l *lbmodel.Listener) bool {
	return l.TLS != nil && l.TLS.Mode == lbmodel.TLSPassthrough
}

func (g *gateway) compileSession(l *lbmodel.Listener) (*tlsSession, error) {
	s := &tlsSession{listener: l}
	for _, r := range l.SNI {
		s.rules = append(s.rules, sniRoute{r.Hostname, g.compileForward(&r.Forward, r.Source.String())})
	}
	if passthrough(l) {
		return s, nil
	}
	config, err := g.frontendConfig(l)
	s.config = config
	return s, err
}

// frontendConfig is nil-safe in one direction only: a listener whose
// certificates or client roots are missing gets a configuration that completes
// no handshake.
func (g *gateway) frontendConfig(l *lbmodel.Listener) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if l.TLS == nil {
		return config, fmt.Errorf("listener %s: it has no TLS configuration, so its handshakes are refused", l.Name)
	}
	certificates, err := g.certificates(l)
	if len(certificates) == 0 {
		return config, err
	}
	config.GetCertificate = certificates.choose
	if l.Protocol == lbmodel.ProtocolHTTPS {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	if v := l.TLS.Validation; v != nil {
		g.validateClients(config, v)
	}
	return config, err
}

// validateClients asks for client certificates (Gateway.spec.tls.frontend). A
// session of another listener may not be resumed here, so there are no tickets.
func (g *gateway) validateClients(config *tls.Config, v *lbmodel.ClientValidation) {
	config.SessionTicketsDisabled = true
	if v.Insecure {
		config.ClientAuth = tls.RequestClientCert
		return
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	config.ClientCAs = x509.NewCertPool() // empty: nobody gets in
	if t := g.trust[v.Trust]; t != nil && t.pool != nil {
		config.ClientCAs = t.pool
	}
}

// certificate is one that a listener serves, with its leaf.
type certificate struct {
	pair  *tls.Certificate
	leaf  *x509.Certificate
	ecdsa bool
}

// certificates are a listener's, in declared order; the first is the default.
type certificates []certificate

// certificates leaves out what is not here: the others are still served.
func (g *gateway) certificates(l *lbmodel.Listener) (certificates, error) {
	var out certificates
	var broken errorList
	for _, name := range l.TLS.Certificates {
		pair, ok := g.keys[name]
		if !ok {
			broken.add(fmt.Errorf("listener %s: the key of certificate %q is not here", l.Name, name))
			continue
		}
		leaf, err := leafOf(&pair)
		if err != nil {
			broken.add(fmt.Errorf("listener %s: certificate %q: %w", l.Name, name, err))
			continue
		}
		_, isECDSA := leaf.PublicKey.(*ecdsa.PublicKey)
		out = append(out, certificate{&pair, leaf, isECDSA})
	}
	if len(l.TLS.Certificates) == 0 {
		broken.add(fmt.Errorf("listener %s: it names no certificate, so its handshakes are refused", l.Name))
	}
	return out, broken.join()
}

// choose prefers the exact name over a wildcard over the default, and of two for
// one name the ECDSA key, which costs the gateway less, when the client takes it.
func (c certificates) choose(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := lbmodel.CanonicalHost(hello.ServerName)
	best, bestRank := c[0].pair, 0
	for i := range c {
		if rank := c[i].rank(hello, name); rank > bestRank {
			best, bestRank = c[i].pair, rank
		}
	}
	return best, nil
}

// rank is 0 for a certificate that the client can't use, and 1 for one whose
// names are others: of those the first is served.
func (c *certificate) rank(hello *tls.ClientHelloInfo, name string) int {
	anyName := *hello
	anyName.ServerName = ""
	if anyName.SupportsCertificate(c.pair) != nil {
		return 0
	}
	byName := c.nameRank(name)
	if byName > 0 && c.ecdsa {
		return 2*byName + 2
	}
	return 2*byName + 1
}

func (c *certificate) nameRank(name string) int {
	switch {
	case name == "" || c.leaf.VerifyHostname(name) != nil:
		return 0
	case slices.Contains(c.leaf.DNSNames, name):
		return 2
	default:
		return 1
	}
}

// tlsConfig finds the listener for a handshake. A name that nobody has gets a
// configuration without a certificate: the client reads unrecognized_name.
func (s *tcpSocket) tlsConfig(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	p := s.port.Load()
	if found := p.session(hello.ServerName); found != nil && !found.passes() {
		return found.config, nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}, nil
}

// clientTLS is a client's session whose handshake the HTTP server does.
type clientTLS struct {
	*tls.Conn
	tallies *tallies
}

// HandshakeContext counts the handshakes that fail.
func (c clientTLS) HandshakeContext(ctx context.Context) error {
	err := c.Conn.HandshakeContext(ctx)
	if err != nil {
		c.tallies.fail(FailedHandshake)
	}
	return err
}

// session is what the port does with a client that asks for name.
func (p *port) session(name string) *tlsSession {
	if p.tls == nil {
		return nil
	}
	if name == "" {
		return p.tls.sessions[p.tls.fallback]
	}
	if m := p.gateway.matcher.Pick(p.number, name); m != nil {
		return p.tls.sessions[m.Listener()]
	}
	return nil
}

// sameValidation says whether two listeners ask their clients for the same, so
// that a connection without a server name may serve both.
func sameValidation(a, b *lbmodel.Listener) bool {
	return validationOf(a) == validationOf(b)
}

func validationOf(l *lbmodel.Listener) lbmodel.ClientValidation {
	if l == nil || l.TLS == nil || l.TLS.Validation == nil {
		return lbmodel.ClientValidation{}
	}
	return *l.TLS.Validation
}
