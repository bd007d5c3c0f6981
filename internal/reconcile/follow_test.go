package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
)

// follow takes other files as a cluster's watch would bring them.
func (w *world) follow(text string) reconcile.Followed {
	w.t.Helper()
	return w.loop.Follow(w.change(text, reconcile.Removed).Change)
}

func (w *world) bring(f reconcile.Followed) {
	w.t.Helper()
	for _, t := range f.Targets {
		outcome, err := w.account.Bring(w.t.Context(), t.IDs...)
		if err != nil || outcome.Err() != nil {
			w.t.Fatal(err, outcome.Err())
		}
	}
}

// TestFollow says what a change leads to. Why this table: what only moves endpoints
// must not wait for a plan, and what a plan must see must not be missed.
func TestFollow(t *testing.T) {
	moved := strings.NewReplacer("10.0.0.1", "10.0.0.2")
	edited := strings.NewReplacer("name: r}", "name: r, generation: 2}", "rules: [{", "rules: [{matches: [{path: {value: /x}}], ")
	denied := strings.NewReplacer("foreignEndpoints: Allow, ", "")
	tests := []struct {
		name     string
		first    string
		next     string
		keys     []string
		targets  []string
		serves   string
		leftover bool // the plan is not empty when the targets are there
	}{
		{name: "nothing", first: base, next: base, serves: "10.0.0.1"},
		{name: "endpoints", first: base, next: moved.Replace(base), targets: []string{"a", "b"}, serves: "10.0.0.2"},
		{name: "a route", first: base, next: edited.Replace(base), keys: []string{"a", "b"}, serves: "10.0.0.1", leftover: true},
		{name: "both", first: base, next: edited.Replace(moved.Replace(base)), keys: []string{"a", "b"}, targets: []string{"a", "b"}, serves: "10.0.0.2", leftover: true},
		{name: "endpoints that are refused are told of", first: denied.Replace(base), next: moved.Replace(denied.Replace(base)), keys: []string{"a", "b"}, targets: []string{"a", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.first)
			w.pass(w.all())
			f := w.follow(tt.next)
			w.bring(f)
			var keys, targets []string
			for _, k := range f.Keys {
				keys = append(keys, k.Name)
			}
			for _, to := range f.Targets {
				if !slices.Contains(targets, to.Gateway.Name) && len(to.IDs) > 0 {
					targets = append(targets, to.Gateway.Name)
				}
			}
			if d := cmp.Diff([][]string{tt.keys, tt.targets}, [][]string{keys, targets}); d != "" {
				t.Errorf("keys and targets (-want +got):\n%s", d)
			}
			if got := strings.Join(w.endpoints()["a"], " "); got != tt.serves {
				t.Errorf("a serves %q before any pass, want %q", got, tt.serves)
			}
			if again := w.pass(w.all()); again.Empty() == tt.leftover {
				t.Errorf("the pass does %d steps, want some: %v", len(again.Plan().Steps), tt.leftover)
			}
		})
	}
}

// TestLateTargets brings the targets of two changes in the wrong order: what was
// said last counts, whatever is brought first.
func TestLateTargets(t *testing.T) {
	w := newWorld(t, base)
	w.pass(w.all())
	first := w.follow(strings.Replace(base, "10.0.0.1", "10.0.0.2", 1))
	second := w.follow(strings.Replace(base, "10.0.0.1", "10.0.0.3", 1))
	w.bring(second)
	w.bring(first)
	if got := w.endpoints()["a"]; !slices.Equal(got, []string{"10.0.0.3"}) {
		t.Errorf("a serves %v, want what was said last", got)
	}
}

