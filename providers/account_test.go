package providers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

func TestNothingToDoMakesNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		gw := gateway("edge")
		h.build(gw)
		before := h.account.Calls()
		h.mustApply(h.plan(gw))
		for op, n := range h.account.Calls() {
			if n != before[op] {
				t.Errorf("%d calls of %s for a plan of nothing", n-before[op], op)
			}
		}
	})
}

func TestCallsAreCountedByOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var watched []string
		h := newHouse(t, func(c *providers.Config) {
			c.Parallel = 1
			c.Watch = func(call providers.Call) { watched = append(watched, call.Op) }
		})
		h.build(gateway("edge"))
		calls := h.account.Calls()
		want := map[string]int{"Observe": 1, "CreateRule": 2, "CreateListener": 1, "CreateTrust": 1, "CreateIdentity": 1, "CreateBackend": 1}
		for op, n := range want {
			if calls[op] != n {
				t.Errorf("Calls()[%q] = %d, want %d", op, calls[op], n)
			}
		}
		if total := len(watched); total != sum(calls) {
			t.Errorf("Watch was told of %d calls, Calls counts %d", total, sum(calls))
		}
	})
}

func sum(calls map[string]int) (n int) {
	for _, c := range calls {
		n += c
	}
	return n
}

func TestRestartIssuesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		gw := gateway("edge")
		h.build(gw)
		h.restart(nil)
		h.expectNothing(gw)
		if n := h.issued.Load(); n != 1 {
			t.Errorf("%d certificates were issued, want 1", n)
		}
		if calls := h.account.Calls(); sum(calls) != 1 || calls["Observe"] != 1 {
			t.Errorf("a restart made the calls %v, want one Observe", calls)
		}
	})
}

func TestOwnersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("b"), gateway("a"))
		live, err := h.account.Live(t.Context())
		if err != nil || !slices.Equal(live, []lbmodel.Owner{owner("a"), owner("b")}) {
			t.Errorf("Live() = %v, %v; want a and b", live, err)
		}
		h.account.Drop(owner("a"))
		if gone, err := h.account.Gone(t.Context(), owner("a")); gone || err != nil {
			t.Errorf("Gone before the delete = %v, %v", gone, err)
		}
		h.mustApply(h.planOwners(owner("a")))
		if gone, err := h.account.Gone(t.Context(), owner("a")); !gone || err != nil {
			t.Errorf("Gone after the delete = %v, %v", gone, err)
		}
		if plan, err := h.account.Plan(t.Context(), []lbmodel.Owner{owner("a")}); err != nil || !plan.Empty() {
			t.Errorf("planning an owner that is gone: %v, %v; want nothing to do", plan.Steps, err)
		}
		h.expectNothing(gateway("b"))
		h.restart(nil)
		if _, err := h.account.Plan(t.Context(), []lbmodel.Owner{owner("b")}); lbmodel.CodeOf(err) != lbmodel.CodeInternal {
			t.Errorf("planning an owner with resources that nobody described: %v, want Internal: all of it would be deleted", err)
		}
	})
}

func TestObservedIsWhatTheOwnerUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"), gateway("b"))
		var ids []lbmodel.ID
		for id := range h.account.Observed(owner("a")) {
			ids = append(ids, id)
		}
		want := "[Address 1 Backend 1 Group 1 Identity 1 Listener 1 Rule 2 Trust 1]"
		if got := kindsOf(ids); got != want {
			t.Errorf("Observed has %s, want %s", got, want)
		}
	})
}

func TestInvalidateObservesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		gw := gateway("edge")
		h.build(gw)
		h.account.Invalidate(gw.Owner)
		h.expectNothing(gw)
		if n := h.account.Calls()["Observe"]; n != 2 {
			t.Errorf("%d observations, want one at start and one after Invalidate", n)
		}
	})
}

// TestStalePlanIsRefused changes the cloud and the wishes between plan and apply.
func TestStalePlanIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("edge"))
		other := gateway("edge", func(gw *lbmodel.Gateway) { gw.Trust[0].Roots = []lbmodel.Root{{SHA256: "r2"}} })
		third := gateway("edge", func(gw *lbmodel.Gateway) { gw.Trust[0].Roots = []lbmodel.Root{{SHA256: "r3"}} })
		stale := h.plan(other)
		h.build(third)
		if out := h.account.Apply(t.Context(), stale, nil); out.Err() != nil {
			t.Errorf("a plan that a newer wish has overtaken: %v, want nothing done and no error", out.Err())
		}
		h.account.Want(other)
		out := h.account.Apply(t.Context(), stale, nil)
		if code := lbmodel.CodeOf(out.Err()); code != lbmodel.CodeConflict {
			t.Errorf("a plan of what is no longer so: %v, want Conflict", out.Err())
		}
		if n := h.account.Calls()["UpdateTrust"]; n != 1 {
			t.Errorf("%d updates of the trust, want only the newer plan's", n)
		}
		h.build(other)
		h.expectNothing(other)
	})
}

// TestADeleteThatIsWantedAgainIsRefused covers a gateway that comes back while
// its deletion is planned.
func TestADeleteThatIsWantedAgainIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		gw := gateway("edge")
		h.build(gw)
		h.account.Drop(gw.Owner)
		deletion := h.planOwners(gw.Owner)
		h.account.Want(gw)
		out := h.account.Apply(t.Context(), deletion, nil)
		if len(out.Done) > 0 {
			t.Errorf("deleted although it is wanted again: %v", out.Done)
		}
		h.expectNothing(gw)
	})
}

