package serve

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"gatehouse.dev/fake/sockets"
)

// udpIdle is how long a UDP flow lives without a datagram.
const udpIdle = 120 * time.Second

// udpSocket forwards datagrams. Those of one client are a flow, which keeps its
// target while that one takes traffic.
type udpSocket struct {
	plane *Server
	key   socketKey
	conn  *net.UDPConn
	addr  netip.AddrPort
	front atomic.Pointer[front]

	mu      sync.Mutex
	flows   map[netip.AddrPort]*udpFlow
	readers sync.WaitGroup
	loop    sync.WaitGroup
}

// udpFlow is one client's way to a target.
type udpFlow struct {
	way    *way
	conn   *net.UDPConn
	header []byte // of the PROXY protocol, before the first datagram only
	last   atomic.Int64
}

func (s *Server) newUDPSocket(conn *net.UDPConn, key socketKey, f *front) *udpSocket {
	u := &udpSocket{plane: s, key: key, conn: conn, addr: sockets.AddrPortOf(conn.LocalAddr()), flows: map[netip.AddrPort]*udpFlow{}}
	u.front.Store(f)
	u.loop.Go(u.receive)
	return u
}

func (s *udpSocket) program(f *front) { s.front.Store(f) }

func (s *udpSocket) bound() Bound {
	f := s.front.Load()
	return Bound{LoadBalancer: f.balancer.Name, Listener: f.Name, Port: f.Port, Asked: s.key.asked, Addr: s.addr, UDP: true}
}

// maxDatagram is the largest payload of UDP over IPv4, in bytes.
const maxDatagram = 65507

func (s *udpSocket) receive() {
	buffer := make([]byte, maxDatagram)
	for {
		n, from, err := s.conn.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) || isTimeout(err) { // closed, or draining
			return
		}
		if err != nil {
			continue // an ICMP error of an earlier answer
		}
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		f, client := s.front.Load(), s.plane.options.ClientAddress(from)
		if f.balancer.guards.admit("udp", f.Port, client.Addr(), nil) {
			s.forward(f, from, client, buffer[:n])
		} // else dropped, as AWS does
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func (s *udpSocket) forward(f *front, from, client netip.AddrPort, datagram []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	flow := s.flows[from]
	if flow == nil || !s.stillMeant(f, flow) {
		if flow != nil {
			_ = flow.conn.Close()
		}
		if flow = s.open(f, from, client); flow == nil {
			return
		}
	}
	flow.last.Store(time.Now().UnixNano())
	if flow.header != nil {
		datagram = append(flow.header, datagram...)
		flow.header = nil
	}
	_, _ = flow.conn.Write(datagram) // lost datagrams are UDP's own business
}

// stillMeant says whether a flow's target takes its datagrams: UDP has no
// connection to end, so the flow moves as soon as it may not stay. A draining
// target keeps its flows until it is gone.
func (s *udpSocket) stillMeant(f *front, flow *udpFlow) bool {
	m := flow.way.member
	if m.link.gone.Err() != nil && flow.way.group.attributes.terminate {
		return false
	}
	return !f.drops(flow.way.group.Name) || f.u.NetworkZeroWeight == Kept
}

func (s *udpSocket) open(f *front, from, client netip.AddrPort) *udpFlow {
	w := s.plane.way(f, client)
	if w.member == nil {
		s.plane.options.Access(w.entry(f))
		return nil
	}
	var local *net.UDPAddr
	if from.Addr().IsLoopback() && from.Addr().Is4() == w.member.Address.Addr().Is4() {
		local = &net.UDPAddr{IP: from.Addr().AsSlice()}
	}
	conn, err := net.DialUDP("udp", local, net.UDPAddrFromAddrPort(w.member.Address))
	if err != nil {
		w.own, w.why = true, err.Error()
		s.plane.options.Access(w.entry(f))
		return nil
	}
	flow := &udpFlow{way: w, conn: conn}
	if w.group.attributes.proxyHeader {
		flow.header = proxyHeader(client, s.addr, 2)
	}
	s.flows[from] = flow
	w.member.link.begin()
	s.readers.Go(func() {
		s.answer(flow, from)
		w.member.link.end()
		s.plane.options.Access(w.entry(f))
	})
	return flow
}

// answer returns the target's datagrams until the flow is quiet both ways.
func (s *udpSocket) answer(flow *udpFlow, from netip.AddrPort) {
	defer s.forget(flow, from)
	buffer := make([]byte, maxDatagram)
	flow.last.Store(time.Now().UnixNano())
	for {
		_ = flow.conn.SetReadDeadline(time.Unix(0, flow.last.Load()).Add(udpIdle))
		n, err := flow.conn.Read(buffer)
		switch {
		case err == nil:
			flow.last.Store(time.Now().UnixNano())
			_, _ = s.conn.WriteToUDPAddrPort(buffer[:n], from)
		case isTimeout(err) && time.Since(time.Unix(0, flow.last.Load())) < udpIdle:
		default: // quiet, refused by the target, or closed
			return
		}
	}
}

func (s *udpSocket) forget(flow *udpFlow, from netip.AddrPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = flow.conn.Close()
	if s.flows[from] == flow {
		delete(s.flows, from)
	}
}

func (s *udpSocket) halt() { _ = s.conn.SetReadDeadline(time.Unix(1, 0)) }

// drainUDP is the moment that targets have to answer what was sent to them.
const drainUDP = 100 * time.Millisecond

func (s *udpSocket) drain(ctx context.Context) {
	s.mu.Lock()
	some := len(s.flows) > 0
	s.mu.Unlock()
	if some {
		settle(ctx, drainUDP)
	}
	_ = s.conn.Close()
	s.loop.Wait()
	s.mu.Lock()
	for _, flow := range s.flows {
		_ = flow.conn.Close()
	}
	s.mu.Unlock()
	s.readers.Wait()
}
