package cloud

import (
	"fmt"
	"testing"

	"gatehouse.dev/lbmodel"
)

// shop is a gateway with something of everything: HTTP and HTTPS, a TLS, a TCP and
// a UDP forward, mutual TLS to a mesh backend by an issued identity, a served
// certificate that is kept in a Secret, a mirror and a broken share.
func shop(t testing.TB, keys *keyring) lbmodel.Gateway {
	served := lbmodel.Identity{Name: "apps/shop-cert", Source: source("Secret", "shop-cert"), Issuer: lbmodel.IssuerSecret}
	served.Leaf = keys.give(issue(t, lbmodel.Identity{Name: "shop", DNSNames: []string{"shop.test"}}))
	client := lbmodel.Identity{Name: "mesh", Source: source("Gateway", "edge"), SPIFFEID: "spiffe://mesh.test/edge", Issuer: "Mesh"}
	return lbmodel.Gateway{
		Owner:      lbmodel.Owner{Cluster: "c1", Kind: "Gateway", Namespace: "apps", Name: "edge", UID: "u1"},
		Identities: []lbmodel.Identity{client, served},
		Trust:      []lbmodel.Trust{{Name: "mesh-roots", Source: source("ConfigMap", "roots"), Roots: []lbmodel.Root{newRoot(t, "mesh")}}},
		Pools: []lbmodel.Pool{
			pool("a", lbmodel.PoolHTTP1, "10.0.0.1", "10.0.0.2"),
			{Name: "b", Group: "apps/b:80", Protocol: lbmodel.PoolHTTP2, Source: source("Service", "b"),
				Health:    &lbmodel.HealthCheck{Protocol: "HTTP", Path: "/ready"},
				TLS:       &lbmodel.BackendTLS{SNI: "b.test", Trust: "mesh-roots", Identity: "mesh", Floor: lbmodel.TLSClientAndServer},
				Endpoints: []lbmodel.Endpoint{ready("10.0.1.1")}},
			pool("t", lbmodel.PoolTCP, "10.0.2.1"),
			pool("u", lbmodel.PoolUDP, "10.0.2.1"),
		},
		Listeners: []lbmodel.Listener{
			httpListener(80, prefix("/", "a"), prefix("/b", "b")),
			httpsListener(),
			{Name: "tls", Port: 8443, Protocol: lbmodel.ProtocolTLS, TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSPassthrough},
				SNI: []lbmodel.SNIRule{{Hostname: "db.test", Forward: forwardTo("t")}}},
			{Name: "tcp", Port: 9000, Protocol: lbmodel.ProtocolTCP, Forward: new(forwardTo("t")), Route: source("TCPRoute", "r")},
			{Name: "udp", Port: 9000, Protocol: lbmodel.ProtocolUDP, Forward: new(forwardTo("u"))},
		},
	}
}

func source(kind, name string) lbmodel.Source {
	return lbmodel.Source{Kind: kind, Namespace: "apps", Name: name}
}

func ready(address string) lbmodel.Endpoint {
	return lbmodel.Endpoint{Address: address, Port: 8080, Ready: true, Serving: true, Node: "n1", Pod: source("Pod", "p-"+address)}
}

func pool(name string, protocol lbmodel.PoolProtocol, addresses ...string) lbmodel.Pool {
	out := lbmodel.Pool{Name: name, Group: "apps/" + name + ":80", Protocol: protocol, Source: source("Service", name), Endpoints: []lbmodel.Endpoint{}}
	for _, a := range addresses {
		out.Endpoints = append(out.Endpoints, ready(a))
	}
	return out
}

func httpListener(port int32, rules ...lbmodel.Rule) lbmodel.Listener {
	name := fmt.Sprintf("l%d", port)
	from := source("Gateway", "edge")
	from.Section = name
	return lbmodel.Listener{Name: name, Source: from, Port: port, Protocol: lbmodel.ProtocolHTTP, Rules: rules}
}

func prefix(path string, pools ...string) lbmodel.Rule {
	from := source("HTTPRoute", "route")
	from.Section = "rules[0].matches[0]"
	f := &lbmodel.Forward{}
	for _, p := range pools {
		f.Backends = append(f.Backends, lbmodel.Backend{Source: from, Pool: p, Weight: 1})
	}
	return lbmodel.Rule{
		Source: from, Match: lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: path}},
		Action: lbmodel.Action{Forward: f},
	}
}

func forwardTo(pool string) lbmodel.Forward {
	return lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: pool, Weight: 1}}}
}

func httpsListener() lbmodel.Listener {
	l := httpListener(443, prefix("/", "a"))
	l.Protocol, l.Hostname = lbmodel.ProtocolHTTPS, "shop.test"
	l.TLS = &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Certificates: []string{"apps/shop-cert"},
		Validation: &lbmodel.ClientValidation{Trust: "mesh-roots"}}
	l.Rules[0].Action.Edits.Mirrors = []lbmodel.Mirror{{Pool: "b", Numerator: 1, Denominator: 10}}
	l.Rules[0].Action.Forward.Backends = append(l.Rules[0].Action.Forward.Backends,
		lbmodel.Backend{Weight: 1, Fixed: &lbmodel.Fixed{Status: 500}})
	return l
}
