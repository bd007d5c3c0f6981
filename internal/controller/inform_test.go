package controller

import (
	"strings"
	"testing"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/internal/controller/approval"
	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// waiting is a pass in which the creation of one resource waits.
func waiting(name string) reconcile.Pass {
	id := lbmodel.ID{Kind: "Listener", Name: name}
	held := lbmodel.Plan{Steps: []lbmodel.Step{{Verb: lbmodel.Create, ID: id}}}
	return reconcile.Pass{Groups: []reconcile.Group{{Plan: providers.Plan{
		Plan: lbmodel.Plan{Later: []lbmodel.Wait{{ID: id, Reason: lbmodel.WaitApproval}}}, Held: held,
	}}}}
}

func shows(p reconcile.Pass) *v1alpha1.GatewayPlan {
	out := new(v1alpha1.GatewayPlan)
	out.Status.Plan = &v1alpha1.PlanSummary{Hash: approval.Hash(p.Groups[0].Plan.Held)}
	return out
}

// TestStale: whoever has read a plan and is about to approve it hears that it is
// another one now, and nobody is told of a plan that did not change.
func TestStale(t *testing.T) {
	tests := []struct {
		name  string
		shown *v1alpha1.GatewayPlan
		want  bool
	}{
		{"nothing was shown", nil, false},
		{"nothing waited", new(v1alpha1.GatewayPlan), false},
		{"the same plan", shows(waiting("a")), false},
		{"another one", shows(waiting("b")), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := stale(tt.shown, waiting("a")); got != tt.want {
				t.Errorf("stale: %v, want %v", got, tt.want)
			}
		})
	}
}

// TestTally: why: a message that counts wrongly, or says "1 changes", is not believed.
func TestTally(t *testing.T) {
	p := waiting("a")
	p.Groups[0].Plan.Steps = []lbmodel.Step{{Verb: lbmodel.Delete, Cause: lbmodel.Drift}, {Verb: lbmodel.Create, Cause: lbmodel.Desire}}
	p.Groups[0].Plan.Held.Later = []lbmodel.Wait{{Reason: lbmodel.WaitReported}, {Reason: lbmodel.WaitReported}}
	if drift, waits, reported := tally(p); drift != 1 || waits != 1 || reported != 2 {
		t.Errorf("drift %d, waits %d, reported %d; want 1, 1 and 2", drift, waits, reported)
	}
	if flows(p) {
		t.Error("a plan that deletes only moves traffic")
	}
	for n, want := range map[int]string{1: "1 change is", 2: "2 changes are"} {
		if got := count(n, "change is", "changes are"); !strings.HasPrefix(got, want) {
			t.Errorf("count(%d) is %q, want %q", n, got, want)
		}
	}
}
