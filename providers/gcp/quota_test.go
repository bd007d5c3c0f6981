package gcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/lbmodel"
)

// pathsOf is a gateway with a listener that has these rules.
func pathsOf(settings string, rules ...lbmodel.Rule) lbmodel.Gateway {
	l := lbmodel.Listener{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP, Source: lbmodel.Source{Kind: "Gateway", Name: "edge"}, Rules: rules}
	return lbmodel.Gateway{Owner: owner, Settings: []byte(settings), Listeners: []lbmodel.Listener{l}}
}

func ruleFor(name, host string, path lbmodel.PathMatch, action lbmodel.Action) lbmodel.Rule {
	return lbmodel.Rule{Source: lbmodel.Source{Kind: "HTTPRoute", Name: name}, Hostname: host, Match: lbmodel.Match{Path: path}, Action: action}
}

// many are rules by their index.
func many(n int, rule func(i int) lbmodel.Rule) []lbmodel.Rule {
	out := make([]lbmodel.Rule, n)
	for i := range out {
		out[i] = rule(i)
	}
	return out
}

// Why: what does not fit into a URL map must be told before any call, by name, with the
// limit; what comes first must stay; and what stays must be what Google Cloud takes.
func TestLimitsAreToldBefore(t *testing.T) {
	fixed := lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 404}}
	rewritten := lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "p", Weight: 1}}},
		Edits: lbmodel.Edits{Rewrite: &lbmodel.Rewrite{Path: &lbmodel.PathEdit{Kind: lbmodel.ReplaceFullPath, Value: "/x"}}}}
	prefix := func(i int) lbmodel.PathMatch {
		return lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: fmt.Sprint("/p", i)}
	}
	for _, c := range []struct {
		name, settings string
		rules          []lbmodel.Rule
		told           string // of the first that has no room
		first          int
		kept           int
	}{
		{"predicates", settingsOf("RegionalInternal", `,"quotas":{"urlMapBytes":1000000}`), many(501, func(i int) lbmodel.Rule { return ruleFor(fmt.Sprint("r", i), "", prefix(i), fixed) }), "1000 conditions", 500, 500},
		{"one host's are not another's", settingsOf("RegionalInternal", `,"quotas":{"urlMapBytes":1000000}`), many(900, func(i int) lbmodel.Rule {
			return ruleFor(fmt.Sprint("r", i), fmt.Sprintf("h%d.test", i%2), prefix(i), fixed)
		}), "", 0, 900},
		{"regular expressions", settingsOf("RegionalExternal", ""), many(7, func(i int) lbmodel.Rule {
			return ruleFor(fmt.Sprint("r", i), "", lbmodel.PathMatch{Kind: lbmodel.MatchRegex, Value: fmt.Sprint("/x", i, ".*")}, fixed)
		}), "5 regular expressions", 5, 5},
		{"path templates", settingsOf("GlobalExternal", `,"quotas":{"urlMapBytes":1000000}`), many(102, func(i int) lbmodel.Rule { return ruleFor(fmt.Sprint("r", i), "", prefix(i), rewritten) }), "100 rules at most that replace a whole path", 100, 200},
		{"bytes", settingsOf("GlobalExternal", `,"quotas":{"predicatesPerHost":100000}`), many(900, func(i int) lbmodel.Rule {
			return ruleFor(fmt.Sprint("r", i), fmt.Sprintf("h%d.test", i/300), lbmodel.PathMatch{Kind: lbmodel.MatchExact, Value: "/" + strings.Repeat("x", 500) + fmt.Sprint(i)}, fixed)
		}), "65536 bytes", 0, 0},
		{"hosts", settingsOf("GlobalExternal", `,"quotas":{"hostsPerURLMap":3}`), many(5, func(i int) lbmodel.Rule {
			return ruleFor(fmt.Sprint("r", i), fmt.Sprintf("h%d.test", i), prefix(i), fixed)
		}), "beyond the 3 hostnames", 0, 3},
		{"backend services", settingsOf("GlobalExternal", `,"quotas":{"backendServicesPerURLMap":1}`), many(2, func(i int) lbmodel.Rule {
			return ruleFor(fmt.Sprint("r", i), "", prefix(i), []lbmodel.Action{fixed, rewritten}[i])
		}), "1 backend services", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			gw := pathsOf(c.settings, c.rules...)
			gw.Pools = []lbmodel.Pool{{Name: "p", Protocol: lbmodel.PoolHTTP1, Endpoints: []lbmodel.Endpoint{}}}
			own, _, findings := Compiler{}.Compile(gw)
			urls := serveConfigs(t, gw, own)[80].URLMap
			limits := serve.Limits{}
			if strings.Contains(c.settings, "urlMapBytes") {
				limits.Bytes = 1_000_000
			}
			if err := urls.Check(limits); err != nil {
				t.Error(err)
			}
			if (c.told == "") != (len(findings) == 0) {
				t.Fatalf("%v, want %q", findings, c.told)
			}
			if c.told != "" && (!strings.Contains(findings[0].Detail, c.told) || findings[0].Code != lbmodel.CodeQuota || c.first > 0 && findings[0].About.Name != fmt.Sprint("r", c.first)) {
				t.Errorf("%+v, want r%d and %q", findings[0], c.first, c.told)
			}
			if n := rulesIn(&urls); c.kept > 0 && n != c.kept || n == 0 {
				t.Errorf("%d rules, want %d", n, c.kept)
			}
		})
	}
}

