package providers_test

import (
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// record counts the calls that events tell of, by operation.
type record struct {
	mu     sync.Mutex
	calls  map[string]int
	owners map[lbmodel.Owner]bool
	codes  map[lbmodel.Code]int
}

func (r *record) take(e providers.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Called {
		r.calls[string(e.Step.Verb)+e.Step.ID.Kind]++
		r.owners[e.Owner] = true
		r.codes[lbmodel.CodeOf(e.Err)]++
	}
}

// TestTell: whoever is told by the context hears of every call that changes the
// cloud, and of none that was not made: a record of calls must be complete.
func TestTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		r := &record{calls: map[string]int{}, owners: map[lbmodel.Owner]bool{}, codes: map[lbmodel.Code]int{}}
		ctx := providers.Tell(t.Context(), r.take)
		h.cloud.Hook(failing("CreateRule", lbmodel.CodeThrottled, 2))
		plan, old := h.plan(gateway("a"), gateway("b")), h.plan(gateway("a"))
		h.account.Apply(ctx, plan, nil)
		h.account.Apply(ctx, old, nil) // out of date: nothing of it is called
		if _, err := h.account.Endpoints(ctx, poolChange("a", pool("10.0.0.1", "10.0.0.2"))); err != nil {
			t.Fatal(err)
		}
		h.account.Drop(owner("a"))
		late, err := h.account.Plan(ctx, []lbmodel.Owner{owner("a")}, lbmodel.Linger(1<<40))
		if err != nil {
			t.Fatal(err)
		}
		h.account.Apply(ctx, late, nil)
		made := h.account.Calls()
		maps.DeleteFunc(made, func(op string, _ int) bool { return op == "Observe" })
		if diff := cmp.Diff(made, r.calls); diff != "" {
			t.Errorf("calls (-made +told):\n%s", diff)
		}
		for _, op := range []string{"CreateRule", "UpdateGroup", "MarkAddress"} {
			if r.calls[op] == 0 {
				t.Errorf("the test made no %s: it shows less than it should", op)
			}
		}
		if r.codes[lbmodel.CodeThrottled] != 2 || !r.owners[owner("a")] || !r.owners[owner("b")] {
			t.Errorf("told codes %v of owners %v; want two throttled calls, and both gateways", r.codes, r.owners)
		}
	})
}

// TestHealthIsWhatTheCloudSaid: unknown before the first look, nothing before there
// is something, and then the cloud's word for each target.
func TestHealthIsWhatTheCloudSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		change := poolChange("a", pool("10.0.0.1"))
		if got := h.account.Health(change); got.Observed || got.There {
			t.Errorf("before anybody looked: %+v", got)
		}
		plan := h.plan(gateway("a"))
		if got := h.account.Health(change); !got.Observed || got.There {
			t.Errorf("before it was made: %+v", got)
		}
		h.mustApply(plan)
		if got := h.account.Health(change); !got.There || !got.At.IsZero() {
			t.Errorf("before anybody looked at it: %+v", got)
		}
		time.Sleep(time.Minute)
		began := time.Now()
		h.account.Invalidate(owner("a"))
		h.expectNothing(gateway("a"))
		got := h.account.Health(change)
		if !got.At.Equal(began) {
			t.Errorf("it was looked at %s, want %s", got.At, began)
		}
		if _, told := got.Targets["10.0.0.1:8080"]; !got.There || !told {
			t.Errorf("when it is there: %+v", got)
		}
		if private := poolChange("a", pool()); len(h.account.Health(private).Targets) != len(got.Targets) {
			t.Errorf("the targets are those of the cloud, not those of the wish")
		}
	})
}
