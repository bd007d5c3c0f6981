package dataplane

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"time"

	"gatehouse.dev/fake/sockets"
	"gatehouse.dev/lbmodel"
)

// serveTCP forwards a connection of a TCP listener.
func (s *tcpSocket) serveTCP(conn net.Conn, p *port) {
	defer conn.Close()
	s.forward(conn, p.forward)
}

// serveTLS finds the listener by the server name, then passes the session
// through, ends it and forwards what is in it, or hands it to the HTTP server.
func (s *tcpSocket) serveTLS(conn net.Conn, p *port) {
	if !p.tls.peeks {
		s.endTLS(conn, p)
		return
	}
	name, again, err := peekName(conn, s.plane.config.Limits.HeaderTime)
	if err != nil {
		s.plane.tallies.fail(FailedHandshake)
		conn.Close()
		return
	}
	found := p.session(name)
	if found != nil && !found.passes() {
		s.endTLS(again, p)
		return
	}
	defer conn.Close()
	if found == nil { // not ours to end: a passed-through port says nothing in TLS
		s.plane.tallies.fail(FailedHandshake)
		return
	}
	s.forwardSession(again, p, found, name)
}

// forwardSession forwards a TLS listener's session, if it serves the client.
func (s *tcpSocket) forwardSession(conn net.Conn, p *port, found *tlsSession, name string) {
	if !p.gateway.serves(found.listener, clientAddr(conn.RemoteAddr())) {
		s.plane.tallies.fail(FailedSource)
		return
	}
	s.forward(conn, found.route(name))
}

// endTLS does the handshake. HTTPS sessions are then the HTTP server's.
func (s *tcpSocket) endTLS(conn net.Conn, p *port) {
	session := tls.Server(conn, s.base)
	ctx, cancel := context.WithTimeout(s.lifetime, s.plane.config.Limits.HeaderTime)
	defer cancel()
	if err := session.HandshakeContext(ctx); err != nil {
		s.plane.tallies.fail(FailedHandshake)
		conn.Close()
		return
	}
	name := session.ConnectionState().ServerName
	found := p.session(name)
	if found != nil && found.listener.Protocol == lbmodel.ProtocolHTTPS {
		s.requests.Give(session)
		return
	}
	defer func() { _ = session.Close() }()
	if found != nil {
		s.forwardSession(session, p, found, name)
	}
}

// forward joins a client with an endpoint until both are done. A client without
// a backend is simply closed: there is no protocol to say why.
func (s *tcpSocket) forward(client net.Conn, f *forward) {
	b := f.choose()
	if b == nil || b.pool == nil {
		s.plane.tallies.fail(FailedStream)
		return
	}
	backend, l, err := b.pool.dial(s.lifetime, clientAddr(client.RemoteAddr()))
	if err != nil {
		s.plane.tallies.fail(FailedStream)
		return
	}
	defer l.end()
	defer backend.Close()
	b.streams.Add(1)
	join(s.lifetime, client, backend, s.plane.config.Limits.StreamIdle)
	if s.lifetime.Err() != nil {
		s.plane.cuts.streams.Add(1)
	}
}

func clientAddr(a net.Addr) netip.Addr { return sockets.AddrPortOf(a).Addr() }

// join copies both ways. Idle time without a byte either way, one end that takes
// nothing for as long, or the end of ctx, ends both.
func join(ctx context.Context, a, b net.Conn, idle time.Duration) {
	stop := context.AfterFunc(ctx, func() { a.Close(); b.Close() })
	defer stop()
	sockets.Join(a, b, sockets.Idle{Both: idle, Write: idle})
}
