package providertest

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// overlap is how long a root stays in this law after its source dropped it.
const overlap = 24 * time.Hour

// rotates expects of a provider that takes roots of ours that they come at once and
// go slowly, whatever process looks; and that a certificate whose authority has
// gone is replaced at once. Every Place rotates by lbmodel.Rotate.
func rotates(tb testing.TB, h Harness) {
	if features, _ := newBench(tb, h).world.Provider().Offers(h.Settings(h.Locations[0])); !features.Offers(lbmodel.FeatureBackendTLSTrust) {
		return
	}
	newBench(tb, h).rootGoes()
	newBench(tb, h).rootComesBack()
	newBench(tb, h).sourceIsUnread()
	newBench(tb, h).authorityGoes()
	newBench(tb, h).authorityIsLeft()
}

// rotating is a gateway whose backend is verified by these roots.
func (b *bench) rotating(roots ...int) scene {
	s := honestScene(b.harness)
	g := s.gateways["gw"]
	for name, p := range g.pools {
		p.trust = "mesh"
		g.pools[name] = p
	}
	s.trust = map[string][]int{"mesh": roots}
	s.rotation = lbmodel.Trust{Overlap: lbmodel.Duration(overlap)}
	return s
}

// rootGoes rotates from one root to another as operators do: both, then the new
// one.
func (b *bench) rootGoes() {
	b.Helper()
	b.converge(b.rotating(1))
	b.converge(b.rotating(1, 2))
	b.expectRoots("when a root has come", 1, 2)
	s := b.rotating(2)
	b.converge(s)
	b.expectRoots("when its source has dropped a root", 1, 2)
	goes := b.alarm(s)
	b.clock.advance(overlap - 2*time.Hour)
	b.expectQuiet("the plan within the overlap", s, 0)
	b.restart()
	b.expectQuiet("the plan after a restart", s, 1)
	if again := b.alarm(s); !again.Equal(goes) {
		b.Errorf("a root is to go at %s, after a restart at %s: the record of when it was dropped was lost", goes, again)
	}
	b.expectRoots("within the overlap", 1, 2)
	b.clock.advance(2*time.Hour + time.Minute)
	plan, err := b.plan(s, lbmodel.HoldStructure)
	if err != nil || plan.Empty() || len(plan.Held.Steps) > 0 {
		b.Errorf("a root whose overlap is over: %v; %d steps, and waiting: %v; nobody decided that but the source, long ago", err, len(plan.Steps), plan.Held.Later)
	}
	b.converge(s)
	b.expectRoots("after the overlap", 2)
}

// rootComesBack expects that what is published again stays.
func (b *bench) rootComesBack() {
	b.Helper()
	for _, roots := range [][]int{{1, 2}, {2}, {1, 2}} {
		b.converge(b.rotating(roots...))
	}
	b.clock.advance(2 * overlap)
	b.expectQuiet("the plan long after a root was published again", b.rotating(2, 1), 0)
	b.expectRoots("long after a root was published again", 1, 2)
}

// sourceIsUnread expects that nothing goes while nobody knows what is published,
// and nothing is made of nothing.
func (b *bench) sourceIsUnread() {
	b.Helper()
	unread := b.rotating(1)
	unread.rotation.Unknown = true
	plan, _, err := b.pass(unread)
	if err != nil || len(plan.Waiting()) == 0 || len(plan.Findings) == 0 {
		b.Errorf("roots that cannot be read, with none there: %v, %d waits and findings %v; want both", err, len(plan.Waiting()), plan.Findings)
	}
	b.world.Settle()
	if to := b.world.Answer(unread.probes()[0]); len(to) > 0 {
		b.Errorf("roots that cannot be read, with none there: requests go to %v, which nothing verifies", to)
	}
	b.converge(b.rotating(1, 2))
	b.converge(b.rotating(2))
	b.clock.advance(2 * overlap)
	b.restart()
	b.expectQuiet("the plan while the roots cannot be read", unread, 1)
	b.expectRoots("while they cannot be read", 1, 2)
}

