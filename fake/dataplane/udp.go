package dataplane

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse.dev/fake/sockets"
)

// udpSocket forwards datagrams. Those of one client are a flow: they go to one
// endpoint while it is meant, and its answers come back from the gateway's port.
type udpSocket struct {
	plane *DataPlane
	conn  *net.UDPConn
	addr  netip.AddrPort
	port  atomic.Pointer[port]

	mu      sync.Mutex
	flows   map[netip.AddrPort]*flow
	open    map[*flow]bool // also those that a newer one replaced, until they are quiet
	readers sync.WaitGroup
	loop    sync.WaitGroup
}

// flow is one client's way to an endpoint.
type flow struct {
	link *link
	sent *atomic.Uint64 // counts flows that found their way
	last atomic.Int64   // Unix nanoseconds of the last datagram either way
	end  func()         // ends it, also while it is looking for its way

	// Guarded by udpSocket.mu:
	conn    *net.UDPConn // nil until the endpoint's name is resolved
	waiting [][]byte     // what came until then
}

// maxWaiting is how many datagrams wait for a flow's way; UDP may lose the others.
const maxWaiting = 8

func (d *DataPlane) newUDPSocket(conn *net.UDPConn, p *port) *udpSocket {
	s := &udpSocket{plane: d, conn: conn, addr: sockets.AddrPortOf(conn.LocalAddr()), flows: map[netip.AddrPort]*flow{}, open: map[*flow]bool{}}
	s.port.Store(p)
	s.loop.Go(s.receive)
	return s
}

func (s *udpSocket) program(p *port) { s.port.Store(p) }

func (s *udpSocket) bound() Bound {
	p := s.port.Load()
	return Bound{Owner: p.gateway.owner, Port: p.number, Protocol: p.protocol, Addr: s.addr}
}

// maxDatagram is the largest payload of UDP over IPv4, in bytes.
const maxDatagram = 65507

func (s *udpSocket) receive() {
	buffer := make([]byte, maxDatagram)
	for {
		n, client, err := s.conn.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) || isTimeout(err) { // closed, or draining
			return
		}
		if err != nil {
			continue // an ICMP error of an earlier answer
		}
		if !s.port.Load().admits(client.Addr().Unmap()) {
			s.plane.tallies.fail(FailedSource)
			continue
		}
		s.forward(client, buffer[:n])
	}
}

// forward sends a datagram on. It never waits: other clients' are behind it.
func (s *udpSocket) forward(client netip.AddrPort, datagram []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f := s.flow(client); {
	case f == nil:
	case f.conn != nil:
		f.last.Store(time.Now().UnixNano())
		_, _ = f.conn.Write(datagram) // lost datagrams are UDP's own business
	case len(f.waiting) < maxWaiting:
		f.waiting = append(f.waiting, slices.Clone(datagram))
	}
}

// flow is the client's flow, or a new one when it has none or its endpoint takes
// no traffic any more while another does.
func (s *udpSocket) flow(client netip.AddrPort) *flow {
	p := s.port.Load()
	if f, ok := s.flows[client]; ok && p.forward.has(f.link) && (f.link.available() || !p.forward.available()) {
		return f
	}
	if len(s.open) >= s.plane.config.Limits.Flows {
		s.plane.tallies.fail(FailedFlows)
		return nil
	}
	f := s.newFlow(p.forward.choose(), client)
	if f == nil {
		s.plane.tallies.fail(FailedStream)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.plane.config.Limits.ConnectTime)
	f.end = cancel
	s.flows[client], s.open[f] = f, true
	s.readers.Go(func() {
		defer s.close(f, client)
		if conn := s.connect(ctx, f); conn != nil {
			s.answer(f, conn, client)
		}
	})
	return f
}

// has says whether a link is part of what the forward now means.
func (f *forward) has(l *link) bool {
	if f == nil {
		return false
	}
	return slices.ContainsFunc(f.backends, func(b *backend) bool {
		return b.pool != nil && slices.Contains(b.pool.links, l)
	})
}

// available says whether any endpoint takes new traffic.
func (f *forward) available() bool {
	return slices.ContainsFunc(f.backends, func(b *backend) bool {
		return b.pool != nil && slices.ContainsFunc(b.pool.links, (*link).available)
	})
}

func (s *udpSocket) newFlow(b *backend, client netip.AddrPort) *flow {
	if b == nil || b.pool == nil || b.pool.broken != nil {
		return nil
	}
	l := b.pool.choose(client.Addr().Unmap(), nil)
	if l == nil || l.dial.tls != nil { // there is no DTLS: never plain text instead
		return nil
	}
	l.begin()
	return &flow{link: l, sent: b.streams}
}

// connect finds the way to a flow's endpoint, and sends what waits for it.
func (s *udpSocket) connect(ctx context.Context, f *flow) *net.UDPConn {
	found, err := f.link.dial.connect(ctx, "udp")
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) {
			f.link.failed()
			s.plane.complain(f.link, err)
			s.plane.tallies.fail(FailedStream)
		}
		return nil
	}
	s.plane.relent(f.link)
	f.sent.Add(1)
	conn := found.(*net.UDPConn)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil { // ended meanwhile
		_ = conn.Close()
		return nil
	}
	f.conn = conn
	for _, datagram := range f.waiting {
		_, _ = conn.Write(datagram)
	}
	f.waiting = nil
	return conn
}

// answer returns the endpoint's datagrams until the flow is quiet both ways.
func (s *udpSocket) answer(f *flow, conn *net.UDPConn, client netip.AddrPort) {
	buffer := make([]byte, maxDatagram)
	idle := s.plane.config.Limits.FlowIdle
	f.last.Store(time.Now().UnixNano())
	for {
		_ = conn.SetReadDeadline(time.Unix(0, f.last.Load()).Add(idle))
		n, err := conn.Read(buffer)
		switch {
		case err == nil:
			f.last.Store(time.Now().UnixNano())
			_, _ = s.conn.WriteToUDPAddrPort(buffer[:n], client)
		case isTimeout(err) && time.Since(time.Unix(0, f.last.Load())) < idle:
		default: // quiet, refused by the endpoint, or closed
			return
		}
	}
}

// halt ends a flow; udpSocket.mu is held.
func (f *flow) halt() {
	f.end()
	if f.conn != nil {
		_ = f.conn.Close()
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func (s *udpSocket) close(f *flow, client netip.AddrPort) {
	f.link.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	f.halt()
	delete(s.open, f)
	if s.flows[client] == f {
		delete(s.flows, client)
	}
}

// halt stops reading from clients. The port stays taken for the answers.
func (s *udpSocket) halt() { _ = s.conn.SetReadDeadline(time.Unix(1, 0)) }

// drain gives endpoints a moment to answer what was sent to them: a datagram has
// no end to wait for.
func (s *udpSocket) drain(ctx context.Context) {
	s.awaitAnswers(ctx)
	_ = s.conn.Close()
	s.loop.Wait()
	s.mu.Lock()
	for f := range s.open {
		f.halt()
	}
	s.mu.Unlock()
	s.readers.Wait()
}

func (s *udpSocket) awaitAnswers(ctx context.Context) {
	s.mu.Lock()
	none := len(s.open) == 0
	s.mu.Unlock()
	if !none {
		pause(ctx, lingerTime)
	}
}
