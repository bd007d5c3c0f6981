package providertest

import (
	"fmt"
	"slices"
	"testing"

	"gatehouse.dev/lbmodel"
)

// places expects that a rule whose backends cannot be reached yet, since a
// certificate is not issued or roots are not known, stands where it belongs: its
// requests go to nobody else.
func places(tb testing.TB, h Harness) {
	features, _ := newBench(tb, h).world.Provider().Offers(h.Settings(h.Locations[0]))
	if features.Offers(lbmodel.FeatureBackendTLSIdentity) {
		newBench(tb, h).certificateIsRefused(features)
		interruptedPlaces(tb, h)
	}
	if features.Offers(lbmodel.FeatureBackendTLSTrust) {
		newBench(tb, h).rootsAreUnknown()
	}
}

// vault is a gateway with a rule for everything below a path, and one for a part of
// it that goes to a backend behind TLS.
func (b *bench) vault() scene {
	s := honestScene(b.harness)
	s.trust = map[string][]int{"mesh": {1}}
	s.gateways["gw"] = sketch{
		location: b.harness.Locations[0], issued: true,
		routes: []route{{path: "/vault/inner", pools: []string{"p1"}}, {path: "/vault", pools: []string{"p0"}}},
		pools: map[string]pool{
			"p0": {group: groups[0], protocol: lbmodel.PoolHTTP1},
			"p1": {group: groups[1], protocol: lbmodel.PoolHTTP1, trust: "mesh"},
			"p2": {group: groups[2], protocol: lbmodel.PoolHTTP1},
		},
	}
	return s
}

// shared has a rule that shares requests between a backend that is there and one
// behind TLS.
func (b *bench) shared() scene {
	s := b.vault()
	g := s.gateways["gw"]
	g.routes = append([]route{{path: "/vault/half", pools: []string{"p2", "p1"}}}, g.routes...)
	s.gateways["gw"] = g
	return s
}

func (b *bench) certificateIsRefused(features lbmodel.Features) {
	b.Helper()
	s := b.vault()
	if features.Offers(lbmodel.FeatureWeights) && features.Offers(lbmodel.FeatureFixedShare) {
		s = b.shared()
	}
	b.keys.refuse(true)
	b.turns(s, 2)
	b.expectTargets("while the client certificate is refused", s, nil)
	b.expectNoWrites("while the client certificate is refused", s)
	b.restart()
	b.expectNoWrites("after a restart", s)
	b.expectTargets("after a restart", s, nil)
	b.keys.refuse(false)
	b.converge(s)
	b.world.Settle()
	b.expectTargets("when the certificate was issued", s, []string{groups[1]})
	b.keys.refuse(true)
	b.restart()
	b.expectQuiet("the plan of a live rule while nothing is issued", s, 1)
	b.expectTargets("while a certificate that is live cannot be renewed", s, []string{groups[1]})
}

// rootsAreUnknown expects the same where it is roots that are not known, and that a
// rule which is live goes on as it is when what it should do next has none.
func (b *bench) rootsAreUnknown() {
	b.Helper()
	s := b.vault()
	g := s.gateways["gw"]
	g.issued = false
	s.gateways["gw"] = g
	unknown := s.clone()
	unknown.rotation = lbmodel.Trust{Overlap: lbmodel.Duration(overlap), Unknown: true}
	b.turns(unknown, 2)
	b.expectTargets("while the roots are unknown", unknown, nil)
	b.expectNoWrites("while the roots are unknown", unknown)
	known := s.clone()
	known.rotation = lbmodel.Trust{Overlap: lbmodel.Duration(overlap)}
	b.converge(known)
	b.world.Settle()
	b.expectTargets("when the roots are known", known, []string{groups[1]})

	next := unknown.clone() // those of mesh are there, nobody knows those of corp
	next.trust["corp"] = nil
	next.groups["apps/new1:80"] = 0
	next.gateways["gw"].pools["new"] = pool{group: "apps/new1:80", protocol: lbmodel.PoolHTTP1, trust: "corp"}
	next.gateways["gw"].routes[0] = route{path: "/vault/inner", pools: []string{"new"}}
	b.turns(next, 2)
	b.expectTargets("while what a live rule should do next has no roots", next, []string{groups[1]})
}

// interruptedPlaces lets the process end at each call of the pass that keeps the
// places; another one goes on.
func interruptedPlaces(tb testing.TB, h Harness) {
	for n, more := 0, true; more && !tb.Failed(); n += max(1, h.Every/20) {
		more = false
		for _, how := range []FaultKind{Refuse, LoseReply} {
			b := newBench(tb, h)
			b.keys.refuse(true)
			death := dieAt(n, how)
			b.world.Hook(death)
			_, _, err := b.pass(b.vault())
			b.noteErr(err)
			b.world.Hook(nil)
			b.restart()
			b.turns(b.vault(), 3)
			b.expectTargets(fmt.Sprintf("when a process ends at call %d and another goes on", n), b.vault(), nil)
			more = more || death.count() > n
		}
	}
}

// turns are some passes, whatever comes of them.
func (b *bench) turns(s scene, n int) {
	b.Helper()
	for range n {
		if _, _, err := b.pass(s); err != nil {
			b.noteErr(err)
		}
		b.world.Settle()
	}
}

// expectTargets expects the rule of the inner path to reach just the endpoints of
// these groups, the one around it to work, and the shared one to reach its other
// backend.
func (b *bench) expectTargets(when string, s scene, inner []string) {
	b.Helper()
	want := map[string][]string{"/vault/inner": inner, "/vault": {groups[0]}, "/vault/half": append([]string{groups[2]}, inner...)}
	for _, ask := range s.probes() {
		var targets []lbmodel.Target
		for _, group := range want[ask.Path] {
			for _, e := range endpointsOf(group, s.groups[group]) {
				targets = append(targets, e.Target())
			}
		}
		got := b.world.Answer(ask)
		slices.Sort(got)
		slices.Sort(targets)
		if !slices.Equal(got, targets) {
			b.Errorf("%s requests to %s go to %v, want %v: what is more general may not get them\nscene: %s", when, ask.Path, got, targets, s)
		}
	}
}

// expectNoWrites expects a pass that changes nothing.
func (b *bench) expectNoWrites(when string, s scene) {
	b.Helper()
	hook := &counter{}
	b.world.Hook(hook)
	defer b.world.Hook(nil)
	if _, _, err := b.pass(s); err != nil {
		b.noteErr(err)
	}
	if w := hook.written(); len(w) > 0 {
		b.Errorf("%s a pass writes %v: nothing has changed since the last one", when, w)
	}
}
