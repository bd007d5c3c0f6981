package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/naming"
)

// addPools adds the pools and the endpoint groups that they speak to.
func (c *compiler) addPools() {
	for _, p := range c.gw.Pools {
		id, group := groupOf(p, c.settings.Location)
		c.put(c.shared, lbmodel.NewResource(id, group).With(lbmodel.Shared))
		spec := &Pool{Group: RefTo(id), Protocol: p.Protocol, Health: healthCheck(p.Health), Persistence: p.Persistence}
		spec.sources, spec.hop = sources(p.Source), p.Name
		if p.TLS != nil {
			spec.sources = sources(p.Source, p.TLS.Source)
			spec.TLS = c.poolTLS(p.TLS)
		}
		c.pools[p.Name] = c.add(c.id(KindPool, p.Name, p.Name, string(p.Protocol)), spec)
	}
}

// poolTLS is the TLS of a pool. A trust or identity that is not in the gateway
// stays a reference to nothing, which waits: it never becomes weaker TLS.
func (c *compiler) poolTLS(t *lbmodel.BackendTLS) *PoolTLS {
	c.follow(t)
	return &PoolTLS{
		SNI: t.SNI, SANs: t.SANs, Trust: c.named(c.trust, KindTrust, t.Trust, t.Source),
		Identity: c.named(c.identities, KindCertificate, t.Identity, t.Source),
		Floor:    t.Floor, MinVersion: t.MinVersion, ALPN: t.ALPN, NoALPN: t.NoALPN,
	}
}

// follow makes the certificate that is shown to a backend follow its roots.
func (c *compiler) follow(t *lbmodel.BackendTLS) {
	id, shown := refID(c.identities[t.Identity])
	roots, verified := refID(c.trust[t.Trust])
	if !shown || !verified {
		return
	}
	if cert := c.own[id].Spec.(*Certificate); !slices.Contains(cert.follows, roots) {
		cert.follows = append(cert.follows, roots)
	}
}

// named looks up a reference by the model's name.
func (c *compiler) named(in map[string]Ref, kind, name string, about lbmodel.Source) Ref {
	if name == "" {
		return ""
	}
	if ref, ok := in[name]; ok {
		return ref
	}
	c.find(about, "Programmed", "Invalid", lbmodel.CodeInternal, "the gateway has no %s named %q", kind, name)
	return RefTo(lbmodel.ID{Kind: kind, Location: c.settings.Location, Name: "missing-" + naming.Label(name, NameLimit)})
}

// groupOf is the endpoint group of a pool. It is the same for every pool of the
// pool's Group that has the same transport.
func groupOf(p lbmodel.Pool, location string) (lbmodel.ID, *EndpointGroup) {
	transport := "TCP"
	if p.Protocol == lbmodel.PoolUDP {
		transport = "UDP"
	}
	group := cmp.Or(p.Group, p.Name)
	id := lbmodel.ID{Kind: KindEndpointGroup, Location: location, Name: Name(group, KindEndpointGroup, group, transport)}
	return id, &EndpointGroup{
		Group: group, Transport: transport, source: p.Source,
		Endpoints: endpointsOf(p.Endpoints), Unknown: p.Endpoints == nil,
	}
}

// endpointsOf are the endpoints that can get traffic, in a fixed order, without
// what the cloud does not look at.
func endpointsOf(all []lbmodel.Endpoint) []lbmodel.Endpoint {
	out := []lbmodel.Endpoint{}
	for _, e := range all {
		if e.Ready || e.Serving {
			e.Node, e.Instance, e.Pod = "", "", lbmodel.Source{}
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b lbmodel.Endpoint) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.FQDN, b.FQDN), cmp.Compare(a.Port, b.Port))
	})
	return slices.CompactFunc(out, func(a, b lbmodel.Endpoint) bool { return a.Target() == b.Target() })
}

// healthCheck fills in what the service would: a Spec is complete.
func healthCheck(h *lbmodel.HealthCheck) *lbmodel.HealthCheck {
	if h == nil {
		return nil
	}
	out := *h
	out.Source = lbmodel.Source{}
	out.Interval = cmp.Or(out.Interval, lbmodel.Duration(10*time.Second))
	out.Timeout = cmp.Or(out.Timeout, lbmodel.Duration(5*time.Second))
	out.Healthy = cmp.Or(out.Healthy, 2)
	out.Unhealthy = cmp.Or(out.Unhealthy, 3)
	return &out
}

