package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

// linkKey says which link is the same as before: one target, spoken to in one way.
type linkKey struct {
	group, target string
	address       netip.AddrPort
	protocol      Protocol
	version       string
	sni           Position
}

// link is one target with its connections and what is known of its health. It
// outlives configurations that agree on it.
type link struct {
	key       linkKey
	transport *http.Transport // of HTTP groups
	scheme    string
	load      atomic.Int64 // requests and flows under way

	// gone is over when the target was taken out of its group: what is in flight
	// is cut.
	gone   context.Context //nolint:containedctx // a link lives longer than the call that makes it
	cut    context.CancelFunc
	health health
}

func newLink(key linkKey, connect time.Duration) *link {
	l := &link{key: key, scheme: "http"}
	l.gone, l.cut = context.WithCancel(context.Background())
	l.health.init()
	if key.protocol == HTTP || key.protocol == HTTPS {
		l.transport = newTransport(l, connect)
	}
	if key.protocol == HTTPS {
		l.scheme = "https"
	}
	return l
}

// maxTargetHeaders bounds a response's headers, in bytes.
const maxTargetHeaders = 32 << 10

func newTransport(l *link, connect time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: connect}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, "tcp", l.key.address.String())
		if err != nil {
			return nil, &connectError{err}
		}
		return conn, nil
	}
	t := &http.Transport{
		DialContext:            dial,
		DisableCompression:     true, // bodies pass as they are
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: maxTargetHeaders,
		TLSHandshakeTimeout:    connect,
		ExpectContinueTimeout:  time.Second,
		Protocols:              new(http.Protocols),
	}
	t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return handshake(ctx, raw, l.tlsConfig(address), connect)
	}
	t.Protocols.SetHTTP1(!l.http2())
	t.Protocols.SetHTTP2(l.http2() && l.key.protocol == HTTPS)
	t.Protocols.SetUnencryptedHTTP2(l.http2() && l.key.protocol == HTTP)
	return t
}

func (l *link) http2() bool { return l.key.version == VersionHTTP2 || l.key.version == VersionGRPC }

// tlsConfig verifies nothing: no load balancer of AWS's does.
func (l *link) tlsConfig(address string) *tls.Config {
	c := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}
	if host, _, err := net.SplitHostPort(address); err == nil && l.key.sni == Host {
		c.ServerName = host
	}
	c.NextProtos = []string{"http/1.1"}
	if l.http2() {
		c.NextProtos = []string{"h2"}
	}
	return c
}

// handshake makes a client's session on raw.
func handshake(ctx context.Context, raw net.Conn, config *tls.Config, within time.Duration) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, &connectError{fmt.Errorf("%w: %w", errHandshake, err)}
	}
	return conn, nil
}

// errHandshake is a target that accepted and then did not speak TLS.
var errHandshake = errors.New("TLS handshake with the target")

// connectError is a target that was not reached: nothing was sent to it.
type connectError struct{ error }

// Unwrap implements errors.
func (e *connectError) Unwrap() error { return e.error }

func (l *link) begin() { l.load.Add(1) }

func (l *link) end() {
	if l.load.Add(-1) == 0 && l.gone.Err() != nil {
		l.closeIdle()
	}
}

func (l *link) closeIdle() {
	if l.transport != nil {
		l.transport.CloseIdleConnections()
	}
}
