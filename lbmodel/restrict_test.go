package lbmodel

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustEncode(t testing.TB, g Gateway) []byte {
	t.Helper()
	out, err := EncodeJSON(g)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRestrictWithEverythingChangesNothing(t *testing.T) {
	m := newGatewayMaker(t)
	for seed := range uint64(300) {
		g := m.gateway(seed)
		got, findings := Restrict(g, FullFeatures())
		if !reflect.DeepEqual(g, got) || len(findings) != 0 {
			t.Fatalf("seed %d: a provider that can do everything (-want +got):\n%s\n%v", seed, cmp.Diff(g, got), findings)
		}
	}
}

// someFeatures is a random provider: most features, small limits.
func someFeatures(seed uint64) Features {
	d := dice{rand.New(rand.NewPCG(seed, 11))}
	f := FullFeatures()
	share := 2 + d.IntN(20)
	for _, name := range AllFeatures() {
		if d.IntN(share) == 0 {
			delete(f.Has, name)
		}
	}
	limit := func() int { return max(0, d.IntN(8)-3) }
	f.Limits = Limits{RulesPerListener: limit(), ListenersPerGateway: limit(), BackendsPerForward: limit(),
		MaxWeight: int32(limit() * 10), SANs: limit(), Roots: limit(), CertificatesPerListener: limit(),
		EndpointsPerPool: limit(), MirrorsPerRule: limit(), SourceRanges: limit()}
	return f
}

// TestRestrictUsesOnlyWhatIsOffered draws gateways and providers. What is left
// must be servable, valid and final, and what was given must be untouched.
func TestRestrictUsesOnlyWhatIsOffered(t *testing.T) {
	m := newGatewayMaker(t)
	for seed := range uint64(600) {
		g, f := m.gateway(seed), someFeatures(seed)
		before := mustEncode(t, g)
		got, findings := Restrict(g, f)
		if !bytes.Equal(before, mustEncode(t, g)) {
			t.Fatalf("seed %d: Restrict changed its argument", seed)
		}
		for _, used := range Uses(got) {
			if !f.Offers(used) {
				t.Fatalf("seed %d: the result uses %s", seed, used)
			}
		}
		checkLimits(t, got, f.Limits)
		if err := Validate(got); err != nil {
			t.Fatalf("seed %d: the result is not valid: %v", seed, err)
		}
		if seen := duplicate(findings); seen != nil {
			t.Fatalf("seed %d: said twice: %+v", seed, *seen)
		}
		if !reflect.DeepEqual(g, got) && len(findings) == 0 && !onlyEquivalentChanges(f) {
			t.Fatalf("seed %d: changed in silence:\n%s", seed, cmp.Diff(g, got))
		}
		again, more := Restrict(got, f)
		if !reflect.DeepEqual(got, again) || len(more) != 0 {
			t.Fatalf("seed %d: a second time changes more (-first +second):\n%s\n%v", seed, cmp.Diff(got, again), more)
		}
	}
}

// onlyEquivalentChanges says whether shares may have been written differently
// without changing what anybody gets.
func onlyEquivalentChanges(f Features) bool {
	return !f.Offers(FeatureFixedShare) || !f.Offers(FeatureWeights) || f.Limits.BackendsPerForward > 0 || f.Limits.MaxWeight > 0
}

func duplicate(findings []Finding) *Finding {
	seen := map[Finding]bool{}
	for i, f := range findings {
		if seen[f] {
			return &findings[i]
		}
		seen[f] = true
	}
	return nil
}

func checkLimits(t *testing.T, g Gateway, l Limits) {
	t.Helper()
	check := func(what string, count, limit int) {
		if exceeds(count, limit) {
			t.Errorf("%s: %d over the limit %d", what, count, limit)
		}
	}
	check("listeners", len(g.Listeners), l.ListenersPerGateway)
	for i := range g.Listeners {
		listener := &g.Listeners[i]
		check("source ranges", len(listener.SourceRanges), l.SourceRanges)
		check("rules", max(len(listener.Rules), len(listener.SNI)), l.RulesPerListener)
		if listener.TLS != nil {
			check("certificates", len(listener.TLS.Certificates), l.CertificatesPerListener)
		}
		for _, rule := range listener.Rules {
			check("mirrors", len(rule.Action.Edits.Mirrors), l.MirrorsPerRule)
		}
		for fw := range forwardsOf(listener) {
			check("backends", len(fw.Backends), l.BackendsPerForward)
			check("weight", greatest(fw.Backends), int(l.MaxWeight))
		}
	}
	for _, p := range g.Pools {
		check("endpoints", len(p.Endpoints), l.EndpointsPerPool)
		if p.TLS != nil {
			check("SANs", len(p.TLS.SANs), l.SANs)
		}
	}
	for _, trust := range g.Trust {
		check("roots", len(trust.Roots), l.Roots)
	}
}

// shop is a gateway with one listener and one rule to one pool, to be changed by
// a case.
func shop() Gateway {
	route := func(section string) Source {
		return Source{Kind: "HTTPRoute", Namespace: "apps", Name: "r", Section: section}
	}
	return Gateway{
		Owner: Owner{Kind: "Gateway", Namespace: "apps", Name: "edge"},
		Listeners: []Listener{{Name: "http", Port: 80, Protocol: ProtocolHTTP, Source: Source{Kind: "Gateway", Namespace: "apps", Name: "edge", Section: "http"},
			Rules: []Rule{
				{Source: route("rules[0]"), Match: Match{Path: PathMatch{Kind: MatchPrefix, Value: "/critical"}},
					Action: Action{Forward: &Forward{Backends: []Backend{{Source: route("rules[0].backendRefs[0]"), Pool: "a", Weight: 1}}}}},
				{Source: route("rules[1]"), Action: Action{Forward: &Forward{Backends: []Backend{{Source: route("rules[1].backendRefs[0]"), Pool: "b", Weight: 1}}}}},
			}}},
		Pools: []Pool{
			{Name: "a", Group: "apps/a:80", Source: Source{Kind: "Service", Namespace: "apps", Name: "a"}, Protocol: PoolHTTP1},
			{Name: "b", Group: "apps/b:80", Source: Source{Kind: "Service", Namespace: "apps", Name: "b"}, Protocol: PoolHTTP1},
		},
		Trust:      []Trust{{Name: "mesh", Roots: make([]Root, 2)}},
		Identities: []Identity{{Name: "edge", Issuer: "Mesh"}, {Name: "other", Issuer: "Mesh"}},
	}
}

func meshTLS() *BackendTLS {
	return &BackendTLS{Source: Source{Kind: "MeshBinding", Name: "istio"}, Trust: "mesh", Identity: "edge", SNI: "a.test",
		SANs: []SAN{{Kind: SANURI, Value: "spiffe://td/ns/apps/sa/a"}}, Floor: TLSClientAndServer}
}

// without is a provider that can do all but the given features.
func without(features ...Feature) Features {
	f := FullFeatures()
	maps.DeleteFunc(f.Has, func(name Feature, _ Support) bool { return slices.Contains(features, name) })
	return f
}

func TestRestrictCases(t *testing.T) {
	const limitFive = "more than the 1 that this provider takes"
	for _, c := range []struct {
		name   string
		change func(*Gateway)
		offers Features
		want   string // of the first rule: what remains
		detail string // in one of the findings
		why    string
	}{
		{"nothing lacks", func(*Gateway) {}, FullFeatures(), "pool a", "", "nothing to do"},
		{"filter", func(g *Gateway) { g.Listeners[0].Rules[0].Action.CORS = &CORS{} }, without(FeatureCORS), "500", "filters.cors needs CORS",
			"a rule keeps its place: /critical may not slide into the rule below"},
		{"match", func(g *Gateway) { g.Listeners[0].Rules[0].Match.Method = "PUT" }, without(FeatureMethodMatch), "pool b", "matches.method needs MethodMatch",
			"a rule whose match cannot be told apart is dropped: its place would take others' requests"},
		{"client certificate", func(g *Gateway) { g.Pools[0].TLS = meshTLS() }, without(FeatureBackendTLSIdentity), "share 500", "clientCertificateRef needs",
			"fail closed: never a hop that looks verified"},
		{"client certificate, no shares", func(g *Gateway) { g.Pools[0].TLS = meshTLS() }, without(FeatureBackendTLSIdentity, FeatureFixedShare), "500", "clientCertificateRef needs",
			"without answering shares the rule answers"},
		{"SPIFFE name", func(g *Gateway) { g.Pools[0].TLS = meshTLS() }, without(FeatureBackendTLSURISAN), "share 500", "subjectAltNames.uri needs", "fail closed"},
		{"below the floor", func(g *Gateway) { g.Pools[0].TLS = meshTLS(); g.Pools[0].TLS.Identity = "" }, FullFeatures(), "share 500", "below the minimum ClientAndServer",
			"the floor holds whatever the provider can do"},
		{"too many roots", func(g *Gateway) { g.Pools[0].TLS = meshTLS() }, Features{Has: FullFeatures().Has, Limits: Limits{Roots: 1}}, "share 500", limitFive, "some of the roots are not the roots"},
		{"too many names", func(g *Gateway) { g.Pools[0].TLS = meshTLS(); g.Pools[0].TLS.SANs = make([]SAN, 2) }, Features{Has: FullFeatures().Has, Limits: Limits{SANs: 1}}, "share 500", limitFive, "fail closed"},
		{"two identities", func(g *Gateway) {
			g.Pools[0].TLS, g.Pools[1].TLS = meshTLS(), meshTLS()
			g.Pools[0].TLS.Identity = "other"
			g.Pools[1].TLS.Identity = "edge"
		}, without(FeatureBackendTLSPerBackend), "pool a", "PerBackend", "the first pool's identity is the gateway's, the other is refused"},
		{"IPv6", func(g *Gateway) { g.Addresses = []AddressRequest{{Type: AddressIP, Family: IPv6}} }, without(FeatureIPv6), "no listener", "spec.ipFamilies needs IPv6",
			"nothing is served at another address than the one asked for"},
		{"source ranges", func(g *Gateway) { g.Listeners[0].SourceRanges = []string{"10.0.0.0/8"} }, without(FeatureSourceRanges), "no listener", "loadBalancerSourceRanges needs SourceRanges",
			"fail closed: an unfiltered port is not what was asked for"},
		{"too many source ranges", func(g *Gateway) { g.Listeners[0].SourceRanges = []string{"10.0.0.0/8", "192.0.2.0/24"} }, Features{Has: FullFeatures().Has, Limits: Limits{SourceRanges: 1}},
			"no listener", limitFive, "some of the ranges are not the ranges"},
		{"h2c", func(g *Gateway) { g.Pools[0].Protocol = PoolH2C }, without(FeatureH2C), "share 500", "appProtocol needs H2C", "never another protocol in silence"},
		{"health check", func(g *Gateway) { g.Pools[0].Health = &HealthCheck{Protocol: "HTTP"} }, without(FeatureHealth), "pool a", "healthCheck needs", "the pool serves without it"},
		{"mirror to a refused pool", func(g *Gateway) {
			g.Pools[1].TLS = meshTLS()
			g.Listeners[0].Rules[0].Action.Edits.Mirrors = []Mirror{{Pool: "b", Numerator: 1, Denominator: 1}}
		}, without(FeatureBackendTLSTrust), "pool a", "caCertificateRefs needs", "the request itself can be served"},
		{"address", func(g *Gateway) { g.Addresses = []AddressRequest{{Type: AddressIP, Value: "198.18.0.1"}} }, without(FeatureStaticAddress), "no listener", "spec.addresses or spec.loadBalancerIP needs",
			"never on another address than the one asked for"},
		{"protocol", func(*Gateway) {}, without(FeatureHTTP), "no listener", "protocol needs HTTP", "a listener of another protocol is none"},
		{"client validation", func(g *Gateway) {
			g.Listeners[0].TLS = &FrontendTLS{Validation: &ClientValidation{Trust: "mesh"}}
		}, without(FeatureClientValidation), "no listener", "tls.frontend.validation needs", "fail closed towards clients too"},
		{"too many backends", func(g *Gateway) {
			fw := g.Listeners[0].Rules[0].Action.Forward
			fw.Backends = append(fw.Backends, Backend{Pool: "b", Weight: 1})
		}, Features{Has: FullFeatures().Has, Limits: Limits{BackendsPerForward: 1}}, "500", limitFive, "dropping one would inflate the other"},
		{"an idle backend too many", func(g *Gateway) {
			fw := g.Listeners[0].Rules[0].Action.Forward
			fw.Backends = append(fw.Backends, Backend{Pool: "b", Weight: 0})
		}, Features{Has: FullFeatures().Has, Limits: Limits{BackendsPerForward: 1}}, "pool a", "", "a backend without weight may go: nobody notices"},
		{"weight that can be reduced", func(g *Gateway) { g.Listeners[0].Rules[0].Action.Forward.Backends[0].Weight = 1000 }, Features{Has: FullFeatures().Has, Limits: Limits{MaxWeight: 1}}, "pool a", "", "the same shares in smaller numbers"},
		{"too many rules", func(*Gateway) {}, Features{Has: FullFeatures().Has, Limits: Limits{RulesPerListener: 1}}, "pool a", limitFive, "the last in matching order goes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := shop()
			c.change(&g)
			got, findings := Restrict(g, c.offers)
			if remains := firstRule(got); remains != c.want {
				t.Errorf("the first rule is %q, want %q: %s", remains, c.want, c.why)
			}
			said := func(f Finding) bool { return strings.Contains(f.Detail, c.detail) && f.About != (Source{}) }
			if c.detail == "" && len(findings) > 0 || c.detail != "" && !slices.ContainsFunc(findings, said) {
				t.Errorf("findings %+v, want one that says %q", findings, c.detail)
			}
		})
	}
}

