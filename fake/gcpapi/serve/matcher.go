package serve

import (
	"errors"
	"fmt"
)

// Matcher is a Config made ready, for many requests. It is safe for concurrent use.
type Matcher struct {
	config   Config
	s        *Switches
	services map[string]BackendService // by Ref
	hosts    []hostPattern
	matchers map[string]*pathMatcher
	fallback *route
}

// New makes a Config ready. The error is [URLMap.Check]'s, or an httpsRedirect behind
// a target HTTPS proxy.
func New(c Config, s Switches) (*Matcher, error) {
	err := c.URLMap.Check(Limits{Flavour: c.Flavour, Bytes: c.Bytes})
	if c.Scheme == "https" {
		err = errors.Join(err, c.URLMap.CheckHTTPS())
	}
	if err != nil {
		return nil, err
	}
	u := &c.URLMap
	m := &Matcher{config: c, s: s.withDefaults(), services: map[string]BackendService{}, matchers: map[string]*pathMatcher{}}
	for reference, service := range c.Services {
		m.services[Ref(reference)] = service
	}
	m.hosts = hostPatterns(u, m.s)
	for i := range u.PathMatchers {
		m.matchers[u.PathMatchers[i].Name] = newPathMatcher(u, &u.PathMatchers[i], m.s)
	}
	m.fallback = &route{name: "default", service: u.DefaultService, action: u.DefaultRouteAction, redirect: u.DefaultURLRedirect,
		headers: outward(u.HeaderAction), isolated: true}
	return m, nil
}

// Answer says what becomes of a request, under given positions of the switches. The
// error is [New]'s. For many requests make a [Matcher].
func (c *Config) Answer(r Request, s Switches) (Answer, error) {
	m, err := New(*c, s)
	if err != nil {
		return Answer{}, err
	}
	return m.Answer(r), nil
}

// Answer says what becomes of a request.
func (m *Matcher) Answer(r Request) Answer {
	v := m.view(&r)
	if to, ok := v.collapsed(); ok {
		return Answer{Rule: "dot segments", Why: fmt.Sprintf("%q has /../", r.Path), Own: m.collapse(v, to)}
	}
	chosen, p, why := m.choose(v)
	out := Answer{Rule: chosen.name, Why: why}
	out.Own, out.Forward = m.act(v, chosen, p)
	return out
}

// choose is the host rule first, alone, and then its path matcher.
func (m *Matcher) choose(v *view) (*route, portion, string) {
	for i := range m.hosts {
		h := &m.hosts[i]
		if !h.holds(v.hostName, v.hostPort, m.s) {
			continue
		}
		matcher := m.matchers[h.matcher]
		why := fmt.Sprintf("host %q is in %s", v.Host, h.text)
		for j := range matcher.candidates {
			c := &matcher.candidates[j]
			if p, reason, ok := c.holds(v); ok {
				return c.route, p, why + "; " + reason
			}
		}
		return matcher.fallback, portion{}, why + "; no rule takes it"
	}
	return m.fallback, portion{}, fmt.Sprintf("no host rule takes host %q", v.Host)
}
