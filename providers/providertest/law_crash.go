package providertest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"gatehouse.dev/lbmodel"
)

// pair is a way from one scene to another.
type pair struct {
	name string
	a, b scene
}

// pairs are ways that between them make everything happen that changes has: from
// nothing, one for every change, and back to nothing.
func pairs(h Harness) []pair {
	start := draw(random(1), h.Locations)
	empty := start.clone()
	empty.gateways = map[string]sketch{}
	out := []pair{{"from nothing", empty, start}}
	for i, c := range changes {
		r := random(100 + uint64(i))
		a := draw(r, h.Locations)
		b := a.clone()
		c.apply(r, &b, h.Locations)
		out = append(out, pair{c.name, a, b})
	}
	if h.Adopt != nil {
		adopting := start.clone()
		adoptFirst(&adopting)
		out = append(out, pair{"a gateway moves to an adopted object", start, adopting})
	}
	return append(out, pair{"to nothing", start, empty})
}

// randomPair is one with several changes at once.
func randomPair(h Harness, seed uint64) pair {
	r := random(seed)
	a := draw(r, h.Locations)
	b, what := mutate(r, a, h.Locations)
	return pair{what, a, b}
}

func crashSafe(tb testing.TB, h Harness) {
	ways := pairs(h)
	for seed := range uint64(4) {
		ways = append(ways, randomPair(h, 300+seed))
	}
	for i, p := range ways {
		clean := newBench(tb, h)
		clean.converge(p.a)
		hook := &counter{}
		clean.world.Hook(hook)
		clean.converge(p.b)
		clean.world.Hook(nil)
		want := clean.settled()
		for _, n := range h.points(i, hook.count()) {
			for how, name := range map[FaultKind]string{Refuse: "the process ends before call", LoseReply: "the process ends after call"} {
				crash(clean, p, crashAt{n: n, how: how, name: fmt.Sprintf("%s: %s %d", p.name, name, n), want: want})
				if tb.Failed() {
					return // every further point would only repeat it
				}
			}
		}
	}
}

// settled is what must be in the cloud in the end: our resources, and how many
// objects they are.
type settled struct {
	ids     []lbmodel.ID
	objects int
	foreign map[string]string
}

func (b *bench) settled() settled {
	b.Helper()
	return settled{ids: sortedIDs(b.state()), objects: len(b.ours()), foreign: b.foreign()}
}

type crashAt struct {
	n    int
	how  FaultKind
	name string
	want settled
}

// crash goes from a to b, dies at one call, and expects a new process to finish.
func crash(clean *bench, p pair, at crashAt) {
	clean.Helper()
	tb, b := clean.TB, clean.another()
	b.converge(p.a)
	death := dieAt(at.n, at.how)
	b.world.Hook(death)
	_, _, _ = b.pass(p.b) // what it says is lost with the process
	if death.count() <= at.n {
		return // the first pass makes fewer calls
	}
	b.world.Hook(nil)
	b.restart()
	if err := b.tryConverge(p.b); err != nil {
		tb.Errorf("%s: the next process does not finish: %v\nfrom %s\nto %s", at.name, err, p.a, p.b)
		return
	}
	got := b.settled()
	if !slices.Equal(got.ids, at.want.ids) {
		tb.Errorf("%s: there is\n%v, want\n%v", at.name, got.ids, at.want.ids)
	}
	if got.objects != at.want.objects {
		tb.Errorf("%s: %d objects are left in the cloud, want %d: something was doubled or leaked", at.name, got.objects, at.want.objects)
	}
	if !maps.Equal(got.foreign, at.want.foreign) {
		tb.Errorf("%s: foreign objects changed", at.name)
	}
}
