package lbmodel

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLingerReplaced: what is reached by a replaced address ("name", of the balancer
// "lb") is kept as a whole, of owners that stay. What else is not wanted goes.
func TestLingerReplaced(t *testing.T) {
	want := boxes("lb2", "port2 needs=lb2", "rule2 needs=port2,pool", "pool")
	have := boxes("name needs=lb", "lb", "port needs=lb effect=it-closes", "rule needs=port,pool,old", "pool", "old", "stray")
	lb := have[boxID("name")]
	lb.Facts.Addresses = []Address{{Type: "Hostname", Value: "old.example"}}
	have[lb.ID] = lb
	for _, tt := range []struct {
		name    string
		dropped time.Duration // how long it is not wanted
		stays   bool
		want    []string
	}{
		{"it stays", 9 * time.Minute, true, []string{
			"Create lb2", "Create port2 after lb2", "Create rule2 after port2", "Delete stray",
			"Lingering: name is no longer wanted and is kept for 10m0s, since clients may still know its address",
			"InUse: rule is no longer wanted and is kept with Box.name",
			"InUse: old waits for Box.rule, which is no longer wanted and is kept with Box.name",
			"InUse: port is no longer wanted and is kept with Box.name",
			"InUse: lb is no longer wanted and is kept with Box.name",
		}},
		{"its time is over", 10 * time.Minute, true, []string{
			"Create lb2", "Create port2 after lb2", "Create rule2 after port2", "Delete name",
			"Delete rule", "Delete old after rule", "Delete port after rule", "Delete lb after name after port", "Delete stray",
		}},
		{"it goes", time.Minute, false, []string{
			"Create lb2", "Create port2 after lb2", "Create rule2 after port2", "Delete name",
			"Delete rule", "Delete old after rule", "Delete port after rule", "Delete lb after name after port", "Delete stray",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lb.Facts.DroppedAt = policyNow.Add(-tt.dropped)
			have[lb.ID] = lb
			plan, err := Diff(want, nil, have)
			if err != nil {
				t.Fatal(err)
			}
			got := LingerReplaced(10*time.Minute, func(Owner) bool { return tt.stays })(plan, policyNow)
			if diff := cmp.Diff(tt.want, told(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
