package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse.dev/fake/sockets"
)

// socketKey says which socket is the same as before.
type socketKey struct {
	balancer string
	port     int32
	udp      bool
	asked    netip.AddrPort
}

// socket is one bound port. What it does is its front, which Apply swaps.
type socket interface {
	program(*front)
	bound() Bound
	// halt stops taking new traffic; drain lets the rest finish until ctx is over.
	halt()
	drain(ctx context.Context)
}

// close halts the sockets that next does not need, and drains them in the
// background.
func (s *Server) close(next *state) {
	for key, socket := range s.sockets {
		if next.fronts[key] != nil {
			continue
		}
		delete(s.sockets, key)
		socket.halt()
		s.background.Go(func() {
			ctx, cancel := context.WithTimeout(s.life, s.options.DrainTimeout)
			defer cancel()
			socket.drain(ctx)
		})
	}
}

// open swaps the fronts of the sockets that stay and binds the others.
func (s *Server) open(ctx context.Context, next *state) []error {
	var problems []error
	for _, key := range slices.SortedFunc(maps.Keys(next.fronts), socketKey.compare) {
		f := next.fronts[key]
		if socket, ok := s.sockets[key]; ok {
			socket.program(f)
			continue
		}
		if err := s.bind(ctx, key, f); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", f, err))
		}
	}
	return problems
}

func (s *Server) bind(ctx context.Context, key socketKey, f *front) error {
	if f.Protocol != TCPUDP || key.asked.Port() != 0 {
		return s.bindAt(ctx, key, key.asked, f)
	}
	if !key.udp {
		return s.bindBoth(ctx, key, f)
	}
	key.udp = false // the TCP half was there before
	half, ok := s.sockets[key]
	if !ok {
		return nil // and said why not
	}
	key.udp = true
	return s.bindAt(ctx, key, half.bound().Addr, f)
}

// compare orders TCP before UDP.
func (k socketKey) compare(other socketKey) int {
	return cmp.Or(cmp.Compare(k.number(), other.number()), cmp.Compare(k.balancer, other.balancer), cmp.Compare(k.port, other.port),
		k.asked.Compare(other.asked))
}

func (k socketKey) number() int {
	if k.udp {
		return 1
	}
	return 0
}

func (s *Server) bindAt(ctx context.Context, key socketKey, at netip.AddrPort, f *front) error {
	var config net.ListenConfig
	if key.udp {
		conn, err := config.ListenPacket(ctx, "udp", at.String())
		if err == nil {
			s.sockets[key] = s.newUDPSocket(conn.(*net.UDPConn), key, f)
		}
		return err
	}
	l, err := config.Listen(ctx, "tcp", at.String())
	if err == nil {
		s.sockets[key] = s.newTCPSocket(l.(*net.TCPListener), key, f)
	}
	return err
}

// bindBoth finds a port that is free for TCP and UDP.
func (s *Server) bindBoth(ctx context.Context, key socketKey, f *front) error {
	udp := key
	udp.udp = true
	var failed error
	for range 16 {
		if err := s.bindAt(ctx, key, key.asked, f); err != nil {
			return err
		}
		if failed = s.bindAt(ctx, udp, s.sockets[key].bound().Addr, f); failed == nil {
			return nil
		}
		s.sockets[key].halt()
		s.sockets[key].drain(ctx)
		delete(s.sockets, key)
	}
	return failed
}

// tcpSocket serves HTTP, HTTPS, TCP and TLS.
type tcpSocket struct {
	plane    *Server
	key      socketKey
	listener *net.TCPListener
	addr     netip.AddrPort
	front    atomic.Pointer[front]
	base     *tls.Config
	server   *http.Server // of Application Load Balancers
	requests *sockets.Handover
	draining atomic.Bool

	fresh    sync.Map       // connections without a request yet
	active   sync.WaitGroup // requests
	streams  sync.WaitGroup // connections that are not the HTTP server's
	loops    sync.WaitGroup
	cut      context.CancelFunc
	lifetime context.Context //nolint:containedctx // a socket lives longer than the call that opens it
}

