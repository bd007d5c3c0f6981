package aws

import (
	"fmt"
	"slices"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/aws/settings"
)

// addNetwork adds the Network Load Balancer with its listeners: those of the gateway
// and, where it stands in front of an Application Load Balancer, one for each port of
// that.
func (c *compiler) addNetwork(streams, http []*lbmodel.Listener) {
	f := c.newFront(typeNetwork)
	c.spent.certificates, c.spent.verifying = 0, 0 // quotas are of each load balancer
	for _, port := range byPort(streams) {
		c.addStreamPort(f, port)
	}
	if c.s.Flavour == settings.ApplicationBehindNetwork {
		for _, port := range byPort(http) {
			c.addPassage(f, port[0])
		}
	}
	c.addFront(f)
}

// addPassage sends a port to the same port of the Application Load Balancer.
func (c *compiler) addPassage(f *front, l *lbmodel.Listener) {
	inner := c.newFront(typeApplication)
	port := portText(l.Port)
	listener := c.listenerID(inner, l, "http")
	if _, ok := c.own[listener]; !ok || !c.open(f, l) || !c.admit(f, l) {
		return // refused, and told
	}
	id := c.name(KindTargetGroup, c.gw.Owner.Name+"-"+port, f.id.Name, inner.id.Name, port)
	group := c.add(id, &TargetGroup{
		Protocol: "TCP", TargetType: targetALB, Family: familyIPv4, Port: l.Port, VPC: c.s.VPC, site: c.site(),
		Health:     Health{Protocol: string(l.Protocol), Path: "/", Matcher: "200-499", Interval: 10, Timeout: 5, Healthy: 2, Unhealthy: 3},
		Attributes: map[string]string{}, sources: sources(l.Source),
	})
	targets := id
	targets.Kind = KindTargets
	c.add(targets, &Targets{Group: group, Targets: []Target{{LoadBalancer: refTo(inner.id), Listener: refTo(listener), Port: l.Port}}, source: l.Source})
	c.add(c.listenerID(f, l, "tcp"), &Listener{
		LoadBalancer: refTo(f.id), Port: l.Port, Protocol: "TCP",
		Default: Action{Forward: []Share{{Group: group, Weight: 1}}}, sources: sources(l.Source),
	})
}

// stream is where connections of a port go.
type stream struct {
	forward  *lbmodel.Forward
	about    lbmodel.Source
	listener *lbmodel.Listener
}

// addStreamPort adds one listener of AWS's for a port. It looks at no server name, so
// there is one set of backends for a port.
func (c *compiler) addStreamPort(f *front, listeners []*lbmodel.Listener) {
	alike := c.alikeStreams(listeners)
	first := alike[0]
	if !c.open(f, first) {
		return
	}
	id := c.listenerID(f, first, transportOf(first))
	spec := &Listener{LoadBalancer: refTo(f.id), Port: first.Port, Protocol: streamProtocol(first)}
	for _, l := range alike {
		spec.sources = sources(append(spec.sources, l.Source)...)
	}
	if arn := c.heldListener(first.Port); arn != "" {
		c.refuse(first.Source, c.source, "the listener %s is held, and a Network Load Balancer's listener has nothing but its backends; hold its load balancer instead", arn)
		return
	}
	if spec.Protocol == "TLS" && !c.addTLS(spec, id, alike) || !c.admit(f, first) {
		return
	}
	spec.Default = c.streamAction(f, spec, c.theOne(alike))
	c.add(id, spec)
}

// alikeStreams are the listeners that agree with the first one of their port; the
// others are refused.
func (c *compiler) alikeStreams(listeners []*lbmodel.Listener) []*lbmodel.Listener {
	var same []*lbmodel.Listener
	for _, l := range listeners {
		if streamProtocol(l) == streamProtocol(listeners[0]) {
			same = append(same, l)
			continue
		}
		c.refuse(l.Source, c.source, "a Network Load Balancer has one listener for a port, and port %d is %s already; use another port", l.Port, streamProtocol(listeners[0]))
	}
	alike, _ := c.alike(same)
	return alike
}

// streamProtocol is AWS's: what is passed through is TCP.
func streamProtocol(l *lbmodel.Listener) string {
	if l.Protocol == lbmodel.ProtocolTLS && l.TLS != nil && l.TLS.Mode == lbmodel.TLSPassthrough {
		return "TCP"
	}
	return string(l.Protocol)
}

// theOne is the first forward of a port, in matching order. Others with other backends
// are refused: AWS could not tell whose connections are whose.
func (c *compiler) theOne(listeners []*lbmodel.Listener) *stream {
	var one *stream
	for _, s := range streamsOf(listeners) {
		switch {
		case one == nil:
			one = &s
		case backendsText(s.forward) != backendsText(one.forward):
			c.refuse(s.about, s.listener.Source, "a Network Load Balancer has one set of backends for a port, whatever the server name, and port %d has those of %s; use another port",
				s.listener.Port, one.about)
		}
	}
	return one
}

func streamsOf(listeners []*lbmodel.Listener) []stream {
	var out []stream
	for _, l := range listeners {
		for i := range l.SNI {
			out = append(out, stream{&l.SNI[i].Forward, l.SNI[i].Source, l})
		}
		if l.Forward != nil {
			out = append(out, stream{l.Forward, l.Route, l})
		}
	}
	return out
}

// backendsText tells sets of backends apart, wherever they came from.
func backendsText(fw *lbmodel.Forward) string {
	all := slices.Clone(fw.Backends)
	for i := range all {
		all[i].Source = lbmodel.Source{}
	}
	return encode(all)
}

// streamAction sends connections to backends, or, where there are none, to nobody:
// they are closed.
func (c *compiler) streamAction(f *front, spec *Listener, s *stream) Action {
	if s != nil {
		spec.sources = sources(append(spec.sources, s.about)...)
		shares, err := c.streamShares(spec, s.forward)
		if err == nil && serves(shares) {
			return Action{Forward: shares}
		}
		if err != nil {
			c.refuse(s.about, s.listener.Source, "%v", err)
		}
	}
	id := c.name(KindTargetGroup, c.gw.Owner.Name+"-nobody", f.id.Name, "nobody", spec.Protocol)
	nobody := c.add(id, &TargetGroup{
		Protocol: spec.Protocol, TargetType: c.s.TargetType, Family: c.s.TargetFamily, Port: 80, VPC: c.s.VPC, site: c.site(),
		Health: defaultHealth(&lbmodel.Pool{Protocol: lbmodel.PoolTCP}), Attributes: map[string]string{}, sources: spec.sources,
	})
	targets := id
	targets.Kind = KindTargets
	c.add(targets, &Targets{Group: nobody, Targets: []Target{}, source: c.source})
	return Action{Forward: []Share{{Group: nobody, Weight: 1}}}
}

func (c *compiler) streamShares(spec *Listener, fw *lbmodel.Forward) ([]Share, error) {
	if len(fw.Backends) == 0 {
		return nil, nil
	}
	shares, pools, err := c.shares(fw)
	if err != nil {
		return nil, err
	}
	for _, p := range pools {
		group := protocolOf(p)
		if group != protocolOf(pools[0]) {
			return nil, fmt.Errorf("backends with TLS and without cannot share a port of a Network Load Balancer")
		}
		if group != spec.Protocol && (spec.Protocol != "TLS" || group != "TCP") {
			return nil, fmt.Errorf("a %s listener of a Network Load Balancer cannot speak %s to backends", spec.Protocol, group)
		}
	}
	return shares, nil
}
