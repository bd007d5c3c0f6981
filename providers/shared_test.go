package providers_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

func rooted(root string) func(*lbmodel.Gateway) {
	return func(gw *lbmodel.Gateway) { gw.Trust[0].Roots = []lbmodel.Root{{SHA256: root}} }
}

func TestSharedIsMadeOnceByTwoPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		a, b := h.plan(gateway("a")), h.plan(gateway("b"))
		var both sync.WaitGroup
		both.Go(func() { h.mustApply(a) })
		both.Go(func() { h.mustApply(b) })
		both.Wait()
		calls := h.account.Calls()
		if calls["CreateTrust"] != 1 {
			t.Errorf("%d calls made the shared trust, want 1", calls["CreateTrust"])
		}
		h.expectNothing(gateway("a"), gateway("b"))
	})
}

func TestSharedGoesWithItsLastUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"), gateway("b"))
		h.account.Drop(owner("a"))
		plan := h.planOwners(owner("a"))
		if slices.Contains(stepsOf(plan), "DeleteTrust") {
			t.Errorf("the trust goes with the first of its two users: %v", stepsOf(plan))
		}
		h.mustApply(plan)
		h.account.Drop(owner("b"))
		plan = h.planOwners(owner("b"))
		if !slices.Contains(stepsOf(plan), "DeleteTrust") {
			t.Errorf("the trust stays although nobody uses it: %v", stepsOf(plan))
		}
		h.mustApply(plan)
	})
}

// TestSharedStaysUntilAllAreCompiled is the start of a process: who needs what is
// not known yet.
func TestSharedStaysUntilAllAreCompiled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"), gateway("b"))
		h.restart(nil)
		without := gateway("a", func(gw *lbmodel.Gateway) { gw.Pools[0].TLS, gw.Trust = nil, nil })
		plan := h.plan(without)
		if slices.Contains(stepsOf(plan), "DeleteTrust") {
			t.Errorf("b was not compiled yet and its trust goes: %v", stepsOf(plan))
		}
		if len(plan.Later) == 0 || !strings.Contains(plan.Later[0].Why, "not compiled") {
			t.Errorf("nobody is told why the trust stays: %v", plan.Later)
		}
		h.mustApply(plan)
		h.account.Drop(owner("b"))
		plan = h.planOwners(owner("b"))
		if !slices.Contains(stepsOf(plan), "DeleteTrust") {
			t.Errorf("all are compiled and the trust stays: %v %v", stepsOf(plan), plan.Later)
		}
		h.mustApply(plan)
	})
}

func TestOrphansArePlannedWithoutOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"))
		h.account.Drop(owner("a"))
		h.cloud.Hook(failing("DeleteTrust", lbmodel.CodeDenied, -1))
		if out := h.account.Apply(t.Context(), h.planOwners(owner("a")), nil); len(out.Failed) != 1 {
			t.Fatalf("failed: %v, want the trust only", out.Failed)
		}
		h.cloud.Hook(nil)
		plan := h.planOwners()
		if got := stepsOf(plan); !slices.Equal(got, []string{"DeleteTrust"}) {
			t.Fatalf("without owners the plan is %v, want DeleteTrust", got)
		}
		h.mustApply(plan)
	})
}

// TestDisputeCostsTheLoserOnly has two gateways that describe one trust
// differently.
func TestDisputeCostsTheLoserOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.account.Want(gateway("a", rooted("r1")))
		plan := h.plan(gateway("b", rooted("r2")))
		if len(plan.Findings) != 1 || plan.Findings[0].Code != lbmodel.CodeConflict ||
			!strings.Contains(plan.Findings[0].Detail, "apps/a") || plan.Findings[0].About.Name != "b" {
			t.Fatalf("findings %+v, want one conflict about b that names a", plan.Findings)
		}
		for _, s := range plan.Steps {
			if s.ID.Kind == "Backend" || s.ID.Kind == "Rule" && s.For == nil {
				t.Errorf("%s is planned, although it would trust what b did not ask for", s.ID)
			}
		}
		out := h.mustApply(plan)
		if !slices.ContainsFunc(out.Held.Later, func(w lbmodel.Wait) bool { return w.Reason == lbmodel.WaitDisputed }) {
			t.Errorf("nothing waits for the dispute: %v", out.Held.Later)
		}
		if out.Settled() {
			t.Error("the loser of a dispute is told that all is done")
		}
		winner := h.plan(gateway("a", rooted("r1")))
		if len(winner.Findings) > 0 {
			t.Errorf("the winner is told %v", winner.Findings)
		}
		h.mustApply(winner)
		h.build(gateway("b", rooted("r1")))
		h.expectNothing(gateway("a", rooted("r1")), gateway("b", rooted("r1")))
	})
}

func idsOf(plan providers.Plan) []lbmodel.ID {
	var out []lbmodel.ID
	for _, s := range plan.Steps {
		out = append(out, s.ID)
	}
	return out
}

// TestACircleCostsItsOwnerOnly has a gateway whose resources need each other.
func TestACircleCostsItsOwnerOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.restart(func(c *providers.Config) { c.Provider = knotted{c.Provider} })
		plan := h.plan(gateway("bad"), gateway("good"))
		if len(plan.Findings) == 0 || !strings.Contains(plan.Findings[0].Detail, "no safe order") {
			t.Errorf("findings %+v, want the circle", plan.Findings)
		}
		if slices.ContainsFunc(idsOf(plan), func(id lbmodel.ID) bool { return id.Kind == "Knot" }) {
			t.Errorf("the circle is in the plan: %v", stepsOf(plan))
		}
		h.mustApply(plan)
		h.expectNothing(gateway("good"))
	})
}

// knotted is a provider that compiles a circle for the gateway named bad.
type knotted struct{ providers.Provider }

func (p knotted) Compile(gw lbmodel.Gateway) (own, shared lbmodel.Graph, findings []lbmodel.Finding) {
	own, shared, findings = p.Provider.Compile(gw)
	if gw.Owner.Name != "bad" {
		return own, shared, findings
	}
	one, two := lbmodel.ID{Kind: "Knot", Name: "one"}, lbmodel.ID{Kind: "Knot", Name: "two"}
	own[one], own[two] = lbmodel.NewResource(one, knot{two}), lbmodel.NewResource(two, knot{one})
	return own, shared, findings
}

type knot struct{ Other lbmodel.ID }

func (k knot) Needs() []lbmodel.ID { return []lbmodel.ID{k.Other} }
