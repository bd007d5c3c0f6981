package gcp

import (
	"errors"
	"slices"

	"gatehouse.dev/lbmodel"
)

// addTCP adds a target proxy for connections of a port; "" when there is nobody to
// serve them: then the port is closed.
func (c *compiler) addTCP(l *lbmodel.Listener) Ref {
	if l.Forward == nil {
		return ""
	}
	service, err := c.oneService(l.Forward, protocolTCP)
	if err != nil {
		c.refuseFor(l.Route, l.Source, err)
		return ""
	}
	return c.addTCPProxy(service, l.Port, sources(l.Source, l.Route))
}

// addTCPProxy adds a target proxy. Regional ones cannot be changed, so all of it is its
// name.
func (c *compiler) addTCPProxy(service Ref, port int32, from []lbmodel.Source) Ref {
	return c.add(c.name(KindTargetTCPProxy, portText(port), portText(port), string(service)), &TargetTCPProxy{Service: service, sources: from})
}

// oneService is the backend service of a forward that has one.
func (c *compiler) oneService(fw *lbmodel.Forward, protocol string) (Ref, error) {
	var out []Ref
	for _, b := range fw.Backends {
		if b.Weight == 0 {
			continue
		}
		ref, err := c.streamService(&b, protocol)
		if err != nil {
			return "", err
		}
		out = append(out, ref)
	}
	switch {
	case len(out) == 0:
		return "", errors.New("no backend gets connections, so the port is closed")
	case len(out) > 1:
		return "", errors.New("a Network Load Balancer sends the connections of a port to one backend; connections are not shared by weight, and the port is closed")
	case out[0] == "":
		return "", errors.New("the backend cannot be reached, so the port is closed")
	default:
		return out[0], nil
	}
}

// streamService is the backend service of a share of connections; "" of one that is
// broken.
func (c *compiler) streamService(b *lbmodel.Backend, protocol string) (Ref, error) {
	if b.Pool == "" {
		return "", nil
	}
	ref, err := c.service(b.Pool, nil)
	if err != nil {
		return "", err
	}
	if p := c.pools[b.Pool]; p.held == "" && protocolOf(p.pool) != protocol {
		return "", errors.New("the backend speaks HTTP, and the listener passes connections on as they are")
	}
	return ref, nil
}

// addTLS adds a target proxy with a TlsRoute for a port whose connections are passed
// through by their server name.
func (c *compiler) addTLS(listeners []*lbmodel.Listener) Ref {
	first := listeners[0]
	if c.f.globalExternal() {
		c.find(first.Source, c.source, "Accepted", "UnsupportedProtocol", lbmodel.CodeUnsupported, "server names are not told apart by global external load balancers; use gcp.flavour RegionalExternal")
		return ""
	}
	nobody := c.addNobody(protocolTCP)
	rest, rules, from := c.tlsRules(listeners, nobody)
	proxy := c.addTCPProxy(rest, first.Port, from)
	if len(rules) > 0 {
		c.add(c.name(KindTLSRoute, portText(first.Port), portText(first.Port)), &TLSRoute{TargetProxies: []LocatedRef{LocatedRef(proxy)}, Rules: rules, sources: from, nobody: nobody})
	}
	return proxy
}

// tlsRules are what is done with each server name, most specific first, and who gets
// the connections of all others.
func (c *compiler) tlsRules(listeners []*lbmodel.Listener, nobody Ref) (rest Ref, out []TLSRule, from []lbmodel.Source) {
	rest, from = nobody, listenerSources(listeners)
	quota := c.s.Quotas.ServerNamesPerRoute
	for _, host := range serverNames(listeners) {
		l := listenerOf(listeners, host)
		if l == nil {
			continue
		}
		rule := sniRule(l, host)
		if rule != nil {
			from = sources(append(from, rule.Source)...)
		}
		switch {
		case host != "" && len(out) == quota:
			c.exceed(l.Source, c.source, "the server name %s is one more than the %d of a TLS route; it and less specific ones are refused. Use another port, or raise the quota", host, quota)
			return nobody, out, from
		case host != "":
			out = append(out, TLSRule{Matches: []TLSMatch{{SNIHost: []string{host}}}, Action: TLSAction{Destinations: c.destinations(l, rule, nobody)}})
		case rule != nil:
			rest = c.restService(l, rule, nobody)
		}
	}
	return rest, out, from
}

// serverNames are those of listeners and their rules, most specific first.
func serverNames(listeners []*lbmodel.Listener) []string {
	var out []string
	for _, l := range listeners {
		out = append(out, l.Hostname)
		for i := range l.SNI {
			if host, ok := lbmodel.IntersectHostnames(l.Hostname, l.SNI[i].Hostname); ok {
				out = append(out, host)
			}
		}
	}
	slices.SortFunc(out, lbmodel.CompareHostnames)
	return slices.Compact(out)
}

// sniRule is a listener's first rule that takes a server name.
func sniRule(l *lbmodel.Listener, host string) *lbmodel.SNIRule {
	for i := range l.SNI {
		if own, ok := lbmodel.IntersectHostnames(l.Hostname, l.SNI[i].Hostname); ok && covers(own, host) {
			return &l.SNI[i]
		}
	}
	return nil
}

// destinations are who gets a rule's connections. Those that nobody gets are closed by
// a backend service without backends.
func (c *compiler) destinations(l *lbmodel.Listener, rule *lbmodel.SNIRule, nobody Ref) []Destination {
	closed := []Destination{{ServiceName: LocatedRef(nobody), Weight: 1}}
	if rule == nil {
		return closed
	}
	var refs []Ref
	var weights []int64
	for _, b := range rule.Forward.Backends {
		if b.Weight == 0 {
			continue
		}
		ref, err := c.streamService(&b, protocolTCP)
		if err != nil {
			c.refuseFor(rule.Source, l.Source, err)
			return closed
		}
		if ref == "" {
			ref = nobody
		}
		refs, weights = append(refs, ref), append(weights, int64(b.Weight))
	}
	if len(refs) == 0 {
		return closed
	}
	out := make([]Destination, len(refs))
	for i, w := range scaled(weights) {
		out[i] = Destination{ServiceName: LocatedRef(refs[i]), Weight: w}
	}
	return out
}

// restService gets the connections without a server name of their own.
func (c *compiler) restService(l *lbmodel.Listener, rule *lbmodel.SNIRule, nobody Ref) Ref {
	ref, err := c.oneService(&rule.Forward, protocolTCP)
	if err != nil {
		c.refuse(rule.Source, l.Source, "connections of any server name: %v", err)
		return nobody
	}
	return ref
}

// addPassthrough opens a port that sends packets to nodes as they are.
func (c *compiler) addPassthrough(listeners []*lbmodel.Listener, addresses []Ref) {
	l := listeners[0]
	if l.Protocol != lbmodel.ProtocolTCP && l.Protocol != lbmodel.ProtocolUDP {
		c.find(l.Source, c.source, "Accepted", "UnsupportedProtocol", lbmodel.CodeUnsupported, "a passthrough load balancer serves TCP and UDP, not %s; use another gcp.flavour", l.Protocol)
		return
	}
	if l.Forward == nil {
		return
	}
	service, err := c.oneService(l.Forward, transportOf(l))
	if err != nil {
		c.refuseFor(l.Route, l.Source, err)
		return
	}
	c.addClientFirewall(l)
	c.addForwardingRules(listeners, addresses, &ForwardingRule{BackendService: service})
}
