package providertest

import (
	"slices"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// ability is a feature, and an edit of a gateway that needs it: of the last rule
// of its first listener, or a listener of its own.
type ability struct {
	feature  lbmodel.Feature
	rule     func(*lbmodel.Rule)
	listener *lbmodel.Listener
}

// abilities are those that can be asked for by themselves.
func abilities() []ability {
	forward := &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "p0", Weight: 1}}}
	port := func(p lbmodel.Protocol, n int32) *lbmodel.Listener {
		source := lbmodel.Source{Kind: "Gateway", Namespace: "apps", Name: "gw", Section: string(p)}
		return &lbmodel.Listener{Name: string(p), Source: source, Port: n, Protocol: p, Forward: forward, Route: source}
	}
	limited := port(lbmodel.ProtocolHTTP, 9002)
	limited.SourceRanges, limited.Forward, limited.Route = []string{"10.0.0.0/8"}, nil, lbmodel.Source{}
	limited.Rules = []lbmodel.Rule{ruleOf(route{path: "/inside", pools: []string{"p0"}})}
	action := func(edit func(*lbmodel.Action)) func(*lbmodel.Rule) {
		return func(r *lbmodel.Rule) { edit(&r.Action) }
	}
	redirect := func(d lbmodel.Redirect) func(*lbmodel.Rule) {
		return action(func(a *lbmodel.Action) { a.Forward, a.Redirect = nil, &d })
	}
	header := &lbmodel.HeaderEdit{Set: []lbmodel.Header{{Name: "x-law", Value: "8"}}}
	return []ability{
		{feature: lbmodel.FeatureTCP, listener: port(lbmodel.ProtocolTCP, 9000)},
		{feature: lbmodel.FeatureUDP, listener: port(lbmodel.ProtocolUDP, 9001)},
		{feature: lbmodel.FeatureSourceRanges, listener: limited},
		{feature: lbmodel.FeaturePathRegex, rule: func(r *lbmodel.Rule) {
			r.Match.Path = lbmodel.PathMatch{Kind: lbmodel.MatchRegex, Value: "/v[0-9]+"}
		}},
		{feature: lbmodel.FeatureMethodMatch, rule: func(r *lbmodel.Rule) { r.Match.Method = "POST" }},
		{feature: lbmodel.FeatureHeaderMatch, rule: func(r *lbmodel.Rule) {
			r.Match.Headers = []lbmodel.ValueMatch{{Name: "x-law", Kind: lbmodel.MatchExact, Value: "8"}}
		}},
		{feature: lbmodel.FeatureQueryMatch, rule: func(r *lbmodel.Rule) {
			r.Match.Query = []lbmodel.ValueMatch{{Name: "law", Kind: lbmodel.MatchExact, Value: "8"}}
		}},
		{feature: lbmodel.FeatureRequestHeaders, rule: action(func(a *lbmodel.Action) { a.Edits.Request = header })},
		{feature: lbmodel.FeatureResponseHeaders, rule: action(func(a *lbmodel.Action) { a.Edits.Response = header })},
		{feature: lbmodel.FeatureRedirectScheme, rule: redirect(lbmodel.Redirect{Scheme: "https", Status: 302})},
		{feature: lbmodel.FeatureRedirectHost, rule: redirect(lbmodel.Redirect{Hostname: "law.test", Status: 302})},
		{feature: lbmodel.FeatureRewriteHost, rule: action(func(a *lbmodel.Action) {
			a.Edits.Rewrite = &lbmodel.Rewrite{Hostname: "law.test"}
		})},
		{feature: lbmodel.FeatureMirror, rule: action(func(a *lbmodel.Action) {
			a.Edits.Mirrors = []lbmodel.Mirror{{Pool: "p1", Numerator: 1, Denominator: 1}}
		})},
		{feature: lbmodel.FeatureCORS, rule: action(func(a *lbmodel.Action) {
			a.CORS = &lbmodel.CORS{AllowOrigins: []string{"https://law.test"}}
		})},
		{feature: lbmodel.FeatureRequestTimeout, rule: action(func(a *lbmodel.Action) {
			a.Timeouts.Request = lbmodel.Duration(8 * time.Second)
		})},
	}
}

