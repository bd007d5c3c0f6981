package serve

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"

	"gatehouse.dev/fake/sockets"
)

// clientConn is a client's connection with whom it is from.
type clientConn struct {
	*net.TCPConn
	client  netip.AddrPort
	through []string // security groups of the load balancer before this one
	release func()
	once    sync.Once
}

// Close implements net.Conn.
func (c *clientConn) Close() error {
	c.once.Do(c.release)
	return c.TCPConn.Close()
}

// origin is the client behind a connection that a Network Load Balancer made to an
// Application Load Balancer: client addresses always reach such a target.
type origin struct {
	client  netip.AddrPort
	through []string
}

// origins are the connections between load balancers of this server, by the
// address that the later one sees. The dialling side holds the lock until it has
// told, so that the accepting side never asks too early.
type origins struct {
	mu   sync.Mutex
	from map[netip.AddrPort]origin
}

// identify finds out whom a connection is from.
func (s *Server) identify(raw *net.TCPConn) *clientConn {
	remote := sockets.AddrPortOf(raw.RemoteAddr())
	c := &clientConn{TCPConn: raw, release: func() {}}
	s.origins.mu.Lock()
	defer s.origins.mu.Unlock()
	o, ok := s.origins.from[remote]
	if !ok {
		c.client = s.options.ClientAddress(remote)
		return c
	}
	c.client, c.through = o.client, o.through
	c.release = func() {
		s.origins.mu.Lock()
		defer s.origins.mu.Unlock()
		delete(s.origins.from, remote)
	}
	return c
}

// dialALB connects to a listener of an Application Load Balancer for a client.
func (s *Server) dialALB(ctx context.Context, address netip.AddrPort, o origin) (net.Conn, error) {
	s.origins.mu.Lock()
	defer s.origins.mu.Unlock()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address.String())
	if err != nil {
		return nil, err
	}
	if s.origins.from == nil {
		s.origins.from = map[netip.AddrPort]origin{}
	}
	s.origins.from[sockets.AddrPortOf(conn.LocalAddr())] = o
	return conn, nil
}

// albKey names a listener of an Application Load Balancer.
type albKey struct {
	balancer string
	port     int32
}

// publish tells where the listeners are now. mu is held.
func (s *Server) publish() {
	at := map[albKey]netip.AddrPort{}
	for key, socket := range s.sockets {
		if !key.udp {
			at[albKey{key.balancer, key.port}] = socket.bound().Addr
		}
	}
	s.albs.Store(&at)
}

// whereIs is a target's address, also of one that is a load balancer; it is not
// valid when that one does not listen.
func (s *Server) whereIs(t *Target) netip.AddrPort {
	if at := s.albs.Load(); at != nil && t.LoadBalancer != "" {
		return (*at)[albKey{t.LoadBalancer, t.Port}]
	}
	return t.Address
}

type clientKey struct{}

// withClient makes the connection known to its requests.
func withClient(ctx context.Context, conn net.Conn) context.Context {
	if session, ok := conn.(*tls.Conn); ok {
		conn = session.NetConn()
	}
	return context.WithValue(ctx, clientKey{}, conn)
}

func clientOf(ctx context.Context) *clientConn {
	c, _ := ctx.Value(clientKey{}).(*clientConn)
	return c
}
