package serve

import (
	"fmt"
	"net/netip"
	"reflect"
)

// balancer is a compiled LoadBalancer.
type balancer struct {
	LoadBalancer
	alb    albAttributes
	guards guards
}

// front is a compiled listener: what its sockets do.
type front struct {
	*Listener
	u          *Undocumented
	balancer   *balancer
	attributes listenerAttributes
	rules      *ruleSet
	actions    map[*rule]*action
	tls        *frontTLS // of HTTPS and TLS
}

// action is a compiled Action. All fields nil is one that is not emulated.
type action struct {
	Action
	forward *forward
}

// String names the listener in errors.
func (f *front) String() string {
	return fmt.Sprintf("load balancer %q, listener %q", f.balancer.Name, f.Name)
}

// newFront compiles a listener. What it names and is not there costs the rule or
// the handshakes that need it.
func (s *Server) newFront(next *state, b *balancer, l *Listener, stores []TrustStore) (*front, []error) {
	f := &front{Listener: l, u: next.u, balancer: b, attributes: newListenerAttributes(l.Attributes), actions: map[*rule]*action{}}
	f.rules = s.reusedRules(f)
	if f.rules == nil {
		f.rules = newRuleSet(l, next.u)
	}
	var problems []error
	for _, r := range append(f.rules.rules[:len(f.rules.rules):len(f.rules.rules)], f.rules.fallback) {
		a, err := s.newAction(next, r)
		f.actions[r] = a
		if err != nil {
			problems = append(problems, fmt.Errorf("%s, rule %s: %w", f, r.name, err))
		}
	}
	if l.Protocol == HTTPS || l.Protocol == TLS {
		var err error
		if f.tls, err = newFrontTLS(f, stores, s.options.Clock.Now); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", f, err))
		}
	}
	return f, problems
}

// reusedRules are the listener's rules as they were compiled before, if nothing
// changed: regular expressions are dear.
func (s *Server) reusedRules(f *front) *ruleSet {
	for _, key := range f.keys() {
		old := s.state.fronts[key]
		if old != nil && *old.u == *f.u && reflect.DeepEqual(old.Rules, f.Rules) && reflect.DeepEqual(old.Default, f.Default) {
			return old.rules
		}
	}
	return nil
}

func (s *Server) newAction(next *state, r *rule) (*action, error) {
	if len(r.Actions) == 0 {
		return &action{}, nil
	}
	a := &action{Action: r.Actions[len(r.Actions)-1]}
	if a.Forward == nil {
		return a, nil
	}
	a.forward = &forward{Forward: *a.Forward, shares: newShares(a.Forward.Groups, next.u, s.options.Rand)}
	var err error
	for _, w := range a.Forward.Groups {
		g := next.groups[w.Group]
		if g == nil {
			err = fmt.Errorf("there is no target group %q", w.Group)
		} else {
			g.used = true
		}
		a.forward.groups = append(a.forward.groups, g)
	}
	return a, err
}

// keys are the sockets that the listener needs.
func (f *front) keys() []socketKey {
	var out []socketKey
	for _, a := range f.Addresses {
		key := socketKey{balancer: f.balancer.Name, port: f.Port, asked: a}
		if f.Protocol != UDP {
			out = append(out, key)
		}
		if f.Protocol == UDP || f.Protocol == TCPUDP {
			key.udp = true
			out = append(out, key)
		}
	}
	return out
}

// forwardFor is where a Network Load Balancer's listener sends a client.
func (f *front) forwardFor(client netip.Addr) (*rule, *forward) {
	r := f.rules.match(&Request{Source: client})
	return r, f.actions[r].forward
}