// addListener adds a listener and its rules.
func (c *compiler) addListener(l lbmodel.Listener) {
	host := cmp.Or(l.Hostname, "any")
	id := c.id(KindListener, fmt.Sprintf("%s-%d-%s", l.Protocol, l.Port, host), strconv.Itoa(int(l.Port)), string(l.Protocol), l.Hostname)
	balancer := lbmodel.ID{Kind: KindBalancer, Location: c.settings.Location, Name: c.name}
	spec := &Listener{Balancer: RefTo(balancer), Port: l.Port, Protocol: l.Protocol, Hostname: l.Hostname, SourceRanges: l.SourceRanges, source: l.Source}
	if l.TLS != nil {
		spec.TLS = c.listenerTLS(l.TLS, l.Source)
	}
	if err := spec.check(); err != nil {
		c.find(l.Source, "Programmed", "Invalid", lbmodel.CodeInvalid, "listener %s: %v", l.Name, err)
		return
	}
	c.add(id, spec)
	c.addRules(id, rulesOf(l))
}

func (c *compiler) listenerTLS(t *lbmodel.FrontendTLS, about lbmodel.Source) *ListenerTLS {
	out := &ListenerTLS{Mode: t.Mode, Options: t.Options}
	for _, name := range t.Certificates {
		out.Certificates = append(out.Certificates, c.named(c.identities, KindCertificate, name, about))
	}
	if v := t.Validation; v != nil {
		out.ClientTrust, out.Insecure = c.named(c.trust, KindTrust, v.Trust, about), v.Insecure
	}
	return out
}

// rulesOf are a listener's rules, whatever its protocol.
func rulesOf(l lbmodel.Listener) []lbmodel.Rule {
	out := slices.Clone(l.Rules)
	for _, s := range l.SNI {
		out = append(out, lbmodel.Rule{Source: s.Source, Hostname: s.Hostname, Action: lbmodel.Action{Forward: &s.Forward}})
	}
	if l.Forward != nil {
		out = append(out, lbmodel.Rule{Source: l.Route, Action: lbmodel.Action{Forward: l.Forward}})
	}
	return out
}

// addRules adds rules in their order. What a rule matches is its name, so a rule
// that does something else, or stands elsewhere, is updated in place. Equal
// matches (only the first of them is ever reached) are told apart by a count.
func (c *compiler) addRules(listener lbmodel.ID, rules []lbmodel.Rule) {
	canonical := numbers.Canonical(len(rules))
	met := map[string]int{}
	for i, r := range rules {
		key := r.Hostname + " " + string(encode(r.Match))
		id := c.id(KindRule, cmp.Or(r.Match.Path.Value, r.Hostname, "rule"), listener.Name, key, strconv.Itoa(met[key]))
		met[key]++
		spec := &Rule{Listener: RefTo(listener), Number: canonical[i], Hostname: r.Hostname, Match: r.Match}
		spec.sources, spec.whole = sources(r.Source), c.whole()
		spec.Action = c.action(r, spec)
		c.add(id, spec)
	}
}

// whole says how much of a rule can be answered without a pool.
func (c *compiler) whole() lbmodel.Whole {
	if slices.Contains(c.settings.Without, string(lbmodel.FeatureFixedShare)) {
		return lbmodel.WholeRules
	}
	return lbmodel.AnyShare
}

// action is a rule's action with references in the place of pool names, and
// without sources: where a value came from moves with every edit of a route, and
// must not look like a change.
func (c *compiler) action(r lbmodel.Rule, spec *Rule) lbmodel.Action {
	out := r.Action
	out.Edits = c.edits(out.Edits, spec)
	if out.Forward == nil {
		return out
	}
	out.Forward = &lbmodel.Forward{Backends: slices.Clone(out.Forward.Backends)}
	for i := range out.Forward.Backends {
		b := &out.Forward.Backends[i]
		spec.sources = sources(append(spec.sources, b.Source)...)
		b.Edits = c.edits(b.Edits, spec)
		b.Pool = c.named(c.pools, KindPool, b.Pool, b.Source)
		b.Source = lbmodel.Source{}
	}
	return out
}

func (c *compiler) edits(e lbmodel.Edits, spec *Rule) lbmodel.Edits {
	e.Mirrors = slices.Clone(e.Mirrors)
	for i := range e.Mirrors {
		m := &e.Mirrors[i]
		spec.sources = sources(append(spec.sources, m.Source)...)
		m.Pool = c.named(c.pools, KindPool, m.Pool, m.Source)
		m.Source = lbmodel.Source{}
	}
	return e
}
