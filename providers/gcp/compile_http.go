package gcp

import (
	"fmt"
	"slices"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/gcp/settings"
)

// addHTTP adds a port's URL map and target proxy, and returns the proxy; "" when the
// port cannot be served.
func (c *compiler) addHTTP(alike, all []*lbmodel.Listener) Ref {
	first := alike[0]
	port := portText(first.Port)
	secure := first.Protocol == lbmodel.ProtocolHTTPS
	proxy := &TargetHTTPSProxy{sources: listenerSources(alike)}
	if secure && !c.addServerTLS(proxy, alike) {
		return ""
	}
	urls := c.add(c.name(KindURLMap, port, port), c.urlMap(alike, all))
	if !secure {
		return c.add(c.name(KindTargetHTTPProxy, port, port), &TargetHTTPProxy{URLMap: urls, sources: listenerSources(alike)})
	}
	proxy.URLMap = urls
	return c.add(c.name(KindTargetHTTPSProxy, port, port), proxy)
}

func hostText(host string) string {
	if host == "" {
		return "any hostname"
	}
	return host
}

// tellsHost says whether requests of a listener's port for a hostname are certain to
// meet a host of a URL map.
func (c *compiler) tellsHost(l *lbmodel.Listener, host string) bool {
	named := host != "" && !lbmodel.IsWildcardHostname(host)
	return named || l.Port == wellKnown(l.Protocol) || assumes(c.s, settings.HostPortIgnored)
}

// addServerTLS gives a proxy certificates and the policy by which clients are
// verified; false when it cannot be served.
func (c *compiler) addServerTLS(proxy *TargetHTTPSProxy, alike []*lbmodel.Listener) bool {
	first := alike[0]
	certificates := c.serverCertificates(alike)
	if len(certificates) == 0 {
		c.find(first.Source, c.source, "Programmed", "Invalid", lbmodel.CodeInvalid, "no listener of port %d has a certificate that Google Cloud takes", first.Port)
		return false
	}
	policy, err := c.serverPolicy(first)
	if err != nil {
		c.refuse(first.Source, c.source, "clients cannot be verified, so none is served: %v", err)
		return false
	}
	proxy.ServerTLSPolicy, proxy.demands = NamedRef(policy), policy != "" && !validationOf(first).Insecure
	if c.s.SSLPolicy != "" {
		proxy.SSLPolicy = Ref("projects/" + c.s.Project + "/" + scope(c.s.Location) + "/sslPolicies/" + c.s.SSLPolicy)
	}
	if c.f.globalExternal() {
		proxy.CertificateMap = NamedRef(c.certificateMap(alike, certificates))
		return true
	}
	if n := len(certificates); n > maxCertificates {
		c.exceed(first.Source, c.source, "port %d has %d certificates, and a proxy takes %d; the last are left out", first.Port, n, maxCertificates)
		certificates = certificates[:maxCertificates]
	}
	for _, ref := range certificates {
		proxy.SSLCertificates = append(proxy.SSLCertificates, NamedRef(ref))
	}
	return true
}

// maxCertificates is how many certificates a target proxy takes without a map.
const maxCertificates = 100

// urlMap is what a port's listeners serve. What no hostname takes is answered 404.
func (c *compiler) urlMap(served, all []*lbmodel.Listener) *URLMap {
	unmatched := c.answered(404)
	out := &URLMap{DefaultService: unmatched.service, DefaultRouteAction: unmatched.action, nobody: c.nobody()}
	b := &mapBuilder{compiler: c, out: out, seen: map[string]int{}, services: map[Ref]bool{}, left: c.s.Quotas.URLMapBytes - len(encode(out))}
	for _, l := range served {
		out.sources = append(out.sources, l.Source)
	}
	for _, routes := range hostRoutesOf(served, all) {
		b.addHost(routes)
	}
	out.sources = sources(out.sources...)
	return out
}

// mapBuilder puts hosts into a URL map, as long as there is room.
type mapBuilder struct {
	*compiler
	out      *URLMap
	seen     map[string]int // host rules of names, by what is in their path matchers
	services map[Ref]bool
	hosts    int
	left     int // bytes
	full     bool
}

// What a reference takes beside the text of its ID, and what a path matcher and a host
// take beside theirs, in bytes, at most: what we count must not be less than what the
// API does.
const (
	bytesPerService = 160
	bytesPerMatcher = 500
	bytesPerHost    = 100
)

