package live

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

// flowIdle is how long a UDP flow through an external load balancer may be silent.
const flowIdle = 60 * time.Second

// udpSocket passes datagrams through. Those of one client are a flow, which keeps its
// endpoint while that one takes traffic.
type udpSocket struct {
	live  *Live
	conn  *net.UDPConn
	front atomic.Pointer[front]
	loops sync.WaitGroup

	mu    sync.Mutex
	flows map[netip.AddrPort]*flow
}

type flow struct {
	to   *link
	conn *net.UDPConn
}

func (l *Live) newUDPSocket(conn *net.UDPConn, f *front) *udpSocket {
	u := &udpSocket{live: l, conn: conn, flows: map[netip.AddrPort]*flow{}}
	u.front.Store(f)
	u.loops.Go(u.receive)
	return u
}

func (u *udpSocket) program(f *front)        { u.front.Store(f) }
func (u *udpSocket) serves() *front          { return u.front.Load() }
func (u *udpSocket) address() netip.AddrPort { return sockets.AddrPortOf(u.conn.LocalAddr()) }

func (u *udpSocket) receive() {
	buffer := make([]byte, 65507)
	for {
		n, from, err := u.conn.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an ICMP error of an earlier answer
		}
		if to := u.flow(from); to != nil {
			_, _ = to.conn.Write(buffer[:n]) // lost datagrams are UDP's own business
		}
	}
}

// flow is a client's; a new one, when its endpoint takes no traffic any more.
func (u *udpSocket) flow(from netip.AddrPort) *flow {
	u.mu.Lock()
	defer u.mu.Unlock()
	if have := u.flows[from]; have != nil && have.to.gone.Err() == nil && have.to.watch.usable() {
		return have
	}
	f := u.front.Load()
	s := f.state.services[f.service]
	if s == nil {
		return nil
	}
	m := s.pick(from.Addr().String(), nil)
	if m == nil {
		return nil
	}
	var d net.Dialer
	conn, err := d.DialContext(u.live.life, "udp", m.address)
	if err != nil {
		return nil
	}
	udp, _ := conn.(*net.UDPConn)
	if old := u.flows[from]; old != nil {
		_ = old.conn.Close()
	}
	made := &flow{m.link, udp}
	u.flows[from] = made
	u.loops.Go(func() { u.answer(made, from) })
	return made
}

// answer returns an endpoint's datagrams until the flow is silent.
func (u *udpSocket) answer(f *flow, from netip.AddrPort) {
	buffer := make([]byte, 65507)
	for {
		_ = f.conn.SetReadDeadline(time.Now().Add(flowIdle))
		n, err := f.conn.Read(buffer)
		if err != nil {
			break
		}
		_, _ = u.conn.WriteToUDPAddrPort(buffer[:n], from) // the client may be gone
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	_ = f.conn.Close()
	if u.flows[from] == f {
		delete(u.flows, from)
	}
}

func (u *udpSocket) halt() { _ = u.conn.Close() }

func (u *udpSocket) drain(context.Context) {
	u.mu.Lock()
	for _, f := range u.flows {
		_ = f.conn.Close()
	}
	u.mu.Unlock()
	u.loops.Wait()
}
