package gcp

import (
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
)

const (
	serviceA = Ref("BackendService.r.a")
	serviceB = Ref("BackendService.r.b")
	mirrored = Ref("BackendService.r.m")
	nobodys  = Ref("BackendService.r.nobody")
)

func lost(refs ...Ref) func(lbmodel.ID) bool {
	return func(id lbmodel.ID) bool { return slices.Contains(refs, refTo(id)) }
}

// mapOf has one rule for one host.
func mapOf(rule RouteRule, hosts ...string) *URLMap {
	rule.MatchRules = []MatchRule{{PrefixMatch: "/"}}
	return &URLMap{DefaultService: nobodys, nobody: nobodys, HostRules: []HostRule{{Hosts: hosts, PathMatcher: "m"}},
		PathMatchers: []PathMatcher{{Name: "m", DefaultService: nobodys, RouteRules: []RouteRule{rule}}}}
}

func shared(status int, shares ...WeightedService) RouteRule {
	return RouteRule{broken: status, RouteAction: &RouteAction{WeightedBackendServices: shares, RequestMirrorPolicy: &MirrorPolicy{BackendService: mirrored}}}
}

// Why: a rule whose backends are not there keeps its place and says so; one that serves
// somebody is left alone; and all others are served (decision 0027).
func TestRulesKeepTheirPlace(t *testing.T) {
	a, b := WeightedService{BackendService: serviceA, Weight: 3}, WeightedService{BackendService: serviceB, Weight: 1}
	both := shared(503, a, b)
	half := shared(500, a, b)
	half.RouteAction.FaultInjectionPolicy = &FaultPolicy{Abort{HTTPStatus: 500, Percentage: 50}}
	other := shared(503, a, b)
	other.RouteAction.FaultInjectionPolicy = &FaultPolicy{Abort{HTTPStatus: 500, Percentage: 50}}
	for _, c := range []struct {
		name string
		want RouteRule
		have *URLMap
		lost []Ref
		says string // of the rule; without blanks
	}{
		{"nothing is missing", both, nil, nil, encode(both.RouteAction)},
		{"the only one", RouteRule{Service: serviceA, broken: 500}, nil, []Ref{serviceA}, `"service":"BackendService.r.nobody","routeAction":{"faultInjectionPolicy":{"abort":{"httpStatus":500,"percentage":100}}}`},
		{"all of gRPC", both, nil, []Ref{serviceA, serviceB}, `"service":"BackendService.r.nobody","routeAction":{"faultInjectionPolicy":{"abort":{"httpStatus":503,"percentage":100}}}`},
		{"a share", both, nil, []Ref{serviceB}, `"weightedBackendServices":[{"backendService":"BackendService.r.a","weight":3}],"requestMirrorPolicy":{"backendService":"BackendService.r.m","mirrorPercent":0},"faultInjectionPolicy":{"abort":{"httpStatus":503,"percentage":25}}`},
		{"a share beside one that is answered", half, nil, []Ref{serviceB}, `"abort":{"httpStatus":500,"percentage":62.5}`},
		{"a share of another status", other, nil, []Ref{serviceB}, `"service":"BackendService.r.nobody","routeAction":{"faultInjectionPolicy":{"abort":{"httpStatus":503,"percentage":100}}}`},
		{"a mirror", both, nil, []Ref{mirrored}, `"routeAction":{"weightedBackendServices":[{"backendService":"BackendService.r.a","weight":3},{"backendService":"BackendService.r.b","weight":1}]}`},
		{"an old one serves", both, mapOf(RouteRule{Service: serviceB}, "h.test"), []Ref{serviceA}, `"service":"BackendService.r.b"`},
		{"an old one serves other hosts", both, mapOf(RouteRule{Service: serviceB}, "o.test"), []Ref{serviceA}, `"abort":{"httpStatus":503,"percentage":75}`},
		{"an old stand-in", both, mapOf(both.answering(nobodys), "h.test"), []Ref{serviceA}, `"abort":{"httpStatus":503,"percentage":75}`},
		{"an old one goes too", both, mapOf(RouteRule{Service: mirrored}, "h.test"), []Ref{serviceA, mirrored}, `"abort":{"httpStatus":503,"percentage":75}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := mapOf(c.want, "h.test", "h.test:80")
			before := encode(want)
			var have lbmodel.Spec
			if c.have != nil {
				have = c.have
			}
			got := want.StandIn(have, lost(c.lost...)).(*URLMap)
			if text := encode(got.PathMatchers[0].RouteRules[0]); !strings.Contains(text, c.says) {
				t.Errorf("%s, want %s", text, c.says)
			}
			for _, id := range got.Needs() {
				if lost(c.lost...)(id) {
					t.Errorf("it needs %s", id)
				}
			}
			if encode(want) != before {
				t.Error("the wanted map was changed")
			}
		})
	}
}

// Why: the next plan must find what stands in, and put the whole rule in its place when
// it can.
func TestStandInsAreFound(t *testing.T) {
	want := mapOf(shared(500, WeightedService{BackendService: serviceA, Weight: 1}, WeightedService{BackendService: serviceB, Weight: 1}), "h.test")
	in := want.StandIn(nil, lost(serviceB))
	if !lbmodel.StandsIn(want, in) || lbmodel.StandsIn(want, want) || lbmodel.StandsIn(want, mapOf(RouteRule{Service: serviceB}, "h.test")) {
		t.Error("what stands in is not told from what serves")
	}
	again := want.StandIn(in, lost(serviceB))
	if lbmodel.DigestOf(again) != lbmodel.DigestOf(in) {
		t.Errorf("%s becomes %s", encode(in), encode(again))
	}
	if whole := want.StandIn(in, lost()); lbmodel.DigestOf(whole) != lbmodel.DigestOf(want) {
		t.Errorf("%s, want all of it", encode(whole))
	}
}

// Why: connections for what is missing are closed, and go to nobody else; a zone or a
// certificate that is missing costs itself.
func TestOthersStandIn(t *testing.T) {
	group, other := Ref("NetworkEndpointGroup.z.g"), Ref("NetworkEndpointGroup.y.g")
	first, second := NamedRef("Certificate.global.a"), NamedRef("Certificate.global.b")
	for _, c := range []struct {
		name string
		want lbmodel.Standing
		lost []Ref
		says string
	}{
		{"server name", &TLSRoute{nobody: nobodys, Rules: []TLSRule{{Action: TLSAction{Destinations: []Destination{{LocatedRef(serviceA), 3}, {LocatedRef(serviceB), 1}}}}}}, []Ref{serviceA},
			`[{"serviceName":"BackendService.r.nobody","weight":3},{"serviceName":"BackendService.r.b","weight":1}]`},
		{"zone", &BackendService{Backends: []Backend{{Group: group}, {Group: other}}}, []Ref{group}, `"backends":[{"group":"NetworkEndpointGroup.y.g"}]`},
		{"certificate", &TargetHTTPSProxy{SSLCertificates: []NamedRef{first, second}}, []Ref{Ref(first)}, `"sslCertificates":["Certificate.global.b"]`},
		{"the only certificate", &TargetHTTPSProxy{SSLCertificates: []NamedRef{first}}, []Ref{Ref(first)}, "null"},
		{"what it is verified by", &BackendService{TLSSettings: &TLSSettings{AuthenticationConfig: "BackendAuthenticationConfig.r.x"}}, []Ref{"BackendAuthenticationConfig.r.x"}, `"authenticationConfig"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := encode(c.want.StandIn(nil, lost(c.lost...))); !strings.Contains(got, c.says) {
				t.Errorf("%s, want %s", got, c.says)
			}
		})
	}
}