func rulesIn(u *serve.URLMap) int {
	n := 0
	for _, m := range u.PathMatchers {
		n += len(m.RouteRules)
	}
	return n
}

// Why: each limit that is not of a URL map must be told too, and the rest be served.
func TestOtherLimits(t *testing.T) {
	gw := pathsOf(settingsOf("RegionalInternal", `,"quotas":{"forwardingRulesPerAddress":1,"serverNamesPerRoute":2}`))
	second := gw.Listeners[0]
	second.Name, second.Port = "second", 8080
	tls := lbmodel.Listener{Name: "tls", Port: 443, Protocol: lbmodel.ProtocolTLS, TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSPassthrough}}
	for i := range 4 {
		tls.SNI = append(tls.SNI, lbmodel.SNIRule{Hostname: []string{"a.test", "b.test", "*.test", ""}[i]})
	}
	many := lbmodel.Pool{Name: "p", Group: "apps/p:80", Protocol: lbmodel.PoolHTTP1}
	for i := range maxEndpoints + 1 {
		many.Endpoints = append(many.Endpoints, lbmodel.Endpoint{Address: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), Port: 80, Instance: "gce://p/europe-west1-b/n", Ready: true, Serving: true})
	}
	gw.Pools = []lbmodel.Pool{many}
	gw.Listeners = append(gw.Listeners, tls, second)
	own, shared, findings := Compiler{}.Compile(gw)
	for _, want := range []string{"forwarding rule 2 of an internal address", "the server name *.test is one more than the 2", "10001 endpoints are in europe-west1-b"} {
		if !slices.ContainsFunc(findings, func(f lbmodel.Finding) bool { return strings.Contains(f.Detail, want) && f.Code == lbmodel.CodeQuota }) {
			t.Errorf("%v, want %q", findings, want)
		}
	}
	most := 0
	for _, r := range shared {
		if e, ok := r.Spec.(*NetworkEndpoints); ok {
			most = max(most, len(e.Endpoints))
		}
	}
	if most != maxEndpoints {
		t.Errorf("%d endpoints", most)
	}
	for _, r := range own {
		if p, ok := r.Spec.(*TargetTCPProxy); ok && !strings.Contains(string(p.Service), "nobody") {
			t.Errorf("connections of names without room go to %s", p.Service)
		}
	}
}

// Why: shares must stay what they are, and nobody who has one may lose it.
func TestWeightsAreScaled(t *testing.T) {
	for _, c := range []struct {
		name    string
		weights []int64
		want    []int32
	}{
		{"as they are", []int64{1, 1000}, []int32{1, 1000}},
		{"divided", []int64{2000, 4000}, []int32{1, 2}},
		{"rounded", []int64{1_000_000, 333_333}, []int32{1000, 333}},
		{"a sliver stays", []int64{1_000_000, 1}, []int32{1000, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := scaled(c.weights); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// BenchmarkCompile is a pass over 200 routes, each to a Service of its own with 20 pods.
func BenchmarkCompile(b *testing.B) {
	gw := pathsOf(settingsOf("RegionalInternal", `,"quotas":{"urlMapBytes":1000000}`))
	for i := range 200 {
		p := lbmodel.Pool{Name: fmt.Sprint("p", i), Group: fmt.Sprint("apps/p", i), Protocol: lbmodel.PoolHTTP1}
		for n := range 20 {
			p.Endpoints = append(p.Endpoints, lbmodel.Endpoint{Address: fmt.Sprintf("10.0.%d.%d", i, n), Port: 80, Instance: "gce://p/europe-west1-b/n", Ready: true})
		}
		gw.Pools = append(gw.Pools, p)
		gw.Listeners[0].Rules = append(gw.Listeners[0].Rules, ruleFor(p.Name, "", lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: "/" + p.Name},
			lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: p.Name, Weight: 1}}}}))
	}
	for b.Loop() {
		own, _, _ := Compiler{}.Compile(gw)
		Compiler{}.Place(own, own, now)
	}
}
