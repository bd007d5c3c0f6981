package providers_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// TestPlacesAreKeptMeanwhile: a rule whose pool cannot be made stands in its place while
// something else of the run hangs for minutes, once, and is not taken for done.
func TestPlacesAreKeptMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name, why string
		works     int // how many listeners are made before the cloud hangs at the next
		early     int // rules that stand in before that ends
	}{
		{"another gateway's listener", "nothing keeps those of the first waiting", 1, 2},
		{"every listener", "there is no place yet", 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, nil)
				var listeners atomic.Int32
				h.cloud.Hook(hook{before: func(call providertest.Call) providertest.Fault {
					switch {
					case call.Name == "CreateTrust":
						return providertest.Fault{Kind: providertest.Refuse, Code: lbmodel.CodeDenied}
					case call.Name == "CreateListener" && int(listeners.Add(1)) > c.works:
						return providertest.Fault{Kind: providertest.Hang}
					}
					return providertest.Fault{}
				}})
				plan := h.plan(gateway("edge"), gateway("other"))
				began := time.Now()
				var early, late int
				out := h.account.Apply(t.Context(), plan, func(e providers.Event) {
					if e.What != providers.Done || e.Step.For == nil {
						return
					}
					if time.Since(began) < 30*time.Second {
						early++
					} else {
						late++
					}
				})
				if time.Since(began) < time.Minute {
					t.Fatal("nothing hangs")
				}
				if early != c.early || late > 0 {
					t.Errorf("%d rules stand in while the cloud hangs and %d later, want %d and none: %s", early, late, c.early, c.why)
				}
				if n := h.account.Calls()["CreateRule"]; n != early+late {
					t.Errorf("%d calls for %d rules", n, early+late)
				}
				for _, id := range out.Done {
					if id.Kind == "Rule" || slices.Contains(out.Blocked, id) {
						t.Errorf("%s is done, though it only stands in", id)
					}
				}
				h.cloud.Hook(nil)
				h.mustApply(h.planOwners(owner("edge"), owner("other")))
				h.expectNothing(gateway("edge"), gateway("other"))
			})
		})
	}
}