// firstRule says in words where the first rule leads.
func firstRule(g Gateway) string {
	if len(g.Listeners) == 0 {
		return "no listener"
	}
	a := g.Listeners[0].Rules[0].Action
	switch {
	case a.Fixed != nil:
		return "500"
	case a.Forward.Backends[0].Fixed != nil:
		return "share 500"
	default:
		return "pool " + a.Forward.Backends[0].Pool
	}
}

func TestRestrictLeavesOutWhatNobodyUses(t *testing.T) {
	g := shop()
	g.Pools[0].TLS = meshTLS()
	got, _ := Restrict(g, without(FeatureBackendTLSTrust))
	if len(got.Pools) != 1 || len(got.Trust) != 0 || len(got.Identities) != 1 || got.Identities[0].Name != "other" {
		t.Errorf("pools %v, trust %v, identities %v: what only the refused pool used must go, what nobody used before stays", got.Pools, got.Trust, got.Identities)
	}
}

func TestRestrictFindingsReachRouteAndPolicy(t *testing.T) {
	g := shop()
	g.Pools[0].TLS = meshTLS()
	_, findings := Restrict(g, without(FeatureBackendTLSIdentity))
	var about []string
	for _, f := range findings {
		about = append(about, f.About.String()+" in "+f.Parent.String()+": "+f.Reason)
	}
	want := []string{
		"MeshBinding/istio in Gateway/apps/edge: ClientCertificateUnsupported",
		"HTTPRoute/apps/r#rules[0].backendRefs[0] in Gateway/apps/edge#http: ClientCertificateUnsupported",
	}
	if diff := cmp.Diff(want, about); diff != "" {
		t.Errorf("both who asked for TLS and who routes there must hear of it (-want +got):\n%s", diff)
	}
}

