package cli

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// TestSummed: what fails two thousand times for one reason is one line. Failures
// of another kind of resource or for another reason keep theirs.
func TestSummed(t *testing.T) {
	full := errors.New("no space left on device")
	rule := func(n int) lbmodel.ID { return lbmodel.ID{Kind: "Rule", Name: fmt.Sprintf("r%04d", n)} }
	failures := map[lbmodel.ID]error{{Kind: "Pool", Name: "p"}: full}
	for n := range 2000 {
		failures[rule(n)] = full
	}
	failures[rule(7)] = fmt.Errorf("writing %s: denied", rule(7))
	want := []string{
		"Pool.p: no space left on device",
		"Rule.r0000: no space left on device; and 1998 more for the same reason",
		"writing Rule.r0007: denied",
	}
	if diff := cmp.Diff(want, summed(failures)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStatusTimes: a condition that says what it said keeps its time, also when its
// listener moved; one that turned, and one that is new, have the time of now.
func TestStatusTimes(t *testing.T) {
	before := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	now := metav1.NewTime(before.Add(time.Hour))
	condition := func(kind string, is metav1.ConditionStatus, at metav1.Time) metav1.Condition {
		return metav1.Condition{Type: kind, Status: is, Reason: "R", LastTransitionTime: at}
	}
	listener := func(name gwv1.SectionName, c metav1.Condition) gwv1.ListenerStatus {
		return gwv1.ListenerStatus{Name: name, Conditions: []metav1.Condition{c}}
	}
	status := func(top []metav1.Condition, listeners ...gwv1.ListenerStatus) []translate.Patch {
		return []translate.Patch{{
			Key:    translate.Key{Kind: "Gateway", Namespace: "a", Name: "g"},
			Status: &gwv1.GatewayStatus{Conditions: top, Listeners: listeners},
		}}
	}
	recorded, err := statusesOf(status(
		[]metav1.Condition{condition("Accepted", "True", before), condition("Programmed", "False", before)},
		listener("x", condition("Accepted", "True", before)), listener("y", condition("Accepted", "False", before)),
	), nil)
	if err != nil {
		t.Fatal(err)
	}
	next := status(
		[]metav1.Condition{condition("Accepted", "True", now), condition("Programmed", "True", now)},
		listener("y", condition("Accepted", "False", now)), listener("new", condition("Accepted", "True", now)), listener("x", condition("Accepted", "True", now)),
	)
	if _, err := statusesOf(next, recorded); err != nil {
		t.Fatal(err)
	}
	want := status(
		[]metav1.Condition{condition("Accepted", "True", before), condition("Programmed", "True", now)},
		listener("y", condition("Accepted", "False", before)), listener("new", condition("Accepted", "True", now)), listener("x", condition("Accepted", "True", before)),
	)
	if diff := cmp.Diff(want[0].Status, next[0].Status); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEndingOf: a gateway is finished when its own part of a shared plan is.
func TestEndingOf(t *testing.T) {
	x, y := lbmodel.Owner{Name: "x"}, lbmodel.Owner{Name: "y"}
	xs, ys, left := lbmodel.ID{Kind: "Rule", Name: "x"}, lbmodel.ID{Kind: "Rule", Name: "y"}, lbmodel.ID{Kind: "Rule", Name: "left"}
	concerns := map[lbmodel.Owner]map[lbmodel.ID]bool{x: {xs: true}, y: {ys: true}}
	waits := func(id lbmodel.ID, why lbmodel.WaitReason) lbmodel.Outcome {
		return lbmodel.Outcome{Held: lbmodel.Plan{Later: []lbmodel.Wait{{ID: id, Reason: why}}}}
	}
	cases := []struct {
		name, why string
		outcome   lbmodel.Outcome
		x, y      ending
	}{
		{"all done", "nothing is left for either", lbmodel.Outcome{Done: []lbmodel.ID{xs, ys}}, true, true},
		{"y failed", "a failure is its owner's alone", lbmodel.Outcome{Failed: map[lbmodel.ID]error{ys: errors.New("no")}}, true, false},
		{"x blocked", "so is what was never tried", lbmodel.Outcome{Blocked: []lbmodel.ID{xs}}, false, true},
		{"y waits", "and what waits for a slot", waits(ys, lbmodel.WaitSlot), true, false},
		{"nobody's waits", "what is left over may be anybody's", waits(left, lbmodel.WaitUnread), false, false},
		{"a renewal", "what is renewed some day is as wanted", waits(xs, lbmodel.WaitRenewal), true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for owner, want := range map[lbmodel.Owner]ending{x: c.x, y: c.y} {
				got := endingOf(c.outcome, func(id lbmodel.ID) bool { return mineOrNobodys(concerns, owner, id) })
				if got != want {
					t.Errorf("%s finished: %v, want %v: %s", owner.Name, got, want, c.why)
				}
			}
		})
	}
}
