package providers_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// forgetful is a provider that is no Marker.
type forgetful struct{ providers.Provider }

func notAMarker(c *providers.Config) { c.Provider = forgetful{c.Provider} }

// lingering plans a dropped owner under a policy of an hour, and applies.
func (h *house) lingering(name string) (providers.Plan, lbmodel.Outcome) {
	h.t.Helper()
	h.account.Drop(owner(name))
	plan, err := h.account.Plan(h.t.Context(), []lbmodel.Owner{owner(name)}, lbmodel.Linger(time.Hour))
	if err != nil {
		h.t.Fatalf("Plan: %v", err)
	}
	return plan, h.account.Apply(h.t.Context(), plan, nil)
}

// marks counts the calls that wrote a note.
func (h *house) marks() int {
	n := 0
	for op, calls := range h.account.Calls() {
		if strings.HasPrefix(op, "Mark") {
			n += calls
		}
	}
	return n
}

func TestLingeringIsNotedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"))
		plan, out := h.lingering("a")
		if !plan.Empty() || !out.Settled() || h.marks() != len(plan.Held.Steps) {
			t.Fatalf("steps %v, outcome %v, %d notes; want a note for each of %d held deletes", stepsOf(plan), out.Err(), h.marks(), len(plan.Held.Steps))
		}
		before := sum(h.account.Calls())
		time.Sleep(30 * time.Minute)
		h.lingering("a")
		if n := sum(h.account.Calls()) - before; n != 0 {
			t.Errorf("%d calls for what is noted already", n)
		}
		h.restart(nil)
		time.Sleep(29 * time.Minute)
		if plan, _ := h.lingering("a"); !plan.Empty() || h.marks() != 0 {
			t.Errorf("after 59 minutes and a restart: steps %v and %d notes, want none", stepsOf(plan), h.marks())
		}
		time.Sleep(2 * time.Minute)
		if plan, out := h.lingering("a"); plan.Empty() || !out.Settled() {
			t.Errorf("the hour is over and nothing is deleted: later %v, %v", plan.Later, out.Err())
		}
	})
}

// TestWantedAgainIsUnmarked: the next wait begins anew, whether a provider keeps
// the note or the account does.
func TestWantedAgainIsUnmarked(t *testing.T) {
	for name, edit := range map[string]func(*providers.Config){"a Marker": nil, "no Marker": notAMarker} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, edit)
				h.build(gateway("a"))
				h.lingering("a")
				time.Sleep(50 * time.Minute)
				h.build(gateway("a"))
				for id, r := range h.account.Observed(owner("a")) {
					if !r.Facts.DroppedAt.IsZero() {
						t.Errorf("%s is wanted, and still noted as dropped at %s", id, r.Facts.DroppedAt)
					}
				}
				h.lingering("a")
				time.Sleep(50 * time.Minute)
				if plan, _ := h.lingering("a"); !plan.Empty() {
					t.Errorf("50 minutes after the second drop there is deleted: %v", stepsOf(plan))
				}
			})
		})
	}
}

// TestLingerWithoutAMarker: nothing is called, and the time ends all the same,
// also when the cloud is observed in between.
func TestLingerWithoutAMarker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, notAMarker)
		h.build(gateway("a"))
		h.lingering("a")
		time.Sleep(59 * time.Minute)
		if scan, err := h.account.Drift(t.Context()); err != nil || len(scan.Changed) > 0 {
			t.Fatalf("Drift = %+v, %v", scan, err)
		}
		if plan, _ := h.lingering("a"); !plan.Empty() || h.marks() != 0 {
			t.Errorf("after 59 minutes: steps %v, %d notes; want none", stepsOf(plan), h.marks())
		}
		time.Sleep(2 * time.Minute)
		if plan, out := h.lingering("a"); plan.Empty() || !out.Settled() {
			t.Errorf("the hour is over and nothing is deleted: later %v, %v", plan.Later, out.Err())
		}
		h.build(gateway("a"))
		if plan, _ := h.lingering("a"); !plan.Empty() {
			t.Errorf("what was made anew is deleted at once: %v", stepsOf(plan))
		}
	})
}

// TestNotesSurviveLateReads: a read that does not show a note yet starts no new
// wait, and one that still shows it does not shorten one.
func TestNotesSurviveLateReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"))
		h.lingering("a")
		h.cloud.Hook(hook{before: func(c providertest.Call) providertest.Fault { return providertest.Fault{Kind: providertest.Stale} }})
		h.account.Invalidate(owner("a"))
		noted := h.marks()
		if plan, _ := h.lingering("a"); !plan.Empty() || h.marks() != noted {
			t.Errorf("under late reads: steps %v, %d more notes; want none", stepsOf(plan), h.marks()-noted)
		}
		time.Sleep(50 * time.Minute)
		h.cloud.Hook(nil)
		h.build(gateway("a"))
		h.cloud.Hook(hook{before: func(c providertest.Call) providertest.Fault { return providertest.Fault{Kind: providertest.Stale} }})
		h.account.Invalidate(owner("a"))
		h.lingering("a")
		h.cloud.Hook(nil)
		time.Sleep(20 * time.Minute)
		if plan, _ := h.lingering("a"); !plan.Empty() {
			t.Errorf("20 minutes after the second drop there is deleted: %v", stepsOf(plan))
		}
	})
}

