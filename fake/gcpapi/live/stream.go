package live

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/fake/sockets"
)

// streamIdle is how long a stream of a service without a TlsRoute may be silent.
const streamIdle = 10 * time.Minute

// serveStream is a connection of a proxy for TCP or TLS, or one that passes through.
func (l *Live) serveStream(life context.Context, f *front, conn net.Conn, base *tls.Config) {
	defer conn.Close()
	entry := Entry{Rule: serve.Ref(f.key.rule.Path())}
	defer func() { l.config.Access(entry) }()
	client := conn.RemoteAddr().String()
	stop := context.AfterFunc(life, func() { conn.Close() })
	defer stop()
	name, idle := f.service, streamIdle
	if f.tls != nil {
		session := tls.Server(conn, base)
		if err := l.greet(life, session); err != nil {
			entry.Details = named(err).Error()
			return
		}
		conn = session
	}
	if len(f.routes) > 0 {
		peeked, action := l.route(f, conn)
		conn = peeked
		switch {
		case action != nil:
			idle = action.Idle()
			if share := l.spread.choose(action.Shares(), l.position("WeightSpread")); share != nil {
				name = share.Service
			}
		case name == "": // else the proxy's own service takes what no route does
			entry.Details = "no TlsRoute takes the connection"
			l.reject(conn)
			return
		}
	}
	entry.Service = name
	l.join(life, f.state.services[name], conn, client, idle, &entry)
}

// greet makes a client's session.
func (l *Live) greet(ctx context.Context, session *tls.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, l.config.ConnectTimeout)
	defer cancel()
	return session.HandshakeContext(ctx)
}

// route reads the ClientHello, answers nothing, and finds who takes it.
func (l *Live) route(f *front, conn net.Conn) (net.Conn, *serve.TLSAction) {
	var read bytes.Buffer
	var name string
	var protocols []string
	look := listenOnly{Conn: conn, from: io.TeeReader(io.LimitReader(conn, 32<<10), &read)}
	conn.SetReadDeadline(time.Now().Add(l.config.ConnectTimeout))
	err := tls.Server(look, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		name, protocols = hello.ServerName, hello.SupportedProtos
		return nil, errPeeked
	}}).Handshake()
	conn.SetReadDeadline(time.Time{})
	again := &peekedConn{Conn: conn, first: bytes.NewReader(read.Bytes())}
	if !errors.Is(err, errPeeked) {
		return again, nil
	}
	return again, serve.PickTLS(f.routes, name, protocols, l.config.Switches)
}

// errPeeked ends the look at a ClientHello: it is no failure.
var errPeeked = errors.New("seen enough")

// listenOnly is a connection that swallows what is written to it.
type listenOnly struct {
	net.Conn
	from io.Reader
}

// Read implements net.Conn.
func (l listenOnly) Read(b []byte) (int, error) { return l.from.Read(b) }

// Write implements net.Conn.
func (listenOnly) Write(b []byte) (int, error) { return len(b), nil }

// peekedConn is a connection whose ClientHello was read and is read again.
type peekedConn struct {
	net.Conn
	first *bytes.Reader
}

// Read implements net.Conn.
func (p *peekedConn) Read(b []byte) (int, error) {
	if p.first.Len() > 0 {
		return p.first.Read(b)
	}
	return p.Conn.Read(b)
}

// CloseWrite lets a half-closed stream stay one.
func (p *peekedConn) CloseWrite() error { return sockets.CloseWrite(p.Conn) }

// reject ends a connection that nobody takes, as RouteNoMatch says.
func (l *Live) reject(conn net.Conn) {
	if l.position("RouteNoMatch") == serve.Reset {
		reset(conn)
	}
}

func reset(conn net.Conn) {
	if p, ok := conn.(*peekedConn); ok {
		conn = p.Conn
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// join connects a client with an endpoint. Another one is tried when one does not accept.
func (l *Live) join(life context.Context, s *service, conn net.Conn, client string, idle time.Duration, entry *Entry) {
	if s == nil {
		entry.Details = failedToPick
		return
	}
	host, _, _ := net.SplitHostPort(client)
	key := ""
	if s.spec.SessionAffinity != "" && s.spec.SessionAffinity != "NONE" {
		key = host
	}
	var tried []*member
	for range 3 {
		m := s.pick(key, tried)
		if m == nil {
			entry.Details = failedToPick
			break
		}
		tried = append(tried, m)
		entry.Backend = m.shown
		backend, err := m.link.connect(life)
		if err == nil {
			entry.Details = ""
			m.link.carry(conn, backend, idle)
			return
		}
		entry.Details = named(err).Error()
	}
	reset(conn)
}

// carry copies both ways until both are done, the stream is idle, or the endpoint's
// draining is over.
func (k *link) carry(conn, backend net.Conn, idle time.Duration) {
	k.load.Add(1)
	defer k.load.Add(-1)
	defer backend.Close()
	stop := context.AfterFunc(k.gone, func() {
		conn.Close()
		backend.Close()
	})
	defer stop()
	if idle == 0 {
		idle = 365 * 24 * time.Hour
	}
	sockets.Join(conn, backend, sockets.Idle{Both: idle})
}
