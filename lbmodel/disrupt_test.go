package lbmodel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTornDown moves a balancer ("lb" with its port and rules) to a new address:
// the parts of the old one wait, or go, with it.
func TestTornDown(t *testing.T) {
	want := boxes("lb2", "port2 needs=lb2", "rule2 needs=port2,pool", "pool")
	have := boxes("lb effect=the-address-goes", "port needs=lb", "rule needs=port,pool,old", "pool", "old", "stray")
	plan, err := Diff(want, nil, have)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for id, root := range TornDown(plan) {
		got[id.Name] = root.ID.Name
	}
	if diff := cmp.Diff(map[string]string{"lb": "lb", "port": "lb", "rule": "lb"}, got); diff != "" {
		t.Errorf("a teardown is the balancer and what needs it, not what it needs (-want +got):\n%s", diff)
	}
	left := told(HoldDisruptive(plan, policyNow))
	wantLeft := []string{
		"Create lb2", "Create port2 after lb2", "Create rule2 after port2", "Delete stray",
		"ApprovalRequired: rule would be deleted (is no longer wanted) with Box.lb, which needs agreement: the-address-goes",
		"ApprovalRequired: old waits for Box.rule, which would be deleted (is no longer wanted) with Box.lb, which needs agreement: the-address-goes",
		"ApprovalRequired: port would be deleted (is no longer wanted) with Box.lb, which needs agreement: the-address-goes",
		"ApprovalRequired: lb would be deleted (is no longer wanted), which needs agreement: the-address-goes",
	}
	if diff := cmp.Diff(wantLeft, left); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
