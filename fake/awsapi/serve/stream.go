package serve

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"

	"gatehouse.dev/fake/sockets"
)

// serveStream is a connection of a Network Load Balancer.
func (s *tcpSocket) serveStream(raw *clientConn, f *front) {
	conn := net.Conn(raw)
	defer conn.Close()
	var session *tls.Conn
	if f.Protocol == TLS {
		session = tls.Server(raw, s.base)
		ctx, cancel := context.WithTimeout(s.lifetime, s.plane.options.ConnectTimeout)
		defer cancel()
		if err := session.HandshakeContext(ctx); err != nil {
			s.plane.options.Access(f.entry(raw.client, "TLS handshake: "+err.Error()))
			return
		}
		conn = session
	}
	way := s.plane.way(f, raw.client)
	if way.member == nil {
		s.plane.options.Access(way.entry(f))
		_ = raw.SetLinger(0)
		return
	}
	way.member.link.begin()
	defer way.member.link.end()
	backend, err := s.reach(way, raw, session)
	if err != nil {
		way.why, way.own = err.Error(), true
		s.plane.options.Access(way.entry(f))
		_ = raw.SetLinger(0)
		return
	}
	defer backend.Close()
	s.join(f, way, raw, conn, backend)
	s.plane.options.Access(way.entry(f))
}

// way is where a connection or flow goes.
type way struct {
	rule   *rule
	group  *group
	member *member
	client netip.AddrPort
	own    bool
	why    string
}

func (w *way) entry(f *front) Entry {
	e := f.entry(w.client, w.why)
	e.Own = w.own
	if w.rule != nil {
		e.Rule = w.rule.name
	}
	if w.group != nil {
		e.Group = w.group.Name
	}
	if w.member != nil {
		e.Target = w.member.ID
	}
	return e
}

// way chooses the group and target of a new connection.
func (s *Server) way(f *front, client netip.AddrPort) *way {
	w := &way{client: client}
	var to *forward
	w.rule, to = f.forwardFor(client.Addr())
	if to == nil {
		w.own, w.why = true, "no action forwards"
		return w
	}
	w.group = s.networkGroup(f, to, client)
	if w.group == nil {
		w.own, w.why = true, "no target group takes the connection"
		return w
	}
	if w.group.attributes.sticky == "source_ip" {
		w.member = w.group.bySource(client.Addr(), 0)
	} else {
		w.member = w.group.pick(nil, s.options.Rand)
	}
	if w.member == nil {
		w.own, w.why = true, "the target group has no target"
	}
	return w
}

// networkGroup is the group that the weights, or the client's address, choose.
func (s *Server) networkGroup(f *front, to *forward, client netip.AddrPort) *group {
	point := to.shares.point()
	if to.Stickiness > 0 {
		point = sourcePoint(client.Addr())
	}
	i := to.shares.at(point)
	if i < 0 || to.groups[i] == nil {
		return nil
	}
	chosen := to.groups[i]
	elsewhere := f.u.NetworkEmptyGroup == Others || to.Stickiness > 0 && f.u.NetworkStickyLost == Anew
	if len(chosen.eligible()) > 0 || !elsewhere {
		return chosen
	}
	for j, g := range to.groups {
		if g != nil && len(g.eligible()) > 0 && to.Groups[j].Weight > 0 {
			return g
		}
	}
	return chosen
}

// reach connects to the target, with the client's address where the group keeps
// it and the system has it.
func (s *tcpSocket) reach(w *way, raw *clientConn, session *tls.Conn) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(s.lifetime, s.plane.options.ConnectTimeout)
	defer cancel()
	var conn net.Conn
	var err error
	if w.group.Type == TargetALB {
		conn, err = s.plane.dialALB(ctx, s.plane.whereIs(&w.member.Target), origin{raw.client, s.front.Load().balancer.SecurityGroups})
	} else {
		conn, err = dialAs(ctx, sockets.AddrPortOf(raw.RemoteAddr()).Addr(), w)
	}
	if err != nil {
		return nil, err
	}
	if w.group.attributes.proxyHeader && w.group.Type != TargetALB {
		if _, err := conn.Write(proxyHeader(raw.client, s.addr, 1)); err != nil {
			conn.Close()
			return nil, err
		}
	}
	if w.group.Protocol != TLS {
		return conn, nil
	}
	config := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}
	if session != nil && session.ConnectionState().NegotiatedProtocol != "" {
		config.NextProtos = []string{session.ConnectionState().NegotiatedProtocol}
	}
	return handshake(ctx, conn, config, s.plane.options.ConnectTimeout)
}

// dialAs connects from the client's address if the group preserves it. A
// loopback address of the client's is one of this machine's; others are not, and
// then the load balancer's own is used.
func dialAs(ctx context.Context, client netip.Addr, w *way) (net.Conn, error) {
	var d net.Dialer
	if w.group.attributes.preserve && client.IsLoopback() && client.Is4() == w.member.Address.Addr().Is4() {
		d.LocalAddr = &net.TCPAddr{IP: client.AsSlice()}
	}
	return d.DialContext(ctx, "tcp", w.member.Address.String())
}

// join copies both ways until both ends are done, or something ends the flow.
func (s *tcpSocket) join(f *front, w *way, raw *clientConn, client, backend net.Conn) {
	ended := make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	abort := func(why string) {
		w.own, w.why = true, why
		_ = raw.SetLinger(0)
		client.Close()
		backend.Close()
	}
	flow := s.plane.flows.add(s.key, w.group.Name)
	defer s.plane.flows.remove(flow)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		if why := awaitEnd(s.lifetime, w, flow, ended); why != "" {
			abort(why)
		}
	})
	sockets.Join(client, backend, sockets.Idle{Both: f.attributes.tcpIdle})
	end()
	watcher.Wait()
}

// awaitEnd is why a flow must end before its ends do; "" when it need not.
func awaitEnd(life context.Context, w *way, flow *flow, ended <-chan struct{}) string {
	gone, unwell := w.member.link.gone.Done(), w.member.link.health.alarm()
	if !w.group.attributes.terminate {
		gone = nil
	}
	if w.group.attributes.keepUnwell || w.member.link.health.now() == StateUnhealthy { // chosen although unhealthy
		unwell = nil
	}
	select {
	case <-ended:
		return ""
	case <-gone:
		return "the target was deregistered and its delay has run out"
	case <-unwell:
		return "the target became unhealthy"
	case <-flow.unwanted:
		return "the target group's weight is 0"
	case <-life.Done():
		return "the listener is gone"
	}
}
