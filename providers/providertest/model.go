package providertest

import (
	"fmt"
	"maps"
	"slices"

	"gatehouse.dev/lbmodel"
)

// cluster is the name of the cluster that the suite's gateways live in.
const cluster = "laws"

// clusterOwner stands for the whole cluster.
var clusterOwner = lbmodel.Owner{Cluster: cluster}

func ownerOf(name string) lbmodel.Owner {
	return lbmodel.Owner{Cluster: cluster, Kind: "Gateway", Namespace: "apps", Name: name, UID: "uid-" + name}
}

// model is a scene's gateway as translation would hand it over.
func (b *bench) model(s scene, name string) lbmodel.Gateway {
	g := s.gateways[name]
	source := lbmodel.Source{Kind: "Gateway", Namespace: "apps", Name: name}
	gw := lbmodel.Gateway{Owner: ownerOf(name), Settings: b.harness.Settings(g.location)}
	if g.issued {
		gw.Identities = append(gw.Identities, b.clientOf(s, source))
	}
	if g.https {
		gw.Identities = append(gw.Identities, b.keys.certificate("server-"+name, g.renewed, source))
	}
	gw.Trust = b.trustOf(s, g)
	for _, pool := range slices.Sorted(maps.Keys(g.pools)) {
		gw.Pools = append(gw.Pools, poolOf(s, g, pool))
	}
	gw.Listeners = append(gw.Listeners, listener(g, source, lbmodel.ProtocolHTTP, 80))
	if g.https {
		l := listener(g, source, lbmodel.ProtocolHTTPS, 443)
		l.TLS = &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Certificates: []string{"server-" + name}}
		gw.Listeners = append(gw.Listeners, l)
	}
	if offers, _ := b.world.Provider().Offers(gw.Settings); g.limited && offers.Offers(lbmodel.FeatureSourceRanges) {
		for i := range gw.Listeners {
			gw.Listeners[i].SourceRanges = []string{"10.0.0.0/8", "2001:db8::/32"}
		}
	}
	if b.harness.Fit != nil {
		gw = b.harness.Fit(gw)
	}
	if g.adopt {
		gw = b.harness.Adopt(b.world, gw)
	}
	return gw
}

func (b *bench) trustOf(s scene, g sketch) []lbmodel.Trust {
	used := map[string]bool{}
	for _, p := range g.pools {
		used[p.trust] = p.trust != ""
	}
	var out []lbmodel.Trust
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if !used[name] {
			continue
		}
		t := s.rotation
		t.Name, t.Source = name, lbmodel.Source{Kind: "ConfigMap", Namespace: "apps", Name: name}
		for _, n := range s.trust[name] {
			if t.Unknown {
				break
			}
			t.Roots = append(t.Roots, b.keys.root(n))
		}
		slices.SortFunc(t.Roots, func(a, b lbmodel.Root) int { return compareStrings(a.SHA256, b.SHA256) })
		out = append(out, t)
	}
	return out
}

// clientOf is a client identity, bound to the roots if the scene says so.
func (b *bench) clientOf(s scene, source lbmodel.Source) lbmodel.Identity {
	out := b.keys.identity("client", source)
	for _, numbers := range s.trust {
		for _, n := range numbers {
			if s.bound {
				out.Renew.Authorities = append(out.Renew.Authorities, b.keys.root(n).KeyID)
			}
		}
	}
	slices.Sort(out.Renew.Authorities)
	if s.bound {
		out.Renew.Held = s.held
	}
	return out
}

func poolOf(s scene, g sketch, name string) lbmodel.Pool {
	p := g.pools[name]
	out := lbmodel.Pool{
		Name: name, Group: p.group, Protocol: p.protocol,
		Source:    lbmodel.Source{Kind: "Service", Namespace: "apps", Name: name},
		Endpoints: endpointsOf(p.group, s.groups[p.group]),
	}
	if s.unknown {
		out.Endpoints = nil
	}
	if p.trust != "" {
		out.TLS = &lbmodel.BackendTLS{
			Source: lbmodel.Source{Kind: "BackendTLSPolicy", Namespace: "apps", Name: name},
			SNI:    "backend.test", Trust: p.trust, Floor: lbmodel.TLSServerOnly,
		}
		if p.protocol == lbmodel.PoolH2C {
			out.Protocol = lbmodel.PoolHTTP2 // cleartext by name: with TLS it is HTTP/2
		}
		if g.issued {
			out.TLS.Identity = "client"
		}
	}
	return out
}

// endpointsOf are a group's two endpoints; each replacement takes one away and
// brings another, as a rollout does.
func endpointsOf(group string, replaced int) []lbmodel.Endpoint {
	var out []lbmodel.Endpoint
	for i := range 2 {
		out = append(out, lbmodel.Endpoint{
			Address: fmt.Sprintf("10.1.%d.%d", networkOf(group), 1+(replaced+i)%250),
			Port:    8080, Ready: true, Serving: true,
			Pod: lbmodel.Source{Kind: "Pod", Namespace: "apps", Name: fmt.Sprintf("pod-%d", replaced+i)},
		})
	}
	return out
}

// networkOf is a number of its own for each group.
func networkOf(group string) int {
	if i := slices.Index(groups, group); i >= 0 {
		return i
	}
	n := 0
	for _, digit := range group {
		if digit >= '0' && digit <= '9' {
			n = n*10 + int(digit-'0')
		}
	}
	return 10 + n/100%200 // "apps/new7:80" is 780
}

func listener(g sketch, source lbmodel.Source, protocol lbmodel.Protocol, port int32) lbmodel.Listener {
	source.Section = fmt.Sprintf("l%d", port)
	out := lbmodel.Listener{Name: source.Section, Source: source, Port: port, Protocol: protocol}
	for _, r := range g.routes {
		out.Rules = append(out.Rules, ruleOf(r))
	}
	return out
}

func ruleOf(r route) lbmodel.Rule {
	source := lbmodel.Source{Kind: "HTTPRoute", Namespace: "apps", Name: "route" + r.path[1:], Section: "rules[0]"}
	forward := &lbmodel.Forward{}
	for _, p := range r.pools {
		forward.Backends = append(forward.Backends, lbmodel.Backend{Source: source, Pool: p, Weight: 1})
	}
	return lbmodel.Rule{
		Source:   source,
		Hostname: "shop.test",
		Match:    lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: r.path}},
		Action:   lbmodel.Action{Forward: forward},
	}
}

// probes are the requests that a scene's routes answer.
func (s scene) probes() []Probe {
	var out []Probe
	for _, name := range s.names() {
		g := s.gateways[name]
		ports := []int32{80}
		if g.https {
			ports = append(ports, 443)
		}
		for _, port := range ports {
			for _, r := range g.routes {
				out = append(out, Probe{Owner: ownerOf(name), Port: port, Host: "shop.test", Path: r.path})
			}
		}
	}
	return out
}