// honestScene is a gateway with one rule that anybody can serve.
func honestScene(h Harness) scene {
	s := draw(random(8), h.Locations[:1])
	g := sketch{location: h.Locations[0], routes: []route{{path: "/good", pools: []string{"p0"}}}, pools: map[string]pool{
		"p0": {group: groups[0], protocol: lbmodel.PoolHTTP1},
		"p1": {group: groups[1], protocol: lbmodel.PoolHTTP1},
	}}
	s.gateways = map[string]sketch{"gw": g}
	return s
}

func honest(tb testing.TB, h Harness) {
	for _, a := range abilities() {
		b := newBench(tb, h)
		s := honestScene(h)
		gw := b.model(s, "gw")
		offered, _ := b.world.Provider().Offers(gw.Settings)
		a.askOf(&gw, offered)
		findings := b.account.Want(gw)
		b.expectAnswer(a, findings, offered.Offers(a.feature))
		if a.listener != nil && !offered.Offers(a.feature) {
			plain := gw
			plain.Listeners = gw.Listeners[:len(gw.Listeners)-1]
			if diff := differing(compileModel(b.world.Provider(), plain), compileModel(b.world.Provider(), gw)); len(diff) > 0 {
				tb.Errorf("%s is not offered, and yet a listener that needs it makes %v", a.feature, diff)
			}
		}
		b.expectKept(a, gw)
		probe := Probe{Owner: gw.Owner, Port: 80, Host: "shop.test", Path: "/good"}
		b.world.Settle()
		if len(b.world.Answer(probe)) == 0 {
			tb.Errorf("%s: asking for it took the rule beside it down", a.feature)
		}
	}
}

// askOf edits a gateway so that it needs the ability.
func (a ability) askOf(gw *lbmodel.Gateway, offered lbmodel.Features) {
	if a.listener != nil {
		a.listenOn(gw, offered)
		return
	}
	rule := ruleOf(route{path: "/asked", pools: []string{"p0"}})
	a.rule(&rule)
	gw.Listeners[0].Rules = append([]lbmodel.Rule{rule}, gw.Listeners[0].Rules...)
}

// listenOn adds the ability's listener. One that passes connections on does so to a pool
// of its own, which speaks no HTTP; one that is refused has nobody to pass them to.
func (a ability) listenOn(gw *lbmodel.Gateway, offered lbmodel.Features) {
	l := *a.listener
	if l.Forward != nil && offered.Offers(a.feature) {
		stream := gw.Pools[0]
		stream.Name, stream.Protocol, stream.TLS = "stream", lbmodel.PoolTCP, nil
		if l.Protocol == lbmodel.ProtocolUDP {
			stream.Protocol = lbmodel.PoolUDP
		}
		gw.Pools = append(gw.Pools, stream)
		l.Forward = &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: stream.Name, Weight: 1}}}
	}
	gw.Listeners = append(gw.Listeners, l)
}

// expectAnswer expects a refusal exactly when the feature is not offered.
func (b *bench) expectAnswer(a ability, findings []lbmodel.Finding, offered bool) {
	b.Helper()
	refused := slices.ContainsFunc(findings, func(f lbmodel.Finding) bool { return f.Code == lbmodel.CodeUnsupported })
	switch {
	case offered && refused:
		b.Errorf("%s is offered and yet refused: %+v", a.feature, findings)
	case !offered && !refused:
		b.Errorf("%s is not offered, and nobody is told: %+v", a.feature, findings)
	}
}

// expectKept expects that what was promised before the plan is kept in it.
func (b *bench) expectKept(a ability, gw lbmodel.Gateway) {
	b.Helper()
	for range passesToConverge {
		plan, err := b.account.Plan(b.Context(), []lbmodel.Owner{gw.Owner})
		if err != nil {
			b.Fatalf("%s: planning: %v", a.feature, err)
		}
		if plan.Empty() {
			return
		}
		out := b.account.Apply(b.Context(), plan, nil)
		for id, err := range out.Failed {
			if code := lbmodel.CodeOf(err); code == lbmodel.CodeUnsupported || code == lbmodel.CodeInvalid {
				b.Errorf("%s: %s was refused only when it was applied: %v", a.feature, id, err)
				return
			}
		}
	}
	b.Errorf("%s: still something to do after %d passes", a.feature, passesToConverge)
}
