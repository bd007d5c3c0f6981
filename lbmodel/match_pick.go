package lbmodel

import "errors"

// PickListener is the index of the listener that takes a host (of a Host header)
// or a name (of a TLS handshake) on a port: the one with the most specific
// hostname that covers it, and no other (listener isolation). It is -1 when
// there is none. TCP and UDP listeners have no names and are never picked.
func PickListener(listeners []Listener, port int32, host string) int {
	host = CanonicalHost(host)
	best := -1
	for i := range listeners {
		l := &listeners[i]
		if l.Port != port || !l.Protocol.HasHostnames() || !HostMatches(l.Hostname, host) {
			continue
		}
		if best < 0 || CompareHostnames(l.Hostname, listeners[best].Hostname) < 0 {
			best = i
		}
	}
	return best
}

// HasHostnames says whether listeners of the protocol are told apart by name.
func (p Protocol) HasHostnames() bool {
	return p == ProtocolHTTP || p == ProtocolHTTPS || p == ProtocolTLS
}

// GatewayMatcher is PickListener and Match for a whole gateway, made ready: a
// request finds its listener by port and host and its rule in there without
// allocating. It is safe for concurrent use.
type GatewayMatcher struct {
	ports map[int32]hostTable[*Matcher]
}

// NewGatewayMatcher compiles a gateway's HTTP, HTTPS and TLS listeners. The
// error is NewMatcher's for all of them, and the matcher beside it serves what
// can be served. The listeners must not change afterwards.
func NewGatewayMatcher(listeners []Listener) (*GatewayMatcher, error) {
	g := &GatewayMatcher{ports: map[int32]hostTable[*Matcher]{}}
	var broken []error
	for i := range listeners {
		l := &listeners[i]
		if !l.Protocol.HasHostnames() {
			continue
		}
		m, err := NewMatcher(l)
		broken = append(broken, err)
		g.add(l, m)
	}
	return g, errors.Join(broken...)
}

// add keeps the first of listeners that are not distinct, as PickListener does.
func (g *GatewayMatcher) add(l *Listener, m *Matcher) {
	table, ok := g.ports[l.Port]
	if !ok {
		table = newHostTable[*Matcher]()
	}
	if _, taken := table.get(l.Hostname); !taken {
		table.set(l.Hostname, m)
	}
	g.ports[l.Port] = table
}

// Pick is the matcher of the listener that takes a host or server name on a
// port; nil when there is none: 404, or a refused handshake.
func (g *GatewayMatcher) Pick(port int32, host string) *Matcher {
	table, ok := g.ports[port]
	if !ok {
		return nil
	}
	host = CanonicalHost(host)
	for m := range table.candidates(host) {
		return m
	}
	return nil
}

// Match is the answer of the listener that takes the request's host on its port.
func (g *GatewayMatcher) Match(r *Request) Answer {
	m := g.Pick(r.Port, r.Host)
	if m == nil {
		return Answer{Index: noRule}
	}
	return m.Match(r)
}

// Misdirected says whether an HTTPS request came over a connection whose server
// name belongs to another listener than its host does: answer 421, as
// Listener.hostname of Gateway API asks for. A connection without a server name
// is not misdirected, and a host that no listener takes is a 404.
func (g *GatewayMatcher) Misdirected(r *Request) bool {
	if r.SNI == "" {
		return false
	}
	byHost := g.Pick(r.Port, r.Host)
	return byHost != nil && byHost != g.Pick(r.Port, r.SNI)
}
