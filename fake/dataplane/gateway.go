package dataplane

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/netip"

	"gatehouse.dev/fake/settings"
	"gatehouse.dev/lbmodel"
)

// gateway is a compiled Gateway: nothing in it changes.
type gateway struct {
	plane    *DataPlane
	owner    lbmodel.Owner
	keys     map[string]tls.Certificate
	loopback bool // endpoints on this machine are allowed
	trust    map[string]*trust
	pools    map[string]*pool
	matcher  *lbmodel.GatewayMatcher
	routes   map[*lbmodel.Listener][]*route
	sources  map[*lbmodel.Listener]sources
	ports    map[portKey]*port
}

type portKey struct {
	number int32
	udp    bool
}

// port is what one port of a gateway does.
type port struct {
	gateway  *gateway
	number   int32
	protocol lbmodel.Protocol // of the first listener
	tls      *frontend        // HTTPS and TLS
	forward  *forward         // TCP and UDP
	sources  []sources        // of each listener
	noRule   *tally[int]      // answers without a rule
}

// compile builds a gateway beside whatever runs now. Parts that cannot be served
// are errors, and the rest is served without them.
func (d *DataPlane) compile(in Gateway) (*gateway, error) {
	g := &gateway{plane: d, owner: in.Model.Owner, keys: in.Keys, trust: map[string]*trust{}, pools: map[string]*pool{},
		routes: map[*lbmodel.Listener][]*route{}, sources: map[*lbmodel.Listener]sources{}, ports: map[portKey]*port{}}
	var broken errorList
	broken.add(g.readSettings(in.Model.Settings))
	for _, t := range in.Model.Trust {
		compiled, err := d.compileTrust(t)
		broken.add(err)
		g.trust[t.Name] = compiled
	}
	for _, p := range in.Model.Pools {
		compiled, err := g.compilePool(p)
		broken.add(err)
		g.pools[p.Name] = compiled
	}
	broken.add(g.compileListeners(in.Model.Listeners))
	if err := broken.join(); err != nil {
		return g, fmt.Errorf("%s: %w", g.owner, err)
	}
	return g, nil
}

func (g *gateway) readSettings(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var s settings.Settings
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	g.loopback = s.AllowLoopbackEndpoints
	return nil
}

// compileListeners groups listeners by the socket that they share.
func (g *gateway) compileListeners(listeners []lbmodel.Listener) error {
	var broken errorList
	var err error
	g.matcher, err = lbmodel.NewGatewayMatcher(listeners)
	broken.add(err)
	grouped := map[portKey][]*lbmodel.Listener{}
	for i := range listeners {
		l := &listeners[i]
		key := portKey{l.Port, l.Protocol == lbmodel.ProtocolUDP}
		grouped[key] = append(grouped[key], l)
		g.routes[l] = g.compileRoutes(l)
		g.sources[l], err = compileSources(l)
		broken.add(err)
	}
	for key, group := range grouped {
		p, err := g.compilePort(key, group)
		broken.add(err)
		g.ports[key] = p
	}
	return broken.join()
}

func (g *gateway) compilePort(key portKey, group []*lbmodel.Listener) (*port, error) {
	first := group[0]
	p := &port{gateway: g, number: key.number, protocol: first.Protocol, noRule: g.plane.tallies.requests(g.owner, "", "")}
	for _, l := range group {
		p.sources = append(p.sources, g.sources[l])
	}
	switch first.Protocol {
	case lbmodel.ProtocolHTTPS, lbmodel.ProtocolTLS:
		var err error
		p.tls, err = g.compileFrontend(group)
		return p, err
	case lbmodel.ProtocolTCP, lbmodel.ProtocolUDP:
		if first.Forward != nil {
			p.forward = g.compileForward(first.Forward, first.Route.String())
		}
	}
	return p, nil
}

// wants are the sockets that a gateway needs.
func (g *gateway) wants(addresses []netip.Addr) map[socketKey]*port {
	out := map[socketKey]*port{}
	for _, a := range addresses {
		for key, p := range g.ports {
			out[socketKey{netip.AddrPortFrom(a.Unmap(), uint16(key.number)), key.udp}] = p
		}
	}
	return out
}
