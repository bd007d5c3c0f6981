package cloud

import (
	"crypto/tls"
	"net/netip"
	"slices"

	"gatehouse.dev/lbmodel"
)

// Serving is one balancer as the cloud holds it: what a data plane should do for
// it. It is made of what was created, never of what somebody wants.
type Serving struct {
	// Gateway names pools, trust and identities by handle. Its rules stand in the
	// order of their numbers. Sources are empty but for the owner's.
	Gateway   lbmodel.Gateway
	Addresses []netip.Addr // also those that the API does not show yet
	// Keys are by identity name. One that is not there (see [Cloud.Unlock]) cannot
	// be served: fail closed.
	Keys        map[string]tls.Certificate
	IdleSeconds int32 // of the network; 0 is the data plane's own
	Loopback    bool  // endpoints may be loopback addresses
}

// Serving is every balancer, in the order of creation. It makes no call.
func (c *Cloud) Serving() []Serving {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Serving
	for _, o := range c.state.order {
		if b, ok := o.body.(*Balancer); ok {
			out = append(out, c.serve(o, b))
		}
	}
	return out
}

// server gathers one balancer's Serving.
type server struct {
	state *state
	out   Serving
	seen  map[lbmodel.Handle]bool
}

func (c *Cloud) serve(o *object, b *Balancer) Serving {
	s := server{state: &c.state, seen: map[lbmodel.Handle]bool{}}
	s.out = Serving{Gateway: lbmodel.Gateway{Owner: o.Tags.Owner, Labels: b.Labels}, Loopback: b.Loopback}
	for _, ref := range b.Addresses {
		s.out.Addresses = append(s.out.Addresses, s.state.objects[lbmodel.Handle(ref)].Address)
	}
	if b.Network != "" {
		s.out.IdleSeconds = s.state.objects[lbmodel.Handle(b.Network)].body.(*Network).IdleSeconds
	}
	for _, l := range s.state.usersOf(o.handle(), KindListener) {
		s.out.Gateway.Listeners = append(s.out.Gateway.Listeners, s.listener(l))
	}
	slices.SortStableFunc(s.out.Gateway.Listeners, func(a, b lbmodel.Listener) int { return int(a.Port - b.Port) })
	s.keys(c.vault)
	return s.out
}

func (s *server) keys(vault map[lbmodel.Handle]tls.Certificate) {
	s.out.Keys = map[string]tls.Certificate{}
	for _, id := range s.out.Gateway.Identities {
		if key, ok := vault[lbmodel.Handle(id.Name)]; ok {
			s.out.Keys[id.Name] = key
		}
	}
}

func (s *server) listener(o *object) lbmodel.Listener {
	body := o.body.(*Listener)
	owner := o.Tags.Owner
	out := lbmodel.Listener{
		Name: string(o.handle()), Port: body.Port, Protocol: body.Protocol, Hostname: body.Hostname, SourceRanges: body.SourceRanges,
		Source: lbmodel.Source{Kind: owner.Kind, Namespace: owner.Namespace, Name: owner.Name},
	}
	if body.TLS != nil {
		out.TLS = s.frontendTLS(body.TLS)
	}
	s.addRules(&out, s.state.usersOf(o.handle(), KindRule))
	return out
}

func (s *server) frontendTLS(t *ListenerTLS) *lbmodel.FrontendTLS {
	out := &lbmodel.FrontendTLS{Mode: t.Mode, Certificates: t.Certificates, Options: t.Options}
	for _, ref := range t.Certificates {
		s.identity(ref)
	}
	if t.ClientTrust != "" {
		s.trust(t.ClientTrust)
		out.Validation = &lbmodel.ClientValidation{Trust: t.ClientTrust, Insecure: t.Insecure}
	}
	return out
}

// addRules puts the rules where the listener's protocol has them.
func (s *server) addRules(l *lbmodel.Listener, rules []*object) {
	slices.SortFunc(rules, func(a, b *object) int { return int(a.body.(*Rule).Number - b.body.(*Rule).Number) })
	for _, o := range rules {
		r := o.body.(*Rule)
		r.references(func(ref *Ref) {
			if p := s.state.objects[lbmodel.Handle(*ref)]; p.Kind == KindPool {
				s.pool(p)
			}
		})
		switch l.Protocol {
		case lbmodel.ProtocolTLS:
			l.SNI = append(l.SNI, lbmodel.SNIRule{Hostname: r.Hostname, Forward: forwardOf(r)})
		case lbmodel.ProtocolTCP, lbmodel.ProtocolUDP:
			l.Forward = new(forwardOf(r))
		default:
			l.Rules = append(l.Rules, lbmodel.Rule{Name: o.Name, Hostname: r.Hostname, Match: r.Match, Action: r.Action})
		}
	}
}

// forwardOf is a rule's forward; one without has no backend, and closes.
func forwardOf(r *Rule) lbmodel.Forward {
	if r.Action.Forward == nil {
		return lbmodel.Forward{}
	}
	return *r.Action.Forward
}

// first says whether a handle is met for the first time.
func (s *server) first(ref Ref) bool {
	h := lbmodel.Handle(ref)
	met := s.seen[h]
	s.seen[h] = true
	return !met
}

func (s *server) pool(o *object) {
	if !s.first(string(o.handle())) {
		return
	}
	body := o.body.(*Pool)
	group := s.state.objects[lbmodel.Handle(body.Group)].body.(*EndpointGroup)
	out := lbmodel.Pool{
		Name: string(o.handle()), Group: group.Group, Protocol: body.Protocol, Health: body.Health,
		Persistence: body.Persistence, Endpoints: group.Endpoints,
	}
	if t := body.TLS; t != nil {
		out.TLS = &lbmodel.BackendTLS{SNI: t.SNI, SANs: t.SANs, Trust: t.Trust, Identity: t.Identity, Floor: t.Floor,
			MinVersion: t.MinVersion, ALPN: t.ALPN, NoALPN: t.NoALPN}
		s.trust(t.Trust)
		s.identity(t.Identity)
	}
	s.out.Gateway.Pools = append(s.out.Gateway.Pools, out)
}

func (s *server) trust(ref Ref) {
	if ref == "" || !s.first(ref) {
		return
	}
	body := s.state.objects[lbmodel.Handle(ref)].body.(*Trust)
	s.out.Gateway.Trust = append(s.out.Gateway.Trust, lbmodel.Trust{Name: ref, System: body.System, Roots: body.Roots})
}

func (s *server) identity(ref Ref) {
	if ref == "" || !s.first(ref) {
		return
	}
	o := s.state.objects[lbmodel.Handle(ref)]
	id := o.body.(*Certificate).wanted(o.Leaf)
	id.Name = ref
	s.out.Gateway.Identities = append(s.out.Gateway.Identities, id)
}