// TestStatusesAreOfWhatWasPlanned: an edit between planning and the status must not
// look as if it had been applied.
func TestStatusesAreOfWhatWasPlanned(t *testing.T) {
	w := newWorld(t, base)
	key := w.all()[0]
	planned, err := w.loop.PlanOnly(t.Context(), []translate.Key{key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	done := w.loop.Apply(t.Context(), planned, nil)
	w.follow(strings.Replace(base, "metadata: {name: a}", "metadata: {name: a, generation: 9}", 1))
	for _, p := range w.loop.StatusesOf([]translate.Key{key}, planned, done, time.Now()) {
		s, is := p.Status.(*gwv1.GatewayStatus)
		if !is {
			continue
		}
		for _, c := range s.Conditions {
			if c.ObservedGeneration == 9 {
				t.Errorf("condition %s speaks of an edit that was not planned", c.Type)
			}
		}
	}
}

// TestStatusesOfTheUnplanned: a gateway that is gone is forgotten by its routes, and
// one that cannot be planned says so.
func TestStatusesOfTheUnplanned(t *testing.T) {
	w := newWorld(t, base)
	w.pass(w.all())
	w.follow(strings.Replace(base, "fake: {}", "fake: {without: [NoSuchFeature]}", 1))
	key := w.all()[0]
	planned, err := w.loop.PlanOnly(t.Context(), []translate.Key{key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(planned.Groups) > 0 {
		t.Fatal("a gateway without usable parameters is planned")
	}
	patches := w.loop.StatusesOf([]translate.Key{key}, planned, reconcile.Pass{}, time.Now())
	if got := conditions(t, patches, "a"); !strings.Contains(got, `"Accepted","status":"False"`) {
		t.Errorf("conditions of a are %s, want Accepted to be false", got)
	}
}

// TestPaused: nothing is done, and the status says why.
func TestPaused(t *testing.T) {
	w := newWorld(t, strings.Replace(base, "metadata: {name: a}", "metadata: {name: a, annotations: {gatehouse.dev/paused: 'yes'}}", 1))
	planned, err := w.loop.Plan(t.Context(), w.all())
	if err != nil {
		t.Fatal(err)
	}
	done := w.loop.Apply(t.Context(), planned, nil)
	if got := w.endpoints(); len(got["a"]) > 0 || len(got["b"]) == 0 {
		t.Errorf("served are %v, want b and not a, which is paused", got)
	}
	if got := conditions(t, w.loop.Statuses(planned, done, time.Now()), "a"); !strings.Contains(got, `"reason":"Paused"`) {
		t.Errorf("conditions of a are %s, want the reason Paused", got)
	}
}

// TestLoopIsConcurrent works on both gateways while changes come. What counts in the
// end is the last change.
func TestLoopIsConcurrent(t *testing.T) {
	w := newWorld(t, base)
	var all sync.WaitGroup
	for _, key := range w.all() {
		all.Go(func() {
			for range 20 {
				planned, err := w.loop.PlanOnly(t.Context(), []translate.Key{key}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				done := w.loop.Apply(t.Context(), planned, nil)
				w.loop.StatusesOf([]translate.Key{key}, planned, done, time.Now())
				w.loop.Gateways()
			}
		})
	}
	for i := range 20 {
		w.bring(w.follow(strings.Replace(base, "10.0.0.1", fmt.Sprintf("10.0.0.%d", i+2), 1)))
	}
	all.Wait()
	w.pass(w.all())
	if got := w.endpoints()["b"]; !slices.Equal(got, []string{"10.0.0.21"}) {
		t.Errorf("b serves %v, want the last endpoint", got)
	}
}

// TestDeletedTwice plans for a gateway that is gone from the cloud and whose object
// is not gone yet. Why: an event of another object may ask for that pass.
func TestDeletedTwice(t *testing.T) {
	w := newWorld(t, base)
	w.pass(w.all())
	going := w.read(base)
	for _, g := range going.Snapshot.Gateways {
		g.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	w.loop.Follow(translate.Change{Put: []any{going.Snapshot.Gateways[0], going.Snapshot.Gateways[1]}})
	w.pass(w.all())
	for _, g := range w.loop.Gateways() {
		if gone, err := w.account.Gone(t.Context(), g.Result.Gateway.Owner); err != nil || !gone {
			t.Fatalf("%s is gone: %v, %v", g.Key, gone, err)
		}
	}
	if again := w.pass(w.all()); !again.Empty() {
		t.Errorf("there is something to do for gateways that are gone: %v", again.Plan().Steps)
	}
}
