package probe

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"net"
	"time"

	"gatehouse.dev/lbmodel"
)

// Outcome is what came of a probe.
type Outcome string

// The outcomes.
const (
	OK                Outcome = "OK"
	Unreachable       Outcome = "Unreachable"       // no TCP connection
	Silent            Outcome = "Silent"            // TCP, and no answer to the handshake in time
	Reset             Outcome = "Reset"             // the connection was closed before anybody said why
	ClearText         Outcome = "ClearText"         // something that is no TLS answered
	Chain             Outcome = "Chain"             // the certificate leads to none of the roots
	Expired           Outcome = "Expired"           // a certificate has ended, or has not begun
	Name              Outcome = "Name"              // the certificate has none of the names
	ALPN              Outcome = "ALPN"              // no common protocol
	Version           Outcome = "Version"           // no common version of TLS
	ServerName        Outcome = "ServerName"        // nobody here by the server name that was sent
	ClientCertificate Outcome = "ClientCertificate" // the certificate that was shown, or none, was refused
	Refused           Outcome = "Refused"           // the other side gave up, and said something else
)

// Target is what would be programmed.
type Target struct {
	Protocol lbmodel.PoolProtocol // inside TLS; decides the ALPN where TLS does not
	TLS      lbmodel.BackendTLS   // Trust and Identity are not looked up
	Roots    []lbmodel.Root       // none verifies nothing
	// Certificate is what is shown to whoever asks; nil is none.
	Certificate *tls.Certificate

	Timeout time.Duration // of the connection and of the handshake; zero is 5 s
	// Settle is how long one waits, after a handshake, for the other side to refuse
	// the client's certificate: TLS 1.3 tells it only then. Zero is 1 s. A side that
	// sends a session ticket has taken it, and is not waited for.
	Settle time.Duration
	Now    func() time.Time // nil is the clock's
}

// Result is what one connection showed. Nothing in it is secret.
type Result struct {
	Address string  `json:"address"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail,omitzero"` // for a person, when it is not OK

	Version string `json:"version,omitzero"` // "1.2", "1.3"
	ALPN    string `json:"alpn,omitzero"`    // what was negotiated
	Asked   bool   `json:"asked,omitzero"`   // seen to ask for a client certificate
	Shown   bool   `json:"shown,omitzero"`   // one was

	Leaf  *Certificate  `json:"leaf,omitzero"`
	Root  *Certificate  `json:"root,omitzero"`   // that the leaf leads to, when it is one of the roots
	Names []lbmodel.SAN `json:"names,omitempty"` // of the leaf: DNS and URI
	// Leads are the keys (lbmodel.Root.SPKI) of all the roots that the leaf leads to:
	// one that was signed anew, or by another root too, leads to several.
	Leads []string `json:"-"`
	// Earlier is what came of it when another certificate was shown last; the zero value
	// is that nobody knows.
	Earlier Earlier `json:"-"`
}

// Earlier is the answer to a client certificate that is not shown any more.
type Earlier struct {
	Leaf    string // SHA-256 of its DER, hex; "" is that none was shown
	Outcome Outcome
}

// Certificate names a certificate.
type Certificate struct {
	Subject  string    `json:"subject"`
	SHA256   string    `json:"sha256"` // of the DER, hex
	NotAfter time.Time `json:"notAfter"`
}

func certificateOf(c *x509.Certificate) *Certificate {
	sum := sha256.Sum256(c.Raw)
	return &Certificate{Subject: c.Subject.String(), SHA256: hex.EncodeToString(sum[:]), NotAfter: c.NotAfter.UTC()}
}

const (
	defaultTimeout = 5 * time.Second
	defaultSettle  = time.Second
)

// Dial probes one address, host:port. It always gives a result.
func Dial(ctx context.Context, t Target, address string) Result {
	if t.Now == nil {
		t.Now = time.Now
	}
	if t.Timeout == 0 {
		t.Timeout = defaultTimeout
	}
	if t.Settle == 0 {
		t.Settle = defaultSettle
	}
	p := &probing{target: t, result: Result{Address: address}, accepted: make(chan struct{})}
	p.run(ctx)
	return p.result
}

// probing is the work on one probe.
type probing struct {
	target   Target
	result   Result
	accepted chan struct{} // is closed when the other side sent a ticket
	taken    bool
	check    failure // of the other side's certificate
}

// failure is an outcome that is not OK.
type failure struct {
	outcome Outcome
	detail  string
}

