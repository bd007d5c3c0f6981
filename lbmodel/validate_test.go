package lbmodel

import (
	"strings"
	"testing"
)

// validShop is shop with a root and names that Validate accepts.
func validShop(t *testing.T) Gateway {
	t.Helper()
	g := shop()
	g.Trust = []Trust{{Name: "mesh", Roots: mustParseRoots(t, testCert(t, "root", nil))}}
	g.Pools[0].TLS = meshTLS()
	g.Pools[0].Endpoints = []Endpoint{{Address: "10.0.0.1", Port: 8080}}
	g.Listeners = append(g.Listeners,
		Listener{Name: "https", Port: 443, Protocol: ProtocolHTTPS, Hostname: "*.a.test", TLS: &FrontendTLS{Mode: TLSTerminate, Certificates: []string{"edge"}}},
		Listener{Name: "tls", Port: 8443, Protocol: ProtocolTLS, TLS: &FrontendTLS{Mode: TLSPassthrough}, SNI: []SNIRule{{Hostname: "a.test"}}},
		Listener{Name: "udp", Port: 53, Protocol: ProtocolUDP, Forward: &Forward{}},
	)
	return g
}

func TestValidate(t *testing.T) {
	rule := func(g *Gateway) *Rule { return &g.Listeners[0].Rules[0] }
	backend := func(g *Gateway) *Backend { return &rule(g).Action.Forward.Backends[0] }
	endpoint := func(g *Gateway) *Endpoint { return &g.Pools[0].Endpoints[0] }
	const why = "an invalid gateway must be named, with its object and field, before it reaches a provider"
	for _, c := range []struct {
		name   string
		change func(*Gateway)
		want   string // in the error; "" is none
	}{
		{"valid", func(*Gateway) {}, ""},
		{"two listeners of a name", func(g *Gateway) { g.Listeners[1].Name = "http" }, `two of listener "http"`},
		{"nameless pool", func(g *Gateway) { g.Pools[0].Name = "" }, "Service/apps/a: name"},
		{"pool without group", func(g *Gateway) { g.Pools[0].Group = "" }, "Service/apps/a: group"},
		{"trust of nothing", func(g *Gateway) { g.Trust = append(g.Trust, Trust{Name: "t"}) }, "the system's roots, or unknown, or at least one root"},
		{"trust unknown", func(g *Gateway) { g.Trust = append(g.Trust, Trust{Name: "t", Unknown: true}) }, ""},
		{"trust unknown and the system's", func(g *Gateway) { g.Trust = append(g.Trust, Trust{Name: "t", Unknown: true, System: true}) }, "the system's roots, or unknown, or at least one root"},
		{"overlap", func(g *Gateway) { g.Trust = append(g.Trust, Trust{Name: "t", System: true, Overlap: -1}) }, "overlap: -1ns is less than nothing"},
		{"pool protocol", func(g *Gateway) { g.Pools[0].Protocol = "SMTP" }, "SMTP is none of"},
		{"listener port", func(g *Gateway) { g.Listeners[0].Port = 0 }, "Gateway/apps/edge#http: port: 0 is not between 1 and 65535"},
		{"source range", func(g *Gateway) { g.Listeners[0].SourceRanges = []string{"10.0.0.5/8"} }, `"10.0.0.5/8" is not a prefix in its shortest form`},
		{"address family", func(g *Gateway) {
			g.Addresses = []AddressRequest{{Type: AddressIP, Family: IPv4, Value: "2001:db8::1"}}
		}, "2001:db8::1 is not of family IPv4"},
		{"listener hostname", func(g *Gateway) { g.Listeners[1].Hostname = "A.test" }, `"A.test" is not a lower case DNS name`},
		{"listener protocol", func(g *Gateway) { g.Listeners[0].Protocol = "SCTP" }, "SCTP is none of"},
		{"listeners not distinct", func(g *Gateway) { g.Listeners[2].Port, g.Listeners[2].Hostname = 443, "*.a.test" }, "belongs to another listener too"},
		{"HTTPS without TLS", func(g *Gateway) { g.Listeners[1].TLS = nil }, "tls: belongs to HTTPS"},
		{"HTTPS passed through", func(g *Gateway) { g.Listeners[1].TLS.Mode = TLSPassthrough }, "HTTPS must be terminated"},
		{"certificate", func(g *Gateway) { g.Listeners[1].TLS.Certificates[0] = "ghost" }, `"ghost" does not exist`},
		{"client roots", func(g *Gateway) { g.Listeners[1].TLS.Validation = &ClientValidation{Trust: "ghost"} }, `tls.validation.trust: "ghost"`},
		{"rules on TLS", func(g *Gateway) { g.Listeners[2].Rules = g.Listeners[0].Rules }, "rules: not on a TLS listener"},
		{"SNI on HTTP", func(g *Gateway) { g.Listeners[0].SNI = []SNIRule{{}} }, "sni: not on a HTTP listener"},
		{"forward on HTTP", func(g *Gateway) { g.Listeners[0].Forward = &Forward{} }, "forward: not on a HTTP listener"},
		{"hostname on UDP", func(g *Gateway) { g.Listeners[3].Hostname = "a.test" }, "hostname: not on a UDP listener"},
		{"rule outside the listener", func(g *Gateway) {
			g.Listeners[1].Rules = []Rule{{Hostname: "b.test", Action: Action{Fixed: serverError()}}}
		}, `"b.test" is not inside the listener's "*.a.test"`},
		{"path without slash", func(g *Gateway) { rule(g).Match.Path.Value = "x" }, "does not begin with a slash"},
		{"path kind", func(g *Gateway) { rule(g).Match.Path.Kind = "Suffix" }, "Suffix is none of"},
		{"expression", func(g *Gateway) { rule(g).Match.Path = PathMatch{MatchRegex, "("} }, "regular expression"},
		{"header without kind", func(g *Gateway) { rule(g).Match.Headers = []ValueMatch{{Name: "a"}} }, "match.kind"},
		{"nameless parameter", func(g *Gateway) { rule(g).Match.Query = []ValueMatch{{Kind: MatchExact}} }, "needs a name"},
		{"gRPC with a path", func(g *Gateway) { rule(g).Match.GRPC = &GRPCMatch{} }, "match.grpc"},
		{"no action", func(g *Gateway) { rule(g).Action = Action{} }, "action: 0 of forward"},
		{"two actions", func(g *Gateway) { rule(g).Action.Fixed = serverError() }, "action: 2 of forward"},
		{"status", func(g *Gateway) { rule(g).Action = Action{Fixed: &Fixed{Status: 100}} }, "fixed.status: 100"},
		{"redirect status", func(g *Gateway) { rule(g).Action = Action{Redirect: &Redirect{Status: 200}} }, "redirect.status: 200"},
		{"prefix replaced without prefix", func(g *Gateway) {
			rule(g).Match.Path.Kind = MatchExact
			rule(g).Action.Edits.Rewrite = &Rewrite{Path: &PathEdit{Kind: ReplacePrefixMatch}}
		}, "needs a rule that matches a prefix"},
		{"mirror pool", func(g *Gateway) { rule(g).Action.Edits.Mirrors = []Mirror{{Pool: "ghost", Denominator: 1}} }, `mirror.pool: "ghost"`},
		{"mirror share", func(g *Gateway) { rule(g).Action.Edits.Mirrors = []Mirror{{Pool: "a"}} }, "0 in 0 is not a share"},
		{"header name", func(g *Gateway) { rule(g).Action.Edits.Request = &HeaderEdit{Remove: []string{"a b"}} }, `"a b" is not a header name`},
		{"header value", func(g *Gateway) { rule(g).Action.Edits.Response = &HeaderEdit{Add: []Header{{"a", "b\r\nc"}}} }, "line break"},
		{"timeout", func(g *Gateway) { rule(g).Action.Timeouts.Request = -1 }, "timeouts"},
		{"retry", func(g *Gateway) { rule(g).Action.Retry = &Retry{Attempts: -1} }, "retry"},
		{"retry code", func(g *Gateway) { rule(g).Action.Retry = &Retry{Codes: []int{200}} }, "retry.codes: 200"},
		{"CORS age", func(g *Gateway) { rule(g).Action.CORS = &CORS{MaxAge: -1} }, "cors.maxAge"},
		{"persistence", func(g *Gateway) { rule(g).Action.Persistence = &Persistence{Kind: "Luck"} }, "Luck is none of"},
		{"backend pool", func(g *Gateway) { backend(g).Pool = "ghost" }, `HTTPRoute/apps/r#rules[0].backendRefs[0]: pool: "ghost"`},
		{"backend without aim", func(g *Gateway) { backend(g).Pool = "" }, "backend: 0 of pool"},
		{"backend with two aims", func(g *Gateway) { backend(g).Fixed = serverError() }, "backend: 2 of pool"},
		{"weight", func(g *Gateway) { backend(g).Weight = -1 }, "weight: -1"},
		{"endpoint address", func(g *Gateway) { endpoint(g).Address = "10.0.0" }, "endpoints.address"},
		{"endpoint twice", func(g *Gateway) { endpoint(g).FQDN = "a.test" }, "exactly one of address and FQDN"},
		{"endpoint name", func(g *Gateway) { endpoint(g).Address, endpoint(g).FQDN = "", "A test" }, "endpoints.fqdn"},
		{"endpoint port", func(g *Gateway) { endpoint(g).Port = 70000 }, "endpoints.port: 70000"},
		{"health", func(g *Gateway) { g.Pools[0].Health = &HealthCheck{Protocol: "ICMP", Timeout: -1} }, "healthCheck.protocol: ICMP"},
		{"trust of a pool", func(g *Gateway) { g.Pools[0].TLS.Trust = "ghost" }, `MeshBinding/istio: trust: "ghost"`},
		{"identity of a pool", func(g *Gateway) { g.Pools[0].TLS.Identity = "ghost" }, `identity: "ghost"`},
		{"floor", func(g *Gateway) { g.Pools[0].TLS.Floor = "High" }, "floor: High"},
		{"version", func(g *Gateway) { g.Pools[0].TLS.MinVersion = "1.0" }, "minVersion: 1.0"},
		{"SAN kind", func(g *Gateway) { g.Pools[0].TLS.SANs = []SAN{{"IP", ""}} }, "sans.kind: IP"},
		{"no name to verify", func(g *Gateway) { g.Pools[0].TLS.SANs, g.Pools[0].TLS.SNI = nil, "" }, "which name the backend's certificate must have"},
		{"ALPN", func(g *Gateway) { g.Pools[0].TLS.NoALPN, g.Pools[0].TLS.ALPN = true, []string{"h2"} }, "together with noALPN"},
		{"trust without roots", func(g *Gateway) { g.Trust[0].Roots = nil }, "at least one root"},
		{"another certificate", func(g *Gateway) { g.Trust[0].Roots[0].SHA256 = "00" }, "is not that certificate"},
		{"issuer", func(g *Gateway) { g.Identities[0].Issuer = "" }, `identity "edge" needs one`},
		{"given without certificate", func(g *Gateway) { g.Identities[0].Issuer = IssuerSecret }, "must be known"},
		{"renewal", func(g *Gateway) { g.Identities[0].Renew.Before = 1 }, "within the lifetime"},
		{"settings", func(g *Gateway) { g.Settings = []byte("{") }, "not valid JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := validShop(t)
			c.change(&g)
			err := Validate(g)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q: %s", err, c.want, why)
			}
			if err != nil && CodeOf(err) != CodeInvalid {
				t.Errorf("code %v, want Invalid", CodeOf(err))
			}
		})
	}
}