func (s *Server) newTCPSocket(l *net.TCPListener, key socketKey, f *front) *tcpSocket {
	t := &tcpSocket{plane: s, key: key, listener: l, addr: sockets.AddrPortOf(l.Addr()), requests: sockets.NewHandover(l.Addr())}
	t.lifetime, t.cut = context.WithCancel(context.Background())
	t.front.Store(f)
	t.base = &tls.Config{MinVersion: tls.VersionTLS10, GetConfigForClient: t.tlsConfig, Time: s.options.Clock.Now}
	if f.balancer.Kind == Application {
		t.server = t.newServer(f)
		t.loops.Go(func() {
			if err := t.server.Serve(t.requests); !errors.Is(err, http.ErrServerClosed) {
				s.options.Log.Error("HTTP server ended", slog.Any("error", err), slog.Any("address", t.addr))
			}
		})
	}
	t.loops.Go(t.accept)
	return t
}

// maxHeaders is above what is answered by rule, so that the answer is this
// package's and not the standard library's 431.
const maxHeaders = 1 << 20

// newServer takes the times from the listener as it is when the socket is bound.
func (s *tcpSocket) newServer(f *front) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true) // offered by ALPN only: never without TLS
	return &http.Server{
		Handler:                      s,
		ReadHeaderTimeout:            f.balancer.alb.idle,
		IdleTimeout:                  f.balancer.alb.keepAlive,
		MaxHeaderBytes:               maxHeaders,
		MaxHeaderValueCount:          maxHeaders, // AWS bounds sizes only
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return s.lifetime },
		ConnContext:                  withClient,
		ConnState:                    s.note,
		ErrorLog:                     slog.NewLogLogger(s.plane.options.Log.Handler(), slog.LevelDebug),
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: 128},
	}
}

func (s *tcpSocket) program(f *front) { s.front.Store(f) }

func (s *tcpSocket) bound() Bound {
	f := s.front.Load()
	return Bound{LoadBalancer: f.balancer.Name, Listener: f.Name, Port: f.Port, Asked: s.key.asked, Addr: s.addr}
}

func (s *tcpSocket) accept() {
	for {
		conn, err := s.listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors, or a client that went away
			settle(s.lifetime, 5*time.Millisecond)
			continue
		}
		s.dispatch(conn)
	}
}

// dispatch decides by what the listener is now. AWS drops the packets of a client
// that no security group admits; here its connection is reset, so that nobody
// waits.
func (s *tcpSocket) dispatch(raw *net.TCPConn) {
	f := s.front.Load()
	conn := s.plane.identify(raw)
	switch {
	case !f.balancer.guards.admit("tcp", f.Port, conn.client.Addr(), conn.through):
		s.plane.options.Access(f.entry(conn.client, "no security group admits the client"))
		reset(raw)
	case s.server == nil:
		s.streams.Go(func() { s.serveStream(conn, f) })
	case f.Protocol == HTTPS:
		s.requests.Give(tls.Server(conn, s.base))
	default:
		s.requests.Give(conn)
	}
}

// entry is an access log's line of something that the load balancer refused.
func (f *front) entry(client netip.AddrPort, why string) Entry {
	return Entry{LoadBalancer: f.balancer.Name, Listener: f.Name, Client: client, Own: true, Why: why}
}

// reset ends a connection as a load balancer does that has nobody to send it to.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

func (s *tcpSocket) halt() {
	s.draining.Store(true)
	_ = s.listener.Close()
}

func (s *tcpSocket) drain(ctx context.Context) {
	stop := context.AfterFunc(ctx, s.cut)
	defer stop()
	if s.server != nil {
		s.fresh.Range(func(c, _ any) bool {
			c.(net.Conn).Close()
			return true
		})
		if err := s.server.Shutdown(ctx); err != nil {
			s.cut()
			s.server.Close()
		}
	}
	s.loops.Wait()
	s.streams.Wait()
	s.active.Wait()
	s.cut()
}

// note remembers connections that have brought no request.
func (s *tcpSocket) note(c net.Conn, state http.ConnState) {
	if state == http.StateNew {
		s.fresh.Store(c, true)
	} else {
		s.fresh.Delete(c)
	}
}