// refuseHost tells the rules of a hostname of which it is not certain that its requests
// meet a host of the URL map: clients send the port in Host where it is not the scheme's
// own, and whether a host without one takes those is not documented.
func (b *mapBuilder) refuseHost(routes hostRoutes) {
	l := routes.listener
	for _, r := range routes.rules {
		if own, _ := lbmodel.IntersectHostnames(l.Hostname, r.Hostname); own == routes.hostname {
			b.refuse(r.Source, l.Source, "clients send port %d in Host, and whether Google Cloud takes such requests for %s is not documented, so only hostnames without a wildcard are served; "+
				"name them one by one, or have the operator assume %s", l.Port, hostText(routes.hostname), settings.HostPortIgnored)
		}
	}
}

// addHost adds a hostname with its rules, if there is room.
func (b *mapBuilder) addHost(routes hostRoutes) {
	l := routes.listener
	if !b.tellsHost(l, routes.hostname) {
		b.refuseHost(routes)
		return
	}
	b.hosts++
	b.left -= bytesPerHost + 2*len(routes.hostname)
	if b.full = b.full || b.hosts > b.s.Quotas.HostsPerURLMap || b.left < bytesPerMatcher; b.full {
		b.exceed(l.Source, b.source, "the hostname %s is beyond the %d hostnames or the %d bytes of a URL map, and is not served; use another gateway, or raise the quota",
			hostText(routes.hostname), b.s.Quotas.HostsPerURLMap, b.s.Quotas.URLMapBytes)
		return
	}
	left := b.left
	m := b.matcher(routes)
	hosts := patterns(routes.hostname, l.Port)
	key := encode(m.RouteRules)
	if i, ok := b.seen[key]; ok && len(hosts) > 1 && len(b.out.HostRules[i].Hosts)+len(hosts) <= maxHostsPerRule {
		b.left = left
		b.out.HostRules[i].Hosts = append(b.out.HostRules[i].Hosts, hosts...)
		return
	}
	if m.Name = fmt.Sprintf("hosts-%d", len(b.out.PathMatchers)); len(hosts) > 1 {
		b.seen[key] = len(b.out.HostRules)
	}
	b.out.PathMatchers = append(b.out.PathMatchers, m)
	b.out.HostRules = append(b.out.HostRules, HostRule{Hosts: hosts, PathMatcher: m.Name})
}

// maxHostsPerRule is how many hosts a host rule has.
const maxHostsPerRule = 1000

// matcher has a hostname's rules. Names with the same ones share it; wildcards do not:
// their order among themselves may count, and one host rule is all that may lead to it.
func (b *mapBuilder) matcher(routes hostRoutes) PathMatcher {
	unmatched := b.answered(404)
	m := PathMatcher{DefaultService: unmatched.service, DefaultRouteAction: unmatched.action}
	r := &ruleBuilder{mapBuilder: b, routes: routes}
	b.left -= bytesPerMatcher
	for _, rule := range routes.rules {
		if !r.add(&m, rule) {
			break // what would come after could answer in its place
		}
	}
	return m
}

// ruleBuilder puts rules into a path matcher.
type ruleBuilder struct {
	*mapBuilder
	routes     hostRoutes
	predicates int
	regexes    int
	templates  int
}

// The limits of a path matcher that nobody raises.
const (
	maxRules     = 1000
	maxTemplates = 100
	maxRegexes   = 5
)

// add adds a model's rule: false when there is no room for it. One whose match Google
// Cloud cannot take is left out, since no other match takes exactly its requests; one
// whose action it cannot do answers 500.
func (b *ruleBuilder) add(m *PathMatcher, r *lbmodel.Rule) bool {
	made, err := b.routeRules(b.routes.listener, r)
	if err != nil {
		b.refuseFor(r.Source, b.routes.listener.Source, err)
		return true
	}
	if err := b.spend(m, made); err != nil {
		b.exceed(r.Source, b.routes.listener.Source, "this rule and those behind it are left out for %s: %v", hostText(b.routes.hostname), err)
		return false
	}
	b.out.sources = append(b.out.sources, r.Source)
	if fw := r.Action.Forward; fw != nil {
		for _, backend := range fw.Backends {
			b.out.sources = append(b.out.sources, backend.Source)
		}
	}
	for _, rule := range made {
		rule.Priority = int32(len(m.RouteRules))
		m.RouteRules = append(m.RouteRules, rule)
	}
	return true
}