// Why: what serves a name, or a pool, goes on while what it is to be is not there.
func TestWhatServesGoesOn(t *testing.T) {
	match := []TLSMatch{{SNIHost: []string{"a.test"}}}
	route := func(refs ...Ref) *TLSRoute {
		var to []Destination
		for _, r := range refs {
			to = append(to, Destination{LocatedRef(r), 1})
		}
		return &TLSRoute{nobody: nobodys, Rules: []TLSRule{{Matches: match, Action: TLSAction{to}}}}
	}
	group, old := Ref("NetworkEndpointGroup.z.g"), Ref("NetworkEndpointGroup.z.old")
	service := func(refs ...Ref) *BackendService {
		out := &BackendService{}
		for _, r := range refs {
			out.Backends = append(out.Backends, Backend{Group: r})
		}
		return out
	}
	for _, c := range []struct {
		name       string
		want       lbmodel.Standing
		have, says lbmodel.Spec
		lost       []Ref
	}{
		{"another one serves the name", route(serviceA), route(serviceB), route(serviceB), []Ref{serviceA}},
		{"nobody does", route(serviceA), route(nobodys), route(nobodys), []Ref{serviceA}},
		{"only a share of it", route(serviceA, serviceB), route(serviceA, nobodys), route(serviceA, nobodys), []Ref{serviceB}},
		{"it is missing too", route(serviceA), route(serviceB), route(nobodys), []Ref{serviceA, serviceB}},
		{"old endpoints", service(group), service(old), service(old), []Ref{group}},
		{"no endpoints", service(group), service(), service(), []Ref{group}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.want.StandIn(c.have, lost(c.lost...)); encode(got) != encode(c.says) {
				t.Errorf("%s, want %s", encode(got), encode(c.says))
			}
		})
	}
}

// Why: with the real plan: an issuer that gives no client certificate holds back what
// needs it, and the rule answers 500 meanwhile, whatever else the gateway serves.
func TestAPlanStandsIn(t *testing.T) {
	gw := readGateway(t, "testdata/global-mesh-mtls/gateway.yaml")
	gw.Pools[1].TLS = nil
	want := graphOf(gw, nil)
	plan, err := lbmodel.Diff(want, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	failed := map[lbmodel.ID]error{}
	for id, r := range want {
		if cert, ok := r.Spec.(*Certificate); ok && cert.Scope == scopeClientAuth {
			failed[id] = lbmodel.Errorf(lbmodel.CodeUnavailable, "issue", id, "the issuer is away")
		}
	}
	stands := map[string]lbmodel.Spec{}
	for _, s := range lbmodel.StandIns(plan, failed).Steps {
		stands[s.ID.Kind] = s.Want
	}
	urls, ok := stands[KindURLMap].(*URLMap)
	if !ok || !strings.Contains(encode(urls.PathMatchers[0]), `"httpStatus":500,"percentage":50`) {
		t.Errorf("%s", encode(stands))
	}
	if stands[KindBackendService] != nil {
		t.Errorf("a hop is made that is not verified: %s", encode(stands[KindBackendService]))
	}
}
