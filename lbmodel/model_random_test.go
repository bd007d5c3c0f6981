package lbmodel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// gatewayMaker draws valid gateways in which every field of the model is set
// sooner or later.
type gatewayMaker struct {
	dice
	roots []Root
	g     Gateway
}

func newGatewayMaker(t testing.TB) *gatewayMaker {
	m := &gatewayMaker{}
	for i := range 4 {
		m.roots = append(m.roots, mustParseRoots(t, testCert(t, fmt.Sprint("root", i), nil))...)
	}
	return m
}

func (m *gatewayMaker) maybe() bool { return m.IntN(2) == 0 }

func (m *gatewayMaker) when() time.Time { return time.Unix(int64(1e9+m.IntN(1e6)), 0).UTC() }

func (m *gatewayMaker) duration() Duration { return Duration(m.IntN(3)) * Duration(time.Second) }

func (m *gatewayMaker) hash() string { return strings.Repeat(m.pick("ab", "cd", "ef"), 32) }

func (m *gatewayMaker) source(kind string) Source {
	return Source{Kind: kind, Namespace: m.pick("apps", "vault"), Name: fmt.Sprint(kind, m.IntN(20)), Section: m.pick("", "rules[0]", "rules[1].matches[2]")}
}

// optional is a pointer to a value, or nil.
func optional[T any](m *gatewayMaker, make func() T) *T {
	if m.IntN(3) == 0 {
		return nil
	}
	v := make()
	return &v
}

// several is a list of up to n values, nil when it is empty.
func several[T any](m *gatewayMaker, n int, make func() T) []T {
	var out []T
	for range m.IntN(n + 1) {
		out = append(out, make())
	}
	return out
}

func (m *gatewayMaker) gateway(seed uint64) Gateway {
	m.dice = dice{rand.New(rand.NewPCG(seed, 7))}
	m.g = Gateway{
		Owner:       Owner{Cluster: "c", Kind: m.pick("Gateway", "Service"), Namespace: "apps", Name: "edge", UID: "u1"},
		Addresses:   several(m, 2, m.address),
		Labels:      map[string]string{"b": "2", "a": "1"},
		Annotations: map[string]string{"x.test/y": "z"},
		Settings:    []byte(`{"b":1,"a":{"z":[1.50,2],"y":"é"}}`),
		Deletion:    Deletion(m.pick("", "Delete", "Retain", "Protect")),
		Later:       several(m, 2, m.wait),
	}
	for i := range 1 + m.IntN(3) {
		m.g.Trust = append(m.g.Trust, m.trust(i))
		m.g.Identities = append(m.g.Identities, m.identity(i))
	}
	for i := range 1 + m.IntN(5) {
		m.g.Pools = append(m.g.Pools, m.pool(i))
	}
	for i := range 1 + m.IntN(4) {
		m.g.Listeners = append(m.g.Listeners, m.listenerOf(i))
	}
	return m.g.Canonical()
}

func (m *gatewayMaker) address() AddressRequest {
	a := AddressRequest{Type: AddressIP, Value: m.pick("", "198.18.0.1"), Family: IPFamily(m.pick("", "IPv4", "IPv6")), Routability: m.pick("", "x.test/Internet")}
	if a.Family == IPv6 {
		a.Value = ""
	}
	return a
}

func (m *gatewayMaker) wait() Wait {
	return Wait{ID: ID{Kind: "k", Location: "l", Name: m.pick("a", "b")}, Until: m.when(), Why: "overlap", Reason: WaitLinger}
}

func (m *gatewayMaker) trust(i int) Trust {
	t := Trust{Name: fmt.Sprint("trust", i), Source: m.source("ConfigMap"), Overlap: m.duration(), Seen: several(m, 2, m.hash)}
	switch m.IntN(3) {
	case 0:
		t.System = true
	case 1:
		t.Unknown = true
	default:
		t.Roots = slices.Clone(m.roots[:1+m.IntN(len(m.roots))])
		t.Roots[0].Dropped = m.when()
	}
	return t
}

func (m *gatewayMaker) identity(i int) Identity {
	id := Identity{Name: fmt.Sprint("id", i), Source: m.source("Secret"), SPIFFEID: m.pick("", "spiffe://td/ns/a/sa/b"),
		DNSNames: several(m, 2, m.host), Issuer: m.pick(IssuerSecret, "Mesh"), Signer: m.pick("", "CertManager"), KeyType: m.pick("", "ECDSA"),
		Renew: RenewRule{Lifetime: Duration(time.Hour), Before: m.duration(), Authorities: several(m, 2, m.hash), Held: optional(m, m.held)}}
	if id.Issuer == IssuerSecret {
		id.Leaf = &Leaf{SHA256: strings.Repeat("ab", 32), KeyType: "RSA", NotBefore: m.when(), NotAfter: m.when(),
			DNSNames: []string{"a.test"}, URIs: []string{"spiffe://td/x"}, Issuer: "CN=ca", Authority: m.hash()}
	}
	return id
}

