package providertest

import (
	"encoding/json/v2"
	"testing"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// secretive is a scene with every kind of key in it.
func secretive(h Harness) scene {
	s := honestScene(h)
	g := s.gateways["gw"]
	g.https, g.issued = true, true
	g.pools["p1"] = pool{group: groups[1], protocol: lbmodel.PoolHTTP1, trust: trusts[0]}
	g.routes = append(g.routes, route{path: "/mesh", pools: []string{"p1"}})
	s.gateways["gw"] = g
	return s
}

func silent(tb testing.TB, h Harness) {
	s := secretive(h)
	calls := &counter{}
	b := newBench(tb, h)
	b.listen()
	b.world.Hook(calls)
	b.converge(s)
	b.expectSilence("all goes well")
	for n := range calls.count() {
		for _, how := range []FaultKind{Refuse, LoseReply} {
			b := newBench(tb, h)
			b.listen()
			b.world.Hook(dieAt(n, how))
			_, _, err := b.pass(s)
			b.noteErr(err)
			b.world.Hook(nil)
			b.expectSilence("a call fails")
			if tb.Failed() {
				return
			}
		}
	}
}

// notePlan keeps a plan in every form that it is shown in: for people, for
// programs, and as a failure of a test prints it.
func (b *bench) notePlan(p providers.Plan) {
	if err := lbmodel.PrintPlan(b, p.Plan, lbmodel.Plain); err != nil {
		b.Errorf("printing a plan: %v", err)
	}
	out, err := json.Marshal(p.Plan, json.Deterministic(true))
	if err != nil {
		b.Errorf("a plan cannot be written as JSON: %v", err)
	}
	b.note("%s\n%s\n%+v\n%+v", out, render(p.Plan), p.Plan, p.Findings)
}

// expectSilence searches everything that anybody could read for keys.
func (b *bench) expectSilence(when string) {
	b.Helper()
	b.mu.Lock()
	text := b.text.String()
	b.mu.Unlock()
	if b.keys.leaked(text) {
		b.Errorf("when %s a private key is in the plans, logs, errors or events", when)
	}
	for _, o := range b.world.Dump() {
		if b.keys.leaked(o.Text) || b.keys.leaked(o.Foreign) {
			b.Errorf("when %s the cloud shows a private key in %s", when, o.Name)
		}
	}
}
