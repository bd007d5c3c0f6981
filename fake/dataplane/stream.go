package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

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
		s.requests.give(session)
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

func clientAddr(a net.Addr) netip.Addr { return addrPortOf(a).Addr() }

// join copies both ways. Each side's end of data is passed on, so that a client
// may stop sending and still be answered; idle time without a byte either way,
// or the end of ctx, ends both.
func join(ctx context.Context, a, b net.Conn, idle time.Duration) {
	stop := context.AfterFunc(ctx, func() { a.Close(); b.Close() })
	defer stop()
	var last atomic.Int64
	last.Store(time.Now().UnixNano())
	var both sync.WaitGroup
	both.Go(func() { pipe(a, b, idle, &last) })
	both.Go(func() { pipe(b, a, idle, &last) })
	both.Wait()
}

var pipeBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// pipe copies one way. On an error it closes both, since a stream with a hole
// in it is worth nothing.
func pipe(to, from net.Conn, idle time.Duration, last *atomic.Int64) {
	buffer := pipeBuffers.Get().(*[32 << 10]byte)
	defer pipeBuffers.Put(buffer)
	for {
		n, err := readActive(from, buffer[:], idle, last)
		if n > 0 {
			to.SetWriteDeadline(time.Now().Add(idle))
			if _, werr := to.Write(buffer[:n]); werr != nil {
				err = werr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = closeWrite(to)
			return
		case err != nil:
			to.Close()
			from.Close()
			return
		}
	}
}

// readActive reads; a silence is an error only when the other way is silent too.
func readActive(from net.Conn, b []byte, idle time.Duration, last *atomic.Int64) (int, error) {
	for {
		quietSince := time.Unix(0, last.Load())
		from.SetReadDeadline(quietSince.Add(idle))
		n, err := from.Read(b)
		if n > 0 {
			last.Store(time.Now().UnixNano())
		}
		var timeout net.Error
		silent := errors.As(err, &timeout) && timeout.Timeout()
		if n > 0 || !silent || !time.Unix(0, last.Load()).After(quietSince) {
			return n, err
		}
	}
}

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