func TestUnknownOutcomeIsObservedBeforeTheNextPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *providers.Config) { c.Patience.Attempts = 1 })
		gw := gateway("edge")
		h.cloud.Hook(hook{before: func(c providertest.Call) providertest.Fault {
			if c.Name == "CreateListener" {
				return providertest.Fault{Kind: providertest.LoseReply, Code: lbmodel.CodeUnavailable}
			}
			return providertest.Fault{}
		}})
		out := h.account.Apply(t.Context(), h.plan(gw), nil)
		if len(out.Failed) != 1 || len(out.Blocked) != 2 {
			t.Fatalf("failed %v, blocked %v; want the listener to fail and its two rules to be blocked", out.Failed, out.Blocked)
		}
		h.cloud.Hook(nil)
		plan := h.plan(gw)
		if got := stepsOf(plan); !slices.Equal(got, []string{"CreateRule", "CreateRule"}) {
			t.Errorf("the next plan has %v, want only the rules: the listener was made", got)
		}
		if n := h.account.Calls()["Observe"]; n != 2 {
			t.Errorf("%d observations, want one at start and one after the lost reply", n)
		}
		h.mustApply(plan)
	})
}

// TestOwnWritesOutweighLateReads lets the cloud show the past right after a
// change.
func TestOwnWritesOutweighLateReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		gw := gateway("edge")
		h.build(gw)
		h.cloud.Hook(hook{before: func(c providertest.Call) providertest.Fault {
			return providertest.Fault{Kind: providertest.Stale}
		}})
		h.account.Invalidate(gw.Owner)
		h.expectNothing(gw)
		h.cloud.Hook(nil)
		time.Sleep(time.Minute)
		h.account.Invalidate(gw.Owner)
		h.expectNothing(gw)
	})
}

// TestRenewalIsNotMistakenForDone has a step that time makes necessary: the wish
// is still the one that was fulfilled.
func TestRenewalIsNotMistakenForDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		gw := gateway("edge")
		h.build(gw)
		time.Sleep(17 * time.Hour)
		h.build(gw)
		if n := h.issued.Load(); n != 2 {
			t.Errorf("%d certificates were issued, want a second one after 16 hours", n)
		}
		h.expectNothing(gw)
	})
}

// TestErrorsAreLocated has a provider that only says what went wrong.
func TestErrorsAreLocated(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
		why  string
	}{
		{"without a code", errors.New("odd"), "CreateTrust: Unknown Trust.east.mesh: odd", "unmapped, but one can see where"},
		{"with a code", &lbmodel.Error{Code: lbmodel.CodeDenied}, "CreateTrust: Denied Trust.east.mesh", "operation and resource are filled in"},
		{"wrapped", fmt.Errorf("uploading: %w", &lbmodel.Error{Code: lbmodel.CodeQuota}),
			"CreateTrust: Quota Trust.east.mesh: uploading: Quota", "the provider's words are kept"},
		{"complete", lbmodel.Errorf(lbmodel.CodeInvalid, "PutRoots", lbmodel.ID{Kind: "Bucket", Name: "b"}, "too big"),
			"PutRoots: Invalid Bucket.b: too big", "the provider knows better"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, nil)
				h.restart(func(c *providers.Config) {
					c.Provider, c.Patience.Attempts = refusing{c.Provider, tt.err}, 1
				})
				out := h.account.Apply(t.Context(), h.plan(gateway("edge")), nil)
				if err := out.Err(); err == nil || err.Error() != tt.want {
					t.Errorf("got %v\nwant %s: %s", err, tt.want, tt.why)
				}
			})
		})
	}
}

// refusing is a provider that fails to make trust.
type refusing struct {
	providers.Provider
	err error
}

func (p refusing) Apply(ctx context.Context, o lbmodel.Owner, s lbmodel.Step, r providers.Resolve) (lbmodel.Resource, error) {
	if s.ID.Kind == "Trust" {
		return lbmodel.Resource{}, p.err
	}
	return p.Provider.Apply(ctx, o, s, r)
}

// TestForeignPlansAreRefused has a plan that was put together by hand: nobody
// knows whose its resources would be.
func TestForeignPlansAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		plan := h.plan(gateway("edge"))
		out := h.account.Apply(t.Context(), providers.Plan{Plan: plan.Plan}, nil)
		if len(out.Done) > 0 || lbmodel.CodeOf(out.Err()) != lbmodel.CodeConflict {
			t.Errorf("done %v, failed %v; want nothing done", out.Done, out.Err())
		}
	})
}

// TestDeletesAreWished: a fresh process does not know what was wanted before. It
// used to say of everything it deletes that somebody else had added it, and under
// drift: Report to delete nothing.
func TestDeletesAreWished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"))
		h.restart(nil)
		h.account.Drop(owner("a"))
		plan := h.planOwners(owner("a"))
		if plan.Empty() {
			t.Fatal("nothing to delete, so nothing is shown")
		}
		for _, s := range plan.Steps {
			if s.Cause != lbmodel.Desire {
				t.Errorf("%s %s by %s (%s), want it by Desire", s.Verb, s.ID, s.Cause, s.Why)
			}
		}
	})
}
