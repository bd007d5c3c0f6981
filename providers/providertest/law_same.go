package providertest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// scenes is how many random scenes a law looks at.
const scenes = 12

// each runs a check on some random scenes, each in a world of its own.
func each(tb testing.TB, h Harness, check func(*bench, *rand.Rand, scene)) {
	tb.Helper()
	for _, seed := range h.seeds() {
		r := random(seed)
		check(newBench(tb, h), r, draw(r, h.Locations))
	}
}

func stable(tb testing.TB, h Harness) {
	each(tb, h, func(b *bench, r *rand.Rand, s scene) {
		b.parallel = 8
		b.restart()
		b.converge(s)
		next, _ := mutate(r, s, h.Locations)
		b.converge(next)
		b.expectQuiet("the next plan", next, 0)
		b.renews(next)
		issued := b.keys.count()
		b.restart()
		b.expectQuiet("the plan after a restart", next, 1)
		if n := b.keys.count() - issued; n != 0 {
			b.Errorf("a restart issued %d certificates; the live ones had to be kept", n)
		}
	})
}

// renews expects that certificates are kept while their renewal rule allows, and
// not longer.
func (b *bench) renews(s scene) {
	b.Helper()
	b.clock.advance(time.Hour)
	b.expectQuiet("the plan an hour later", s, 0)
	before := b.keys.count()
	b.another().converge(s)
	due := b.keys.count() - before // as many as a scene from nothing needs
	b.alarms(s, due)
	b.clock.advance(16 * time.Hour) // of 24, to be renewed when 8 are left
	b.converge(s)
	if n := b.keys.count() - before - due; n != due {
		b.Errorf("%d certificates were renewed when their time had come, want %d\nscene: %s", n, due, s)
	}
}

// alarms expects a plan to tell when each issued certificate must be renewed:
// while it is still good, and early enough for the rule.
func (b *bench) alarms(s scene, issued int) {
	b.Helper()
	plan, err := b.plan(s)
	if err != nil {
		b.Fatalf("planning: %v", err)
	}
	told := 0
	for _, w := range plan.Later {
		if w.Reason != lbmodel.WaitRenewal {
			continue
		}
		told++
		if now := b.clock.Now(); w.Until.Before(now) || w.Until.After(now.Add(16*time.Hour)) {
			b.Errorf("%s is to be renewed at %s; it is %s, its life is a day, and 8 hours of it must be left", w.ID, w.Until, now)
		}
	}
	if told != issued {
		b.Errorf("a plan tells when %d certificates must be renewed, want %d: nobody would plan again in time\nscene: %s", told, issued, s)
	}
}

// expectQuiet expects a pass with nothing to do: no writes, and only as many
// observations as are allowed.
func (b *bench) expectQuiet(what string, s scene, observations int) {
	b.Helper()
	hook := &counter{}
	b.world.Hook(hook)
	defer b.world.Hook(nil)
	before := b.account.Calls()
	plan, _, err := b.pass(s)
	if err != nil {
		b.Fatalf("%s: %v", what, err)
	}
	if !plan.Empty() {
		b.Fatalf("%s is not empty:\n%sscene: %s", what, render(plan.Plan), s)
	}
	if w := hook.written(); len(w) > 0 {
		b.Errorf("%s is empty and yet something was written: %v", what, w)
	}
	made := sum(b.account.Calls()) - sum(before)
	if made > observations || observations == 0 && hook.count() > 0 {
		b.Errorf("%s made %d calls of the provider (%d of the cloud), want at most %d", what, made, hook.count(), observations)
	}
}

func sum(calls map[string]int) int {
	n := 0
	for _, c := range calls {
		n += c
	}
	return n
}

func deterministic(tb testing.TB, h Harness) {
	each(tb, h, func(b *bench, r *rand.Rand, s scene) {
		var first string
		for i := range 3 {
			b.restart()
			plan, err := b.planShuffled(r, s)
			if err != nil {
				b.Fatalf("planning: %v", err)
			}
			if text := render(plan); i == 0 {
				first = text
			} else if text != first {
				b.Fatalf("two plans of the same gateways differ:\n%s\nand\n%s", first, text)
			}
		}
		for _, name := range s.names() {
			b.sameTwice(s, name)
		}
	})
}

// planShuffled plans a scene whose gateways are told in random order.
func (b *bench) planShuffled(r *rand.Rand, s scene) (lbmodel.Plan, error) {
	names := s.names()
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var owners []lbmodel.Owner
	for _, name := range names {
		b.account.Want(b.model(s, name))
		owners = append(owners, ownerOf(name))
	}
	plan, err := b.account.Plan(b.Context(), owners)
	return plan.Plan, err
}

func (b *bench) sameTwice(s scene, name string) {
	b.Helper()
	p := b.world.Provider()
	one, two := b.compile(p, s, name), b.compile(p, s, name)
	if diff := differing(one, two); len(diff) > 0 {
		b.Errorf("compiling %s twice gives different %v", name, diff)
	}
}

func convergent(tb testing.TB, h Harness) {
	each(tb, h, func(b *bench, r *rand.Rand, a scene) {
		next, what := mutate(r, a, h.Locations)
		b.sameWithHistory(a, next)
		b.converge(a)
		b.converge(next)
		b.world.Settle()
		direct := b.another()
		direct.converge(next)
		got, want := sortedIDs(b.state()), sortedIDs(direct.state())
		if !slices.Equal(got, want) {
			b.Errorf("after %q there is not what there would be without a history:\n got %v\nwant %v", what, got, want)
		}
		if got, want := len(b.ours()), len(direct.ours()); got != want {
			b.Errorf("after %q there are %d objects of ours in the cloud, without a history %d", what, got, want)
		}
	})
}

// sameWithHistory expects that compiling a first changes nothing in b.
func (b *bench) sameWithHistory(before, after scene) {
	b.Helper()
	used := b.world.Provider()
	for _, name := range before.names() {
		b.compile(used, before, name)
	}
	for _, name := range after.names() {
		if diff := differing(b.compile(used, after, name), b.compile(b.world.Provider(), after, name)); len(diff) > 0 {
			b.Errorf("%s compiles differently after other gateways were compiled: %v", name, diff)
		}
	}
}

// differing are the resources that are not the same in two graphs, sorted.
func differing(a, b lbmodel.Graph) []lbmodel.ID {
	out := map[lbmodel.ID]bool{}
	for _, g := range []lbmodel.Graph{a, b} {
		for id := range g {
			x, inA := a[id]
			y, inB := b[id]
			if inA != inB || x.Digest != y.Digest {
				out[id] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(out), lbmodel.ID.Compare)
}

func sortedIDs(g lbmodel.Graph) []lbmodel.ID {
	return slices.SortedFunc(maps.Keys(g), lbmodel.ID.Compare)
}
