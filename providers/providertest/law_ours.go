package providertest

import (
	"maps"
	"math/rand/v2"
	"testing"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

func oursOnly(tb testing.TB, h Harness) {
	each(tb, h, func(b *bench, r *rand.Rand, s scene) {
		b.adoptOne(&s)
		foreign := b.foreign()
		if len(foreign) == 0 {
			b.Fatalf("the harness must plant foreign objects, or nothing is tested here")
		}
		next, _ := mutate(r, s, h.Locations)
		b.adoptOne(&next)
		gone := next.clone()
		gone.gateways = map[string]sketch{}
		for _, step := range []scene{s, next, gone} {
			b.watchHolds(step)
			b.converge(step)
			b.expectForeign(foreign)
		}
	})
}

// adoptOne makes the first gateway use a foreign object, and nobody else: two
// could not share its ports.
func (b *bench) adoptOne(s *scene) {
	if b.harness.Adopt != nil {
		adoptFirst(s)
	}
}

func adoptFirst(s *scene) {
	for i, name := range s.names() {
		g := s.gateways[name]
		g.adopt = i == 0
		s.gateways[name] = g
	}
}

// watchHolds expects that a plan only updates what is adopted, and leaves what
// is external alone.
func (b *bench) watchHolds(s scene) {
	b.Helper()
	plan, err := b.plan(s)
	if err != nil {
		b.Fatalf("planning: %v", err)
	}
	for _, step := range plan.Steps {
		if step.Hold == lbmodel.External || step.Hold == lbmodel.Adopted && step.Verb != lbmodel.Update {
			b.Errorf("the plan has %s of %s, which is %s", step.Verb, step.ID, step.Hold)
		}
	}
}

func (b *bench) expectForeign(want map[string]string) {
	b.Helper()
	got := b.foreign()
	for name, text := range want {
		if got[name] != text {
			b.Errorf("%s is not ours and was changed\nfrom %s\nto   %s", name, text, got[name])
		}
	}
}

func clean(tb testing.TB, h Harness) {
	each(tb, h, func(b *bench, r *rand.Rand, s scene) {
		foreign := b.foreign()
		b.converge(s)
		names := s.names()
		rest := s.clone()
		delete(rest.gateways, names[0])
		b.converge(rest) // one goes: what it shared with the others stays for them
		empty := s.clone()
		empty.gateways = map[string]sketch{}
		b.world.Hook(unreliable(r))
		for range 3 {
			_, _, err := b.pass(empty)
			b.noteErr(err)
			b.restart()
		}
		b.world.Hook(nil)
		b.converge(empty)
		for _, name := range names {
			b.expectGone(ownerOf(name))
		}
		if left := b.ours(); len(left) > 0 {
			b.Errorf("%d objects are left: %v\nscene: %s", len(left), left, s)
		}
		if !maps.Equal(b.foreign(), foreign) {
			b.Errorf("foreign objects were changed or deleted")
		}
	})
}

func (b *bench) expectGone(owner lbmodel.Owner) {
	b.Helper()
	if gone, err := b.account.Gone(b.Context(), owner); err != nil || !gone {
		b.Errorf("Gone(%s) = %v, %v after everything was deleted", owner, gone, err)
	}
}

// unreliable is a cloud of which every third call fails, one way or another.
func unreliable(r *rand.Rand) *counter {
	codes := []lbmodel.Code{lbmodel.CodeUnavailable, lbmodel.CodeThrottled, lbmodel.CodeUnknown, lbmodel.CodeDenied}
	return &counter{fault: func(int, Call) Fault {
		switch r.IntN(6) {
		case 0:
			return Fault{Kind: Refuse, Code: pick(r, codes)}
		case 1:
			return Fault{Kind: LoseReply, Code: lbmodel.CodeUnavailable}
		default:
			return Fault{}
		}
	}}
}

// compile is everything that a provider makes of a gateway, as Account would ask
// for it.
func (b *bench) compile(p providers.Provider, s scene, name string) lbmodel.Graph {
	return compileModel(p, b.model(s, name))
}

func compileModel(p providers.Provider, gw lbmodel.Gateway) lbmodel.Graph {
	features, _ := p.Offers(gw.Settings)
	gw, _ = lbmodel.Restrict(gw, features)
	own, shared, _ := p.Compile(gw)
	out := lbmodel.Graph{}
	maps.Copy(out, own)
	maps.Copy(out, shared)
	return out
}
