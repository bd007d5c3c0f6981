package serve

import "fmt"

// Explanation is which rule takes a request and why.
type Explanation struct {
	Rule     string // its name; "default" for the default rule
	Priority int32  // 0 for the default rule
	Why      string // what made its conditions hold
	Passed   []Passed
	Actions  []Action
	// Host, Path and Query are the request's after the rule's transforms.
	Host, Path, Query string
	// Failed is why a transform fails, which the client sees as 500.
	Failed string
}

// Passed is a rule of higher precedence that did not take the request.
type Passed struct {
	Rule string
	Why  string
}

// Explain says which rule of a listener takes a request and why. It is pure: it
// is what a [Server] with this Config does. The error names a load balancer or
// listener that is not there.
func Explain(c Config, loadBalancer, listener string, r Request) (Explanation, error) {
	m, err := NewMatcher(c, loadBalancer, listener)
	if err != nil {
		return Explanation{}, err
	}
	return m.Explain(r), nil
}

// Matcher is one listener's rules, for many requests.
type Matcher struct{ rules *ruleSet }

// NewMatcher compiles a listener's rules. The error names a load balancer or
// listener that is not there.
func NewMatcher(c Config, loadBalancer, listener string) (*Matcher, error) {
	l, err := c.listener(loadBalancer, listener)
	if err != nil {
		return nil, err
	}
	return &Matcher{newRuleSet(l, c.Undocumented.withDefaults())}, nil
}

// Explain says which rule takes a request and why.
func (m *Matcher) Explain(r Request) Explanation { return m.rules.explain(&r) }

func (c *Config) listener(loadBalancer, name string) (*Listener, error) {
	for i := range c.LoadBalancers {
		if c.LoadBalancers[i].Name != loadBalancer {
			continue
		}
		for j := range c.LoadBalancers[i].Listeners {
			if l := &c.LoadBalancers[i].Listeners[j]; l.Name == name {
				return l, nil
			}
		}
	}
	return nil, fmt.Errorf("load balancer %q has no listener %q", loadBalancer, name)
}

func (s *ruleSet) explain(r *Request) Explanation {
	v := s.view(r)
	v.explains = true
	out := Explanation{Why: "no rule's conditions hold"}
	found := s.fallback
	for _, rule := range s.rules {
		why, ok := rule.holds(v)
		if ok {
			found, out.Why = rule, why
			break
		}
		out.Passed = append(out.Passed, Passed{rule.name, why})
	}
	out.Rule, out.Priority, out.Actions = found.name, found.Priority, found.Actions
	var err error
	if out.Host, out.Path, out.Query, err = found.rewritten(r, s.u); err != nil {
		out.Failed = err.Error()
	}
	return out
}
