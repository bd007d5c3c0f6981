package reconcile_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// TestOutdated: that something changes while a plan is done, as when a pod is replaced, is
// repaired by the next pass and told nobody. What three passes in a row have not repaired
// is told.
func TestOutdated(t *testing.T) {
	w := newWorld(t, base)
	done := w.pass(w.all())
	for _, p := range w.loop.Statuses(done, done, time.Now()) {
		if g, ok := w.loop.Index().Object(p.Key).(*gwv1.Gateway); ok { // as the API server has it from then on
			g = g.DeepCopy()
			g.Status = *p.Status.(*gwv1.GatewayStatus)
			w.loop.Change(translate.Change{Put: []any{g}})
		}
	}
	rule := func(timeout string) {
		w.loop.Change(w.change(strings.Replace(base, "rules: [{", "rules: [{timeouts: {request: "+timeout+"}, ", 1), reconcile.Removed).Change)
	}
	rule("1s")
	old, err := w.loop.Plan(t.Context(), w.all())
	if err != nil {
		t.Fatal(err)
	}
	rule("2s")
	w.pass(w.all())
	rule("3s")
	const conflict = `"reason":"Conflict"`
	for pass := range 3 {
		done = w.loop.Apply(t.Context(), old, nil)
		failed := done.Groups[0].Outcome.Failed
		if len(failed) == 0 {
			t.Fatal("a plan that was made before the last change was done")
		}
		for _, err := range failed {
			if lbmodel.CodeOf(err) != lbmodel.CodeConflict || !lbmodel.Outdated(err) {
				t.Fatalf("failed with %v", err)
			}
		}
		got := w.news(old, done)
		if told := strings.Contains(got, conflict); told != (pass == 2) || !told && got != "" {
			t.Errorf("pass %d tells %q", pass, got)
		}
	}
	w.pass(w.all())
	done = w.loop.Apply(t.Context(), old, nil)
	if got := w.news(old, done); strings.Contains(got, conflict) {
		t.Errorf("after a pass that did it all, the next is told at once: %q", got)
	}
}

// news is what a pass changes in the statuses of Gateways; "" is nothing.
func (w *world) news(planned, done reconcile.Pass) (out string) {
	w.t.Helper()
	for _, p := range w.loop.Statuses(planned, done, time.Now()) {
		if p.Key.Kind != translate.KindGateway {
			continue
		}
		text, err := json.Marshal(p.Status)
		if err != nil {
			w.t.Fatal(err)
		}
		out += string(text)
	}
	return out
}
