package providers_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// breakIt deletes a rule behind our back.
func (h *house) breakIt(name string) {
	h.t.Helper()
	for id, r := range h.account.Observed(owner(name)) {
		if id.Kind == "Rule" {
			step := lbmodel.Step{Verb: lbmodel.Delete, ID: id, Have: r}
			if _, err := h.cloud.NewProvider().Apply(h.t.Context(), owner(name), step, nil); err != nil {
				h.t.Fatal(err)
			}
			return
		}
	}
}

func TestDriftIsFoundAndSaysWhose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"), gateway("b"))
		first, err := h.account.Drift(t.Context())
		if err != nil || len(first.Changed) > 0 || time.Until(first.Next) != 6*time.Minute {
			t.Fatalf("the first scan: %+v, %v; want nothing yet and the next one in 5 min and a fifth", first, err)
		}
		h.breakIt("b")
		time.Sleep(time.Until(first.Next))
		scan, err := h.account.Drift(t.Context())
		if err != nil || !slices.Equal(scan.Changed, []lbmodel.Owner{owner("b")}) {
			t.Fatalf("after a rule was deleted: %+v, %v; want b", scan, err)
		}
		plan := h.plan(gateway("b"))
		if len(plan.Steps) != 1 || plan.Steps[0].Cause != lbmodel.Drift || plan.Steps[0].Verb != lbmodel.Create {
			t.Errorf("the plan has %+v, want the rule again, because of drift", plan.Steps)
		}
		h.mustApply(plan)
	})
}

// TestScanOfTheUnsureIsRepeatedSoon: what a scan sees may be our own change that
// reads don't show yet, or somebody who undid it. Which one is known after Settle,
// not after the next interval.
func TestScanOfTheUnsureIsRepeatedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"))
		first, _ := h.account.Drift(t.Context())
		time.Sleep(time.Until(first.Next) - time.Second)
		h.build(gateway("a", func(gw *lbmodel.Gateway) {
			for i := range gw.Listeners[0].Rules {
				gw.Listeners[0].Rules[i].Action = lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 404}}
			}
		}))
		h.breakIt("a")
		time.Sleep(time.Second)
		scan, err := h.account.Drift(t.Context())
		if err != nil || len(scan.Changed) > 0 || time.Until(scan.Next) != 10*time.Second {
			t.Fatalf("the scan right after a write: %+v, %v; want to be asked again in 10 s", scan, err)
		}
		time.Sleep(time.Until(scan.Next))
		scan, err = h.account.Drift(t.Context())
		if err != nil || !slices.Equal(scan.Changed, []lbmodel.Owner{owner("a")}) || time.Until(scan.Next) < time.Minute {
			t.Errorf("the next one: %+v, %v; want the drift of a", scan, err)
		}
	})
}

func TestDriftIsNotScannedTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"))
		for range 10 {
			if _, err := h.account.Drift(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := h.account.Calls()["Observe"]; n != 1 {
			t.Errorf("%d observations in no time, want the first one only", n)
		}
	})
}

func TestSlowScansStretch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *providers.Config) { c.Rand, c.CallTimeout = func() float64 { return 0.5 }, time.Hour })
		h.build(gateway("a"))
		scan, _ := h.account.Drift(t.Context())
		h.cloud.Hook(hook{before: func(providertest.Call) providertest.Fault {
			time.Sleep(2 * time.Minute)
			return providertest.Fault{}
		}})
		time.Sleep(time.Until(scan.Next))
		scan, err := h.account.Drift(t.Context())
		if err != nil || time.Until(scan.Next) != 20*time.Minute || !strings.Contains(scan.Slow, "20m0s instead of 5m0s") {
			t.Errorf("after a scan of 2 min: %+v, %v; want the next one in 20 min, and why", scan, err)
		}
	})
}

// TestScansDoNotUndoRunningPlans reads the cloud while a plan changes it.
func TestScansDoNotUndoRunningPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *providers.Config) { c.Settle = time.Nanosecond })
		h.build(gateway("a"))
		scan, _ := h.account.Drift(t.Context())
		time.Sleep(time.Until(scan.Next))
		reading := make(chan struct{})
		provider := h.cloud.NewProvider()
		old, err := provider.Observe(t.Context(), lbmodel.Owner{Cluster: "test"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		slow := &late{Provider: provider, answer: old, wait: reading}
		h.restart(func(c *providers.Config) { c.Provider, c.Settle = slow, time.Nanosecond })
		two := gateway("a", rooted("r2"))
		plan := h.plan(two)
		slow.on = true
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.account.Invalidate(owner("z"))
			_, _ = h.account.Gone(t.Context(), owner("z")) // observes
		}()
		synctest.Wait()
		h.mustApply(plan)
		close(reading)
		<-done
		h.expectNothing(two)
	})
}

// late is a provider whose Observe answers with the past, in its own time.
type late struct {
	providers.Provider
	answer lbmodel.Graph
	wait   chan struct{}
	on     bool
}

func (p *late) Observe(ctx context.Context, o lbmodel.Owner, named []lbmodel.Handle) (lbmodel.Graph, error) {
	if !p.on {
		return p.Provider.Observe(ctx, o, named)
	}
	<-p.wait
	return p.answer, nil
}

func TestObservationIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.cloud.Hook(failing("List", lbmodel.CodeThrottled, 3))
		h.build(gateway("a"))
		if n := h.account.Calls()["Observe"]; n != 4 {
			t.Errorf("%d observations, want three that fail and one", n)
		}
	})
}

func TestObservationFailsWithItsCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.cloud.Hook(failing("List", lbmodel.CodeDenied, -1))
		h.account.Want(gateway("a"))
		_, err := h.account.Plan(t.Context(), []lbmodel.Owner{owner("a")})
		if lbmodel.CodeOf(err) != lbmodel.CodeDenied {
			t.Errorf("Plan = %v, want Denied", err)
		}
	})
}
