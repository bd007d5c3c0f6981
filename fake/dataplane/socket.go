package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse.dev/fake/sockets"
	"gatehouse.dev/lbmodel"
)

// socketKey is what a socket is asked for; it is bound once and stays through
// every configuration that needs it.
type socketKey struct {
	addr netip.AddrPort
	udp  bool
}

// socket is one bound port. What it does with a connection or datagram is its
// port, which Program swaps.
type socket interface {
	program(*port)
	bound() Bound
	// halt stops taking new traffic. A TCP port is free for others afterwards.
	halt()
	// drain lets what is under way finish until ctx is over, and then ends it. It
	// comes after halt.
	drain(ctx context.Context)
}

// tcpSocket serves HTTP, TLS and TCP.
type tcpSocket struct {
	plane    *DataPlane
	listener *net.TCPListener
	addr     netip.AddrPort
	port     atomic.Pointer[port]
	base     *tls.Config // keeps the session tickets' keys through configurations
	server   *http.Server
	requests *sockets.Handover
	open     atomic.Int64 // connections
	draining atomic.Bool

	fresh    sync.Map       // connections without a request yet
	active   sync.WaitGroup // requests
	streams  sync.WaitGroup // connections that are not the HTTP server's
	loops    sync.WaitGroup
	cut      context.CancelFunc // ends streams and upgraded connections
	lifetime context.Context    //nolint:containedctx // a socket lives longer than the call that opens it
}

func (d *DataPlane) newTCPSocket(l *net.TCPListener, p *port) *tcpSocket {
	s := &tcpSocket{plane: d, listener: l, addr: sockets.AddrPortOf(l.Addr()), requests: sockets.NewHandover(l.Addr())}
	s.lifetime, s.cut = context.WithCancel(context.Background())
	s.port.Store(p)
	s.base = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: s.tlsConfig}
	s.server = d.newServer(s)
	s.loops.Go(s.accept)
	s.loops.Go(func() {
		if err := s.server.Serve(s.requests); !errors.Is(err, http.ErrServerClosed) {
			d.config.Log.Error("HTTP server ended", slog.Any("error", err), slog.Any("address", s.addr))
		}
	})
	return s
}

// newServer applies the limits to the standard library's server, which speaks
// HTTP/1.1 and HTTP/2, with and without TLS.
func (d *DataPlane) newServer(s *tcpSocket) *http.Server {
	limits := &d.config.Limits
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:                      s,
		ReadHeaderTimeout:            limits.HeaderTime,
		IdleTimeout:                  limits.ClientIdle,
		MaxHeaderBytes:               limits.HeaderBytes,
		MaxHeaderValueCount:          limits.HeaderValues,
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true, // "OPTIONS *" is the backend's
		BaseContext:                  func(net.Listener) context.Context { return s.lifetime },
		ConnState:                    s.note,
		ErrorLog:                     slog.NewLogLogger(d.config.Log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: limits.HTTP2Streams,
			SendPingTimeout:      30 * time.Second, // finds clients that vanished
			WriteByteTimeout:     limits.BodyIdle,
		},
	}
}

func (s *tcpSocket) program(p *port) { s.port.Store(p) }

func (s *tcpSocket) bound() Bound {
	p := s.port.Load()
	return Bound{Owner: p.gateway.owner, Port: p.number, Protocol: p.protocol, Addr: s.addr}
}

// accept hands out connections until the listener is closed.
func (s *tcpSocket) accept() {
	for {
		conn, err := s.listener.AcceptTCP()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of file descriptors or a client that went away: breathe, go on.
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if s.open.Add(1) > int64(s.plane.config.Limits.Connections) {
			s.plane.tallies.fail(FailedConnections)
			s.open.Add(-1)
			_ = conn.Close()
			continue
		}
		s.dispatch(&counted{TCPConn: conn, open: &s.open})
	}
}

// dispatch decides by what the port is now. Only a port that tells its listeners
// apart before a handshake needs a goroutine for it.
func (s *tcpSocket) dispatch(conn *counted) {
	p := s.port.Load()
	switch {
	case !p.admits(clientAddr(conn.RemoteAddr())):
		s.plane.tallies.fail(FailedSource)
		_ = conn.Close()
	case p.protocol == lbmodel.ProtocolHTTP:
		s.requests.Give(conn)
	case p.tls != nil && p.tls.onlyHTTPS:
		s.requests.Give(clientTLS{tls.Server(conn, s.base), s.plane.tallies})
	case p.tls != nil:
		s.streams.Go(func() { s.serveTLS(conn, p) })
	default:
		s.streams.Go(func() { s.serveTCP(conn, p) })
	}
}

// halt closes the listener.
func (s *tcpSocket) halt() {
	s.draining.Store(true)
	_ = s.listener.Close()
}

// drain first tells clients that keep connections, by their next answer, so that
// none finds its connection closed under a request; then the server ends idle
// connections and waits for the rest.
func (s *tcpSocket) drain(ctx context.Context) {
	s.linger(ctx)
	s.closeFresh()
	if err := s.server.Shutdown(ctx); err != nil {
		s.cut()
		s.server.Close()
	}
	s.loops.Wait()
	s.awaitAll(ctx)
	s.cut()
}

// note remembers connections that have brought no request: nothing is lost when
// they are closed, and the server would wait for them.
func (s *tcpSocket) note(c net.Conn, state http.ConnState) {
	if state == http.StateNew {
		s.fresh.Store(c, true)
	} else {
		s.fresh.Delete(c)
	}
}

func (s *tcpSocket) closeFresh() {
	s.fresh.Range(func(c, _ any) bool {
		c.(net.Conn).Close()
		return true
	})
}

// lingerTime is how long idle connections may bring one more request.
const lingerTime = 200 * time.Millisecond

func (s *tcpSocket) linger(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lingerTime)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for s.open.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// awaitAll also waits for upgraded connections, which the server gave away.
func (s *tcpSocket) awaitAll(ctx context.Context) {
	stop := context.AfterFunc(ctx, s.cut)
	defer stop()
	s.streams.Wait()
	s.active.Wait()
}

// counted is a client's connection that leaves the count when it is closed.
type counted struct {
	*net.TCPConn
	open   *atomic.Int64
	closed atomic.Bool
}

// Close implements net.Conn.
func (c *counted) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.TCPConn.Close()
}