func (p *probing) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.target.Timeout)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", p.result.Address)
	if err != nil {
		p.fail(failure{Unreachable, unreachable(err)})
		return
	}
	defer raw.Close()
	conn := tls.Client(raw, p.config())
	err = conn.HandshakeContext(ctx)
	p.note(conn.ConnectionState())
	switch {
	case p.check.outcome != "":
		p.fail(p.check)
	case err != nil:
		p.fail(p.refusal(err))
	default:
		p.finish(conn)
	}
}

func (p *probing) fail(f failure) { p.result.Outcome, p.result.Detail = f.outcome, f.detail }

// config is the handshake as a load balancer would make it. The check is ours: the
// standard one cannot compare SPIFFE IDs, nor say precisely what is wrong.
func (p *probing) config() *tls.Config {
	t := p.target.TLS
	return &tls.Config{
		ServerName: t.SNI, NextProtos: p.offered(), MinVersion: minVersion(t.MinVersion), Time: p.target.Now,
		InsecureSkipVerify: true, //nolint:gosec // see VerifyConnection
		VerifyConnection:   p.verify,
		ClientSessionCache: p, // only to see that a ticket comes
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			p.result.Asked = true
			if p.target.Certificate == nil {
				return &tls.Certificate{}, nil
			}
			p.result.Shown = true
			return p.target.Certificate, nil
		},
	}
}

// Get implements tls.ClientSessionCache: every probe is a whole handshake.
func (p *probing) Get(string) (*tls.ClientSessionState, bool) { return nil, false }

// Put implements tls.ClientSessionCache: who sends a ticket has taken the client's
// certificate (RFC 8446, 4.6.1).
func (p *probing) Put(string, *tls.ClientSessionState) {
	if !p.taken {
		p.taken = true
		close(p.accepted)
	}
}

func (p *probing) offered() []string {
	t := p.target.TLS
	switch {
	case t.NoALPN:
		return nil
	case len(t.ALPN) > 0:
		return t.ALPN
	case isHTTP2(p.target.Protocol):
		return []string{"h2"}
	case p.target.Protocol == lbmodel.PoolHTTP1 || p.target.Protocol == lbmodel.PoolWebSocket:
		return []string{"http/1.1"}
	default:
		return nil
	}
}

func isHTTP2(p lbmodel.PoolProtocol) bool {
	return p == lbmodel.PoolHTTP2 || p == lbmodel.PoolH2C || p == lbmodel.PoolGRPC
}

func minVersion(text string) uint16 {
	if text == "1.3" {
		return tls.VersionTLS13
	}
	return tls.VersionTLS12
}

// finish waits for what comes after a handshake: a refusal, a ticket, or nothing.
func (p *probing) finish(conn *tls.Conn) {
	if err := conn.SetReadDeadline(time.Now().Add(p.target.Settle)); err != nil {
		p.fail(failure{Reset, err.Error()})
		return
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-p.accepted:
			_ = conn.SetReadDeadline(time.Unix(1, 0)) // ends the Read below; a closed connection does too
		case <-done:
		}
	}()
	_, err := conn.Read(make([]byte, 1))
	switch f := p.refusal(err); {
	case err == nil, p.taken, isTimeout(err):
		p.result.Outcome = OK
		p.agreed()
	case f.outcome == Reset && p.result.Asked:
		p.fail(failure{ClientCertificate, "the connection was closed right after the handshake: " + p.shown()})
	default:
		p.fail(f)
	}
}

// agreed sees to it that HTTP/2 can be spoken.
func (p *probing) agreed() {
	chosen := p.result.ALPN
	if isHTTP2(p.target.Protocol) && chosen == "" && !p.target.TLS.NoALPN {
		p.fail(failure{ALPN, "h2 was offered and the other side negotiates no protocol: a load balancer that needs ALPN cannot speak HTTP/2 to it"})
	}
}

// note keeps what the other side showed, however the handshake ended.
func (p *probing) note(s tls.ConnectionState) {
	if s.Version != 0 {
		p.result.Version = map[uint16]string{tls.VersionTLS12: "1.2", tls.VersionTLS13: "1.3"}[s.Version]
	}
	p.result.ALPN = s.NegotiatedProtocol
	p.saw(s)
}

// saw keeps the names of the other side's certificate.
func (p *probing) saw(s tls.ConnectionState) {
	if len(s.PeerCertificates) == 0 || p.result.Leaf != nil {
		return
	}
	leaf := s.PeerCertificates[0]
	p.result.Leaf = certificateOf(leaf)
	for _, name := range leaf.DNSNames {
		p.result.Names = append(p.result.Names, lbmodel.SAN{Kind: lbmodel.SANDNS, Value: name})
	}
	for _, uri := range leaf.URIs {
		p.result.Names = append(p.result.Names, lbmodel.SAN{Kind: lbmodel.SANURI, Value: uri.String()})
	}
}