func TestRestrictPoolKeepsUsableEndpoints(t *testing.T) {
	p := Pool{Endpoints: []Endpoint{{Port: 1}, {Port: 2, Ready: true}, {Port: 3}, {Port: 4, Ready: true}}}
	f := FullFeatures()
	f.Limits.EndpointsPerPool = 3
	got, findings := RestrictPool(p, f)
	want := []Endpoint{{Port: 1}, {Port: 2, Ready: true}, {Port: 4, Ready: true}}
	if diff := cmp.Diff(want, got.Endpoints); diff != "" || len(findings) != 1 {
		t.Errorf("unusable endpoints go first, order stays (-want +got):\n%s\n%v", diff, findings)
	}
}

func BenchmarkRestrict(b *testing.B) {
	g := Gateway{Listeners: []Listener{manyRules(10000)}}
	for i := range g.Listeners[0].Rules {
		g.Listeners[0].Rules[i].Action.Forward = &Forward{Backends: []Backend{{Pool: "a", Weight: 1}}}
	}
	f := FullFeatures()
	b.ReportAllocs()
	for b.Loop() {
		if _, findings := Restrict(g, f); len(findings) > 0 {
			b.Fatal(findings)
		}
	}
}

// TestRestrictGRPC: a gRPC client is told UNAVAILABLE in place of what cannot be done,
// as it is where a rule or a share has no backend. Why this table: HTTP 500 would be
// UNKNOWN to it (gRPC's HTTP status mapping), which nobody retries.
func TestRestrictGRPC(t *testing.T) {
	without := func(lacks ...Feature) Features {
		f := FullFeatures()
		for _, name := range lacks {
			delete(f.Has, name)
		}
		return f
	}
	mirrored := Action{Forward: &Forward{Backends: []Backend{{Pool: "a", Weight: 1}}}, Edits: Edits{Mirrors: []Mirror{{Pool: "b"}}}}
	secure := Forward{Backends: []Backend{{Pool: "a", Weight: 1}, {Pool: "b", Weight: 1}}}
	none := FullFeatures()
	none.Limits.MaxWeight = 1
	for _, c := range []struct {
		name     string
		features Features
		action   Action
		share    bool // and not the whole rule
	}{
		{"the action", without(FeatureMirror), mirrored, false},
		{"a share", without(FeatureBackendTLSTrust), Action{Forward: &secure}, true},
		{"a share, where no share can be answered", without(FeatureBackendTLSTrust, FeatureFixedShare), Action{Forward: &secure}, false},
		{"the weights", none, Action{Forward: &Forward{Backends: []Backend{{Pool: "a", Weight: 3}, {Pool: "b", Weight: 7}}}}, false},
	} {
		for want, match := range map[int]Match{503: {GRPC: &GRPCMatch{Kind: MatchExact, Service: "s"}}, 500: {}} {
			g := Gateway{
				Listeners: []Listener{{Name: "http", Protocol: ProtocolHTTP, Port: 80, Rules: []Rule{{Match: match, Action: c.action}}}},
				Pools:     []Pool{{Name: "a", Protocol: PoolGRPC}, {Name: "b", Protocol: PoolGRPC, TLS: &BackendTLS{Trust: "t", SNI: "b.test"}}},
				Trust:     []Trust{{Name: "t", System: true}},
			}
			if !c.features.Offers(FeatureBackendTLSTrust) {
				g.Trust = []Trust{{Name: "t", Roots: []Root{{SHA256: "aa"}}}}
			}
			got, findings := Restrict(g, c.features)
			a := got.Listeners[0].Rules[0].Action
			answer := a.Fixed
			if c.share && a.Forward != nil {
				answer = a.Forward.Backends[1].Fixed
			}
			if answer == nil || answer.Status != want || len(findings) == 0 {
				t.Errorf("%s: %+v, want %d; %v", c.name, a, want, findings)
			}
		}
	}
}
