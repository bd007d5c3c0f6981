package controller

import (
	"strings"
	"testing"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// TestComplete: an approval is used up by the last step of its plan, and by nothing
// less.
func TestComplete(t *testing.T) {
	a, b := lbmodel.ID{Kind: "Listener", Name: "a"}, lbmodel.ID{Kind: "Listener", Name: "b"}
	tests := []struct {
		name string
		out  lbmodel.Outcome
		want bool
	}{
		{"all done", lbmodel.Outcome{Done: []lbmodel.ID{a, b}}, true},
		{"one is left", lbmodel.Outcome{Done: []lbmodel.ID{a}}, false},
		{"one is still used by somebody", lbmodel.Outcome{Done: []lbmodel.ID{a}, Held: lbmodel.Plan{Later: []lbmodel.Wait{{ID: b, Reason: lbmodel.WaitInUse}}}}, false},
		{"one failed", lbmodel.Outcome{Done: []lbmodel.ID{a}, Failed: map[lbmodel.ID]error{b: lbmodel.Errorf(lbmodel.CodeDenied, "CreateListener", b, "no")}}, false},
		{"something else waits", lbmodel.Outcome{Done: []lbmodel.ID{a, b}, Held: lbmodel.Plan{Later: []lbmodel.Wait{{Reason: lbmodel.WaitApproval}}}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			steps := []lbmodel.Step{{Verb: lbmodel.Create, ID: a}, {Verb: lbmodel.Create, ID: b}}
			done := reconcile.Pass{Groups: []reconcile.Group{{Plan: providers.Plan{Plan: lbmodel.Plan{Steps: steps}}, Outcome: tt.out}}}
			if got := complete(done); got != tt.want {
				t.Errorf("complete: %v, want %v", got, tt.want)
			}
		})
	}
}

// TestWaiting is what the service controller of a cluster's manager is told, which
// has nothing else to show people.
func TestWaiting(t *testing.T) {
	key := translate.Key{Kind: translate.KindService, Namespace: "games", Name: "quiz"}
	wait := func(reason lbmodel.WaitReason) lbmodel.Wait {
		return lbmodel.Wait{Reason: reason, Why: "would be created"}
	}
	tests := []struct {
		name  string
		waits []lbmodel.Wait
		want  string // the end of the error; "" for none
	}{
		{"nothing waits", nil, ""},
		{"what is left over is nothing to wait for", []lbmodel.Wait{wait(lbmodel.WaitRetained)}, ""},
		{"a person must agree", []lbmodel.Wait{wait(lbmodel.WaitRetained), wait(lbmodel.WaitApproval)}, "would be created; run this"},
		{"a person cannot help", []lbmodel.Wait{wait(lbmodel.WaitPending)}, "would be created"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := passed{waits: tt.waits, wayOut: "run this"}.waiting(key, "ensure")
			if tt.want == "" && err != nil {
				t.Errorf("error: %v, want none", err)
			}
			if tt.want != "" && (lbmodel.CodeOf(err) != lbmodel.CodePending || !strings.HasSuffix(err.Error(), tt.want)) {
				t.Errorf("error: %v, want pending, and %q at the end", err, tt.want)
			}
		})
	}
}