func (m *gatewayMaker) held() Held { return Held{m.hash(), m.when()} }

func (m *gatewayMaker) pool(i int) Pool {
	p := Pool{Name: fmt.Sprint("pool", i), Group: "apps/a:80", Source: m.source("Service"),
		Protocol:    PoolProtocol(m.pick("HTTP1", "H2C", "HTTP2", "WebSocket", "GRPC", "TCP", "UDP")),
		Health:      optional(m, m.health),
		TLS:         optional(m, m.backendTLS),
		Persistence: optional(m, m.persistence)}
	switch m.IntN(4) {
	case 0: // unknown
	case 1:
		p.Endpoints = []Endpoint{}
	default:
		p.Endpoints = append(several(m, 5, m.endpoint), m.endpoint())
	}
	return p
}

func (m *gatewayMaker) endpoint() Endpoint {
	e := Endpoint{Address: fmt.Sprint("10.0.0.", m.IntN(256)), Port: int32(1 + m.IntN(65535)), Zone: "z", Node: "n", Instance: "i-1",
		Pod: m.source("Pod"), Ready: m.maybe(), Serving: m.maybe(), Terminating: m.maybe()}
	if m.IntN(5) == 0 {
		e.Address, e.FQDN = "", "api.example.com"
	}
	return e
}

func (m *gatewayMaker) health() HealthCheck {
	return HealthCheck{Source: m.source("Service"), Protocol: m.pick("HTTP", "HTTPS", "GRPC", "TCP"), Port: 80, Path: "/up", Host: "a.test",
		Service: "svc", Interval: m.duration(), Timeout: m.duration(), Healthy: 2, Unhealthy: 3}
}

func (m *gatewayMaker) backendTLS() BackendTLS {
	t := BackendTLS{Source: m.source("BackendTLSPolicy"), SNI: m.pick("a.internal.test", "b.internal.test"),
		Trust: m.pick("", "trust0"), Identity: m.pick("", "id0", m.g.Identities[len(m.g.Identities)-1].Name),
		SANs:       several(m, 3, func() SAN { return SAN{Kind: SANKind(m.pick("DNS", "URI")), Value: m.pick("a.test", "spiffe://td/a")} }),
		MinVersion: m.pick("", "1.2", "1.3")}
	t.Floor = t.Level()
	if m.maybe() {
		t.ALPN = []string{"h2", "http/1.1"}
	} else {
		t.NoALPN = m.maybe()
	}
	return t
}

func (m *gatewayMaker) persistence() Persistence {
	return Persistence{Kind: PersistenceKind(m.pick("Cookie", "Header", "SourceIP")), Name: "s",
		AbsoluteTimeout: m.duration(), IdleTimeout: m.duration(), Permanent: m.maybe()}
}

func (m *gatewayMaker) listenerOf(i int) Listener {
	l := Listener{Name: fmt.Sprint("l", i), Source: m.source("Gateway"), Port: int32(80 + i/2),
		Protocol:     Protocol(m.pick("HTTP", "HTTPS", "TLS", "TCP", "UDP")),
		SourceRanges: several(m, 2, func() string { return m.pick("10.0.0.0/8", "192.0.2.0/24", "2001:db8::/32") })}
	if l.Protocol.HasHostnames() {
		l.Hostname = []string{"", "*.test", "*.a.test", "x.a.test"}[i%4]
	} else {
		l.Port += 1000 * int32(1+i)
		l.Forward, l.Route = optional(m, func() Forward { return m.forward(Match{}) }), m.source("TCPRoute")
		return l
	}
	if l.Protocol != ProtocolHTTP {
		tls := m.frontendTLS(l.Protocol)
		l.TLS = &tls
	}
	if l.Protocol == ProtocolTLS {
		l.SNI = several(m, 3, func() SNIRule {
			return SNIRule{Source: m.source("TLSRoute"), Hostname: m.hostIn(l.Hostname), Forward: m.forward(Match{})}
		})
		return l
	}
	l.Rules = several(m, 6, func() Rule { return m.rule(l.Hostname) })
	return l
}

