package live

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse.dev/fake/sockets"
)

// socket is one bound port. What it does is its front, which apply swaps.
type socket interface {
	program(*front)
	serves() *front
	address() netip.AddrPort
	// halt takes nothing new; drain lets the rest end until ctx is over.
	halt()
	drain(ctx context.Context)
}

// drainTime is what connections of a forwarding rule have that was deleted.
const drainTime = 10 * time.Second

// listen binds what is new, swaps what stays and lets go what is gone.
func (l *Live) listen(next *state) {
	for key, s := range l.sockets {
		f := next.fronts[key]
		if f != nil && f.kind == s.serves().kind {
			s.program(f)
			continue
		}
		delete(l.sockets, key)
		s.halt()
		l.drain.Go(func() {
			ctx, cancel := context.WithTimeout(l.life, drainTime)
			defer cancel()
			s.drain(ctx)
		})
	}
	for key, f := range next.fronts {
		if l.sockets[key] != nil {
			continue
		}
		s, err := l.bind(key, f)
		if err != nil {
			l.config.Log.Warn("a forwarding rule is not served", "rule", key.rule.Path(), "err", err)
			continue
		}
		l.sockets[key] = s
	}
}

func (l *Live) bind(key frontKey, f *front) (socket, error) {
	var config net.ListenConfig
	at := l.config.Bind(key.rule, f.ip, key.port)
	if key.udp {
		conn, err := config.ListenPacket(l.life, "udp", at.String())
		if err != nil {
			return nil, err
		}
		udp, _ := conn.(*net.UDPConn)
		return l.newUDPSocket(udp, f), nil
	}
	listener, err := config.Listen(l.life, "tcp", at.String())
	if err != nil {
		return nil, err
	}
	return l.newTCPSocket(listener, f), nil
}

// tcpSocket serves HTTP, HTTPS and streams.
type tcpSocket struct {
	live     *Live
	listener net.Listener
	addr     netip.AddrPort
	front    atomic.Pointer[front]
	server   *http.Server // of Application Load Balancers
	requests *sockets.Handover
	loops    sync.WaitGroup
	streams  sync.WaitGroup
	life     context.Context //nolint:containedctx // a socket lives longer than the call that opens it
	cut      context.CancelFunc
}

func (l *Live) newTCPSocket(listener net.Listener, f *front) *tcpSocket {
	t := &tcpSocket{live: l, listener: listener, addr: sockets.AddrPortOf(listener.Addr()), requests: sockets.NewHandover(listener.Addr())}
	t.life, t.cut = context.WithCancel(context.Background())
	t.front.Store(f)
	if f.kind == "targetHttpProxies" || f.kind == "targetHttpsProxies" {
		t.server = t.newServer()
		t.loops.Go(func() { _ = t.server.Serve(t.requests) }) // it ends with ErrServerClosed
	}
	t.loops.Go(t.accept)
	return t
}

// clientIdle is the client keepalive timeout of target proxies.
const clientIdle = 610 * time.Second

func (t *tcpSocket) newServer() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true) // by ALPN only
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.live.serveHTTP(t.front.Load(), w, r) }), Protocols: protocols,
		IdleTimeout: clientIdle, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 64 << 10, DisableGeneralOptionsHandler: true,
		BaseContext: func(net.Listener) context.Context { return t.life }, ErrorLog: log.New(io.Discard, "", 0),
	}
}

func (t *tcpSocket) program(f *front)        { t.front.Store(f) }
func (t *tcpSocket) serves() *front          { return t.front.Load() }
func (t *tcpSocket) address() netip.AddrPort { return t.addr }

func (t *tcpSocket) accept() {
	base := &tls.Config{MinVersion: tls.VersionTLS10, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) { return t.front.Load().config(hello) }}
	for {
		conn, err := t.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			wait(t.life, 5*time.Millisecond) // out of file descriptors, or a client that went away
			continue
		}
		f := t.front.Load()
		switch {
		case t.server == nil:
			t.streams.Go(func() { t.live.serveStream(t.life, f, conn, base) })
		case f.tls != nil:
			t.requests.Give(tls.Server(conn, base))
		default:
			t.requests.Give(conn)
		}
	}
}

func (t *tcpSocket) halt() { _ = t.listener.Close() }

func (t *tcpSocket) drain(ctx context.Context) {
	stop := context.AfterFunc(ctx, t.cut)
	defer stop()
	if t.server != nil {
		if err := t.server.Shutdown(ctx); err != nil {
			t.cut()
			t.server.Close()
		}
	}
	t.loops.Wait()
	t.streams.Wait()
	t.cut()
}
