package dataplane

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"gatehouse.dev/lbmodel"
)

// Gateway is one gateway as the cloud holds it: what it should serve, on which
// addresses, and the keys of its identities by name.
type Gateway struct {
	Model     lbmodel.Gateway
	Addresses []netip.Addr
	Keys      map[string]tls.Certificate
}

// Config makes a DataPlane. The zero value is usable.
type Config struct {
	Log          *slog.Logger  // nil logs nothing
	AccessLog    func(Entry)   // nil keeps none; called from one goroutine, never from a request's
	Trouble      func(Trouble) // told of backends in trouble, one at a time, and must not block; nil is Log, at Warn
	Limits       Limits        // zero fields take their defaults
	DrainTimeout time.Duration // how long what is in flight may last after its socket closed; 0 is 30 s
	Ports        Ports
	Resolver     Resolver       // of FQDN endpoints; nil is net.DefaultResolver
	SystemRoots  *x509.CertPool // what Trust.System means; nil is this machine's
	// Now is the time by which backends' certificates are judged; nil is time.Now.
	Now func() time.Time
}

// Resolver looks up the addresses of an FQDN endpoint. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Ports says which port is bound for a listener's.
type Ports uint8

// The ways to choose a port.
const (
	PortsFreeIfDenied Ports = iota // as asked, or any free one when the system denies it (a port below 1024)
	PortsExact                     // as asked, or not at all
	PortsFree                      // always any free one: several gateways on one address
)

// Bound is one socket: the gateway and listener port that it serves and where it
// really is.
type Bound struct {
	Owner    lbmodel.Owner
	Port     int32            // the listeners' port
	Protocol lbmodel.Protocol // of the first listener there
	Addr     netip.AddrPort
}

// Limits protect the data plane from its clients and backends. A zero field
// takes the default beside it.
type Limits struct {
	HeaderBytes     int           // request line and headers; 64 KiB, above it 431
	HeaderValues    int           // header lines of a request; 256, above it 431 (HTTP/2 clients send each cookie as one)
	HeaderTime      time.Duration // to read them, and for a TLS handshake; 10 s
	BodyBytes       int64         // request body; unlimited, above it 413
	BodyIdle        time.Duration // between two reads of a request body (not gRPC's) or two writes of a response; 60 s
	ClientIdle      time.Duration // of a client's connection between requests; 120 s
	BackendIdle     time.Duration // of a backend connection between requests; 30 s, below what most servers keep
	BackendHeaders  int64         // response headers of a backend; 64 KiB, above it 502
	ConnectTime     time.Duration // to connect to an endpoint, TLS included; 5 s
	StreamIdle      time.Duration // of TCP, TLS and WebSocket connections without a byte either way; 1 h
	FlowIdle        time.Duration // of a UDP flow; 60 s
	Flows           int           // UDP flows of a socket; 4096, above it new ones are dropped
	Connections     int           // open connections of a socket; 16384, above it new ones are closed
	HTTP2Streams    int           // concurrent streams of a client's connection; 250
	ReplayBytes     int           // of a request body kept for a retry or a mirror; 64 KiB
	Mirrors         int           // copies under way; 64, above it copies are dropped
	MirrorTime      time.Duration // for one copy; 15 s
	ConnectAttempts int           // endpoints tried when one does not accept; 3
	Eject           time.Duration // how long an endpoint that did not accept is avoided; 5 s
}

func (l Limits) withDefaults() Limits {
	return Limits{
		HeaderBytes:     cmp.Or(l.HeaderBytes, 64<<10),
		HeaderValues:    cmp.Or(l.HeaderValues, 256),
		HeaderTime:      cmp.Or(l.HeaderTime, 10*time.Second),
		BodyBytes:       l.BodyBytes,
		BodyIdle:        cmp.Or(l.BodyIdle, time.Minute),
		ClientIdle:      cmp.Or(l.ClientIdle, 2*time.Minute),
		BackendIdle:     cmp.Or(l.BackendIdle, 30*time.Second),
		BackendHeaders:  cmp.Or(l.BackendHeaders, 64<<10),
		ConnectTime:     cmp.Or(l.ConnectTime, 5*time.Second),
		StreamIdle:      cmp.Or(l.StreamIdle, time.Hour),
		FlowIdle:        cmp.Or(l.FlowIdle, time.Minute),
		Flows:           cmp.Or(l.Flows, 4096),
		Connections:     cmp.Or(l.Connections, 16384),
		HTTP2Streams:    cmp.Or(l.HTTP2Streams, 250),
		ReplayBytes:     cmp.Or(l.ReplayBytes, 64<<10),
		Mirrors:         cmp.Or(l.Mirrors, 64),
		MirrorTime:      cmp.Or(l.MirrorTime, 15*time.Second),
		ConnectAttempts: cmp.Or(l.ConnectAttempts, 3),
		Eject:           cmp.Or(l.Eject, 5*time.Second),
	}
}

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.withDefaults()
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	return c
}