// TestNoteThatFails is told, costs nobody else anything, and is written by the
// next pass; one on what somebody has deleted meanwhile is not missed.
func TestNoteThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"))
		h.cloud.Hook(failing("MarkListener", lbmodel.CodeDenied, 1))
		plan, out := h.lingering("a")
		if len(out.Failed) != 1 || lbmodel.CodeOf(out.Err()) != lbmodel.CodeDenied {
			t.Errorf("failed: %v, want the note on the listener", out.Failed)
		}
		if h.marks() != len(plan.Held.Steps) {
			t.Errorf("%d notes tried, want all %d", h.marks(), len(plan.Held.Steps))
		}
		if _, out := h.lingering("a"); !out.Settled() || h.marks() != len(plan.Held.Steps)+1 {
			t.Errorf("the next pass: %v, %d notes", out.Err(), h.marks())
		}
		h.build(gateway("a"))
		h.cloud.Hook(failing("MarkListener", lbmodel.CodeNotFound, 1))
		if _, out := h.lingering("a"); !out.Settled() {
			t.Errorf("a note on what is gone fails the pass: %v", out.Err())
		}
	})
}

// TestNoteThatIsOvertaken: a resource is wanted again, by a gateway that has
// planned already, while a note that it is not is on its way.
func TestNoteThatIsOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"))
		k := hook{before: func(c providertest.Call) providertest.Fault {
			if c.Name == "MarkTrust" {
				time.Sleep(20 * time.Second) // longer than b takes
			}
			return providertest.Fault{}
		}}
		h.cloud.Hook(k)
		ended := make(chan lbmodel.Outcome)
		go func() {
			_, out := h.lingering("a")
			ended <- out
		}()
		synctest.Wait()
		h.build(gateway("b", func(gw *lbmodel.Gateway) { gw.Pools[0].Group = "apps/b:80" }))
		if out := <-ended; !out.Settled() {
			t.Errorf("the note fails: %v", out.Err())
		}
		for id, r := range h.account.Observed(owner("b")) {
			if !r.Facts.DroppedAt.IsZero() {
				t.Errorf("%s is wanted by b, and stays noted as dropped", id)
			}
		}
	})
}

// TestNotesAreForWhatLingers: what another policy keeps back is not noted.
func TestNotesAreForWhatLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"))
		h.account.Drop(owner("a"))
		plan, err := h.account.Plan(t.Context(), []lbmodel.Owner{owner("a")}, lbmodel.NoDelete, lbmodel.Linger(time.Hour))
		if err != nil || len(plan.Held.Steps) == 0 {
			t.Fatalf("Plan: %v, held %v", err, plan.Held)
		}
		h.mustApply(plan)
		if n := h.marks(); n != 0 {
			t.Errorf("%d notes on what is retained", n)
		}
	})
}

// TestRenewalIsTold: by the plan of a settled gateway and by the outcome that
// made it, and it makes neither look unsettled.
func TestRenewalIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		began := time.Now()
		out := h.mustApply(h.plan(gateway("a")))
		plan := h.plan(gateway("a"))
		for name, later := range map[string][]lbmodel.Wait{"the outcome": out.Held.Later, "the next plan": plan.Later} {
			if len(later) != 1 || later[0].Reason != lbmodel.WaitRenewal || later[0].ID.Kind != "Identity" {
				t.Fatalf("%s waits for %v, want the renewal of the client certificate", name, later)
			}
			if due := later[0].Until.Sub(began).Round(time.Hour); due != 16*time.Hour {
				t.Errorf("%s says renew in %s, want 16h: a day's life, of which 8 hours are left", name, due)
			}
		}
		if !plan.Empty() || len(plan.Waiting()) > 0 || len(plan.Held.Later) > 0 {
			t.Errorf("a renewal in the future makes the plan look unsettled: %v, %v", stepsOf(plan), plan.Held)
		}
		time.Sleep(time.Until(plan.Later[0].Until))
		plan = h.plan(gateway("a"))
		if got := stepsOf(plan); !slices.Equal(got, []string{"UpdateIdentity"}) || len(plan.Later) > 0 {
			t.Errorf("when it is due the plan does %v and waits for %v, want the renewal itself", got, plan.Later)
		}
	})
}