func (m *gatewayMaker) frontendTLS(p Protocol) FrontendTLS {
	t := FrontendTLS{Mode: TLSTerminate, Options: map[string]string{"x.test/min": "1.3"}}
	if p == ProtocolTLS && m.maybe() {
		t.Mode = TLSPassthrough
		return t
	}
	t.Certificates = several(m, 2, func() string { return m.g.Identities[m.IntN(len(m.g.Identities))].Name })
	t.Validation = optional(m, func() ClientValidation { return ClientValidation{Trust: "trust0", Insecure: m.maybe()} })
	return t
}

// hostIn is a hostname inside a listener's.
func (m *gatewayMaker) hostIn(listener string) string {
	name, ok := IntersectHostnames(listener, m.pattern())
	if !ok {
		return listener
	}
	return name
}

func (m *gatewayMaker) rule(listener string) Rule {
	r := Rule{Source: m.source("HTTPRoute"), Name: m.pick("", "named"), Hostname: m.hostIn(listener), Match: m.ruleMatch()}
	r.Action.Edits = m.edits(r.Match)
	switch m.IntN(4) {
	case 0:
		r.Action.Redirect = m.redirect(r.Match)
	case 1:
		r.Action.Fixed = &Fixed{Status: 500, Body: m.pick("", "no")}
	default:
		fw := m.forward(r.Match)
		r.Action.Forward = &fw
	}
	r.Action.CORS = optional(m, func() CORS {
		return CORS{AllowOrigins: several(m, 2, m.host), AllowCredentials: m.maybe(), AllowMethods: several(m, 1, m.host),
			AllowHeaders: several(m, 1, m.host), ExposeHeaders: several(m, 1, m.host), MaxAge: int32(m.IntN(2))}
	})
	r.Action.Timeouts = Timeouts{Request: m.duration(), Backend: m.duration()}
	r.Action.Retry = optional(m, func() Retry {
		return Retry{Codes: several(m, 2, func() int { return 500 + m.IntN(5) }), Attempts: m.IntN(3), Backoff: m.duration()}
	})
	r.Action.Persistence = optional(m, m.persistence)
	return r
}

func (m *gatewayMaker) ruleMatch() Match {
	out := m.match()
	for _, list := range [][]ValueMatch{out.Headers, out.Query} {
		for i := range list {
			list[i].Kind = MatchKind(m.pick("Exact", "RegularExpression"))
		}
	}
	if out.GRPC != nil {
		out.GRPC.Kind, out.Method, out.Query = MatchKind(m.pick("", "Exact", "RegularExpression")), "", nil
	}
	return out
}

func (m *gatewayMaker) header() Header {
	return Header{Name: m.pick("X-One", "x-two"), Value: m.pick("1", "2")}
}

func (m *gatewayMaker) headerEdit() HeaderEdit {
	return HeaderEdit{Set: several(m, 2, m.header), Add: several(m, 2, m.header), Remove: several(m, 2, func() string { return "x-three" })}
}

func (m *gatewayMaker) edits(match Match) Edits {
	return Edits{
		Request: optional(m, m.headerEdit), Response: optional(m, m.headerEdit),
		Rewrite: optional(m, func() Rewrite { return Rewrite{Hostname: m.pick("", "b.test"), Path: m.pathEdit(match)} }),
		Mirrors: several(m, 2, func() Mirror {
			return Mirror{Source: m.source("HTTPRoute"), Pool: m.poolName(), Numerator: int32(1 + m.IntN(2)), Denominator: 2}
		}),
	}
}

func (m *gatewayMaker) pathEdit(match Match) *PathEdit {
	return optional(m, func() PathEdit {
		if match.Path.Kind == MatchPrefix {
			return PathEdit{Kind: ReplacePrefixMatch, Value: m.pick("", "/xyz")}
		}
		return PathEdit{Kind: ReplaceFullPath, Value: m.pick("", "/xyz")}
	})
}

func (m *gatewayMaker) redirect(match Match) *Redirect {
	return &Redirect{Scheme: m.pick("", "https"), Hostname: m.pick("", "n.test"), Port: int32(m.IntN(2) * 8443),
		Path: m.pathEdit(match), Status: []int{301, 302, 303, 307, 308}[m.IntN(5)]}
}

func (m *gatewayMaker) poolName() string { return m.g.Pools[m.IntN(len(m.g.Pools))].Name }

func (m *gatewayMaker) forward(match Match) Forward {
	return Forward{Backends: several(m, 4, func() Backend {
		b := Backend{Source: m.source("HTTPRoute"), Weight: int32(m.IntN(4) * 10)}
		switch m.IntN(5) {
		case 0:
			b.Fixed = &Fixed{Status: 500}
		case 1:
			b.Redirect = m.redirect(match)
		default:
			b.Pool, b.Edits = m.poolName(), m.edits(match)
		}
		return b
	})}
}