// spend counts what rules take of a path matcher's limits; an error says which is
// reached.
func (b *ruleBuilder) spend(m *PathMatcher, made []RouteRule) error {
	size := len(encode(made))
	services := map[Ref]bool{}
	for i := range made {
		b.count(&made[i])
		for _, s := range made[i].services() {
			size += bytesPerService
			if s != "" && !b.services[s] {
				services[s] = true
			}
		}
	}
	q := b.s.Quotas
	switch {
	case len(m.RouteRules)+len(made) > maxRules:
		return fmt.Errorf("a hostname of a URL map has %d rules at most; move routes to another hostname", maxRules)
	case b.predicates > q.PredicatesPerHost:
		return fmt.Errorf("the matches of a hostname have %d conditions at most (a path prefix has two); move routes to another hostname, or raise the quota", q.PredicatesPerHost)
	case b.regexes > maxRegexes:
		return fmt.Errorf("a hostname has %d regular expressions at most", maxRegexes)
	case b.templates > maxTemplates:
		return fmt.Errorf("a hostname has %d rules at most that replace a whole path under a prefix, or match a gRPC method of any service", maxTemplates)
	case len(b.services)+len(services) > q.BackendServicesPerURLMap:
		return fmt.Errorf("a URL map leads to %d backend services at most; use another gateway, or raise the quota", q.BackendServicesPerURLMap)
	case size > b.left:
		return fmt.Errorf("a URL map has %d bytes at most; use another gateway, or raise the quota", q.URLMapBytes)
	}
	b.left -= size
	for s := range services {
		b.services[s] = true
	}
	return nil
}

func (b *ruleBuilder) count(r *RouteRule) {
	for i := range r.MatchRules {
		m := &r.MatchRules[i]
		b.predicates += 1 + len(m.HeaderMatches) + len(m.QueryParameterMatches)
		if m.PathTemplateMatch != "" {
			b.templates++
		}
		if m.RegexMatch != "" {
			b.regexes++
		}
		for _, h := range m.HeaderMatches {
			if h.RegexMatch != "" {
				b.regexes++
			}
		}
		for _, q := range m.QueryParameterMatches {
			if q.RegexMatch != "" {
				b.regexes++
			}
		}
	}
}

// routeRules are a model's rule in Google's form: one, or one for each part of its path
// where what is done with them differs.
func (c *compiler) routeRules(l *lbmodel.Listener, r *lbmodel.Rule) ([]RouteRule, error) {
	m := matcher{c.s, c.f}
	parts, err := m.parts(&r.Match)
	if err != nil {
		return nil, err
	}
	headers, query, err := m.conditions(&r.Match)
	if err != nil {
		return nil, err
	}
	deeds, wrong := c.deeds(l, r, parts)
	if wrong != nil {
		c.refuseFor(r.Source, l.Source, wrong)
	}
	var out []RouteRule
	for i, d := range deeds {
		rule := parts[i].rule
		if d.template != "" {
			rule = MatchRule{PathTemplateMatch: d.template}
		}
		rule.HeaderMatches, rule.QueryParameterMatches = headers, query
		made := RouteRule{MatchRules: []MatchRule{rule}, Service: d.service, RouteAction: d.action, URLRedirect: d.redirect, HeaderAction: d.headers, broken: brokenStatus(&r.Match)}
		if n := len(out); n > 0 && sameDeed(&out[n-1], &made) {
			out[n-1].MatchRules = append(out[n-1].MatchRules, rule)
			continue
		}
		out = append(out, made)
	}
	return out, nil
}

// deeds are what is done with each part; one that cannot be done is a server error for
// all of them.
func (c *compiler) deeds(l *lbmodel.Listener, r *lbmodel.Rule, parts []pathPart) ([]deed, error) {
	var out []deed
	for _, part := range parts {
		d, err := c.deed(l, r, part)
		if err != nil {
			broken := c.answered(brokenStatus(&r.Match))
			return slices.Repeat([]deed{broken}, len(parts)), err
		}
		out = append(out, d)
	}
	return out, nil
}

func sameDeed(a, b *RouteRule) bool {
	x, y := *a, *b
	x.MatchRules, y.MatchRules = nil, nil
	return encode(x) == encode(y)
}
