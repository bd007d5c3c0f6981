package dataplane

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"gatehouse.dev/lbmodel"
)

// linkKey says which link is the same as before: one endpoint spoken to in one
// way for one pool. A changed root, name or client certificate is another link.
type linkKey struct {
	owner    lbmodel.Owner
	pool     string
	target   lbmodel.Target
	protocol lbmodel.PoolProtocol
	tls      string // backendTLS.digest
	loopback bool
}

// link is one endpoint of a pool with its connections. It outlives
// configurations that agree on it.
type link struct {
	key       linkKey
	dial      *dialer
	token     string // names the link in a session, without telling its address
	transport *http.Transport
	scheme    string

	load    atomic.Int64 // requests and connections under way
	avoid   atomic.Int64 // until when, in Unix nanoseconds, after a failed connect
	retired atomic.Bool
	checked atomic.Pointer[verdict] // of the active check; nil without one

	complaints complaints
}

func newLink(key linkKey, d *dialer) *link {
	l := &link{key: key, dial: d, scheme: "http"}
	if d.tls != nil {
		l.scheme = "https"
	}
	l.token = fingerprint([]byte(key.pool + "\x00" + string(key.target)))[:20]
	l.transport = newTransport(d)
	return l
}

// newTransport holds an endpoint's connections. Plain text and TLS each have
// their dial function, and the one for plain text refuses a pool with TLS.
func newTransport(d *dialer) *http.Transport {
	return &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return d.plain(ctx) },
		DialTLSContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return d.secure(ctx) },
		DisableCompression:     true, // bodies pass as they are
		MaxIdleConnsPerHost:    1024,
		IdleConnTimeout:        d.limits.BackendIdle,
		MaxResponseHeaderBytes: d.limits.BackendHeaders,
		ExpectContinueTimeout:  time.Second,
		Protocols:              protocols(d),
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second},
	}
}

// protocols are those that the pool speaks. A model that offers h2 to an
// HTTP/1.1 pool by ALPN gets what the backend picks.
func protocols(d *dialer) *http.Protocols {
	p := new(http.Protocols)
	if !needsHTTP2(d.protocol) {
		p.SetHTTP1(true)
		p.SetHTTP2(d.tls != nil)
		return p
	}
	p.SetHTTP2(d.tls != nil)
	p.SetUnencryptedHTTP2(d.tls == nil)
	return p
}

func (l *link) begin() { l.load.Add(1) }

// end closes what is left when the last request of a retired link is over.
func (l *link) end() {
	if l.load.Add(-1) == 0 && l.retired.Load() {
		l.transport.CloseIdleConnections()
	}
}

// retire lets requests under way finish and closes idle connections. A request
// that still picks the link from an older configuration works, on a connection
// of its own.
func (l *link) retire() {
	l.retired.Store(true)
	l.transport.CloseIdleConnections()
}

// failed notes that the endpoint did not accept: it is avoided for a while, as
// long as there are others.
func (l *link) failed() {
	l.avoid.Store(time.Now().Add(l.dial.limits.Eject).UnixNano())
}

// worked ends the avoidance.
func (l *link) worked() {
	if l.avoid.Load() != 0 {
		l.avoid.Store(0)
	}
}

// proven says whether the endpoint is known to answer: it is available, and its
// active check, if it has one, has passed.
func (l *link) proven() bool {
	v := l.checked.Load()
	return l.available() && (v == nil || v.health() == lbmodel.HealthHealthy)
}

// available says whether new traffic should go there.
func (l *link) available() bool {
	if v := l.checked.Load(); v != nil && v.health() == lbmodel.HealthUnhealthy {
		return false
	}
	until := l.avoid.Load()
	return until == 0 || time.Now().UnixNano() > until
}

// health is what the active check says, or what the last connect showed.
func (l *link) health() lbmodel.Health {
	if v := l.checked.Load(); v != nil {
		return v.health()
	}
	if !l.available() {
		return lbmodel.HealthUnhealthy
	}
	return lbmodel.HealthHealthy
}
