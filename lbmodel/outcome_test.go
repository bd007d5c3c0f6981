package lbmodel

import (
	"errors"
	"testing"
)

// TestSettled. Why this table: whoever is told that all is done stops looking. A
// gateway that got nothing because another holds its address was told so.
func TestSettled(t *testing.T) {
	id := boxID("a")
	waits := func(r WaitReason) Outcome { return Outcome{Held: Plan{Later: []Wait{{ID: id, Reason: r}}}} }
	tests := []struct {
		name    string
		outcome Outcome
		settled bool
	}{
		{"nothing to tell", Outcome{Done: []ID{id}}, true},
		{"a failure", Outcome{Failed: map[ID]error{id: errors.New("x")}}, false},
		{"a step never tried", Outcome{Blocked: []ID{id}}, false},
		{"a slot that somebody holds", waits(WaitSlot), false},
		{"another's resource of that name", waits(WaitForeign), false},
		{"agreement", waits(WaitApproval), false},
		{"a broken document", waits(WaitUnread), false},
		{"pending", waits(WaitPending), false},
		{"a renewal some day", waits(WaitRenewal), true},
		{"a leftover that lingers", waits(WaitLinger), true},
		{"a leftover that is retained", waits(WaitRetained), true},
		{"a leftover that somebody uses", waits(WaitInUse), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.outcome.Settled(); got != tt.settled {
				t.Errorf("Settled is %v, want %v", got, tt.settled)
			}
		})
	}
}