// authorityGoes expects that a certificate is replaced when, and only when, the root
// that it leads to is not published any more.
func (b *bench) authorityGoes() {
	b.Helper()
	bound := func(roots ...int) scene {
		s := b.rotating(roots...)
		g := s.gateways["gw"]
		g.issued, s.bound = true, true
		s.gateways["gw"] = g
		return s
	}
	b.keys.sign(1)
	b.converge(bound(1))
	b.converge(bound(1, 2))
	b.keys.sign(2)
	before := b.keys.count()
	b.expectQuiet("the plan while both authorities are published", bound(1, 2), 0)
	b.restart()
	b.expectQuiet("the same after a restart", bound(1, 2), 1)
	b.converge(bound(2))
	if n := b.keys.count() - before; n != 1 {
		b.Errorf("the authority of the live certificate is not published any more, and %d certificates were issued, want 1", n)
	}
	b.expectQuiet("the plan after the switch", bound(2), 0)
}

// authorityIsLeft expects the same where the root is published still, and the issuer holds
// a newer certificate of another one: that what the issuer holds is known changes
// nothing else.
func (b *bench) authorityIsLeft() {
	b.Helper()
	holds := func(root int, age time.Duration) scene {
		s := b.rotating(1, 2)
		g := s.gateways["gw"]
		g.issued, s.bound = true, true
		s.gateways["gw"] = g
		s.held = &lbmodel.Held{Authority: b.keys.root(root).KeyID, NotBefore: b.clock.Now().Add(-age)}
		return s
	}
	b.keys.sign(1)
	first := holds(1, 0)
	b.converge(first)
	b.keys.sign(2)
	before := b.keys.count()
	b.expectQuiet("the plan when the issuer holds a newer certificate of the same authority", holds(1, -time.Minute), 0)
	b.expectQuiet("the plan when the issuer holds an older certificate of another", holds(2, 365*24*time.Hour), 0)
	left := holds(2, -time.Minute)
	b.converge(left)
	if n := b.keys.count() - before; n != 1 {
		b.Errorf("the issuer has left the authority of the live certificate, and %d certificates were issued, want 1", n)
	}
	b.expectQuiet("the plan after the switch", left, 0)
	b.restart()
	b.expectQuiet("the same after a restart", left, 1)
}

// alarm is when a plan tells that a root is to go.
func (b *bench) alarm(s scene) time.Time {
	b.Helper()
	plan, err := b.plan(s)
	if err != nil {
		b.Fatalf("planning: %v", err)
	}
	for _, w := range plan.Later {
		if left := w.Until.Sub(b.clock.Now()); w.Reason == lbmodel.WaitRenewal && left > 0 && left <= overlap {
			return w.Until
		}
	}
	b.Errorf("a root is to go within %s, and no plan says when: nobody would plan again", overlap)
	return time.Time{}
}

// expectRoots expects just these of the first two roots in what is ours.
func (b *bench) expectRoots(when string, want ...int) {
	b.Helper()
	var texts []string
	for _, o := range b.world.Dump() {
		if o.Foreign == "" {
			texts = append(texts, o.Text)
		}
	}
	got := map[int]bool{}
	for n := 1; n <= 2; n++ {
		if root := b.keys.root(n); strings.Contains(strings.Join(texts, "\n"), root.SHA256) || strings.Contains(strings.Join(texts, "\n"), tailOf(root.PEM)) {
			got[n] = true
		}
	}
	if roots := slices.Sorted(maps.Keys(got)); !slices.Equal(roots, want) {
		b.Errorf("%s the cloud holds the roots %v, want %v", when, roots, want)
	}
}

// tailOf is a line near the end of a PEM text: of the signature, so of one
// certificate only, however a cloud shows line ends.
func tailOf(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[max(0, len(lines)-3)]
}
