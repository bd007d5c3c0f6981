package lbmodel

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// leafSpec is a spec with a certificate that is renewed by a rule.
type leafSpec struct{ Rule RenewRule }

func (leafSpec) Needs() []ID { return nil }

func (s leafSpec) RenewAt(f Facts) time.Time {
	if f.Leaf == nil {
		return time.Time{}
	}
	return s.Rule.At(*f.Leaf)
}

var midnight = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func dayOf(from time.Time) *Leaf { return &Leaf{NotBefore: from, NotAfter: from.Add(24 * time.Hour)} }

func TestRenewRule(t *testing.T) {
	tests := []struct {
		name string
		rule RenewRule
		want time.Time
		why  string
	}{
		{"before", RenewRule{Before: Duration(3 * time.Hour)}, midnight.Add(21 * time.Hour), "the rule says how much must be left"},
		{"unset", RenewRule{}, midnight.Add(16 * time.Hour), "two thirds leave room for many tries whatever the life is"},
		{"longer than the life", RenewRule{Before: Duration(48 * time.Hour)}, midnight.Add(-24 * time.Hour), "such a leaf is due from the start"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.rule.At(*dayOf(midnight)); !got.Equal(tt.want) {
				t.Errorf("due at %s, want %s: %s", got, tt.want, tt.why)
			}
		})
	}
}

// TestRenewalsAreInformation: they are told in order, only of what is there and
// may be renewed, and a plan that has nothing else is settled, in text and JSON.
func TestRenewalsAreInformation(t *testing.T) {
	leaf, other := ID{Kind: "Certificate", Name: "a"}, ID{Kind: "Certificate", Name: "b"}
	want := Graph{
		other:                               NewResource(other, leafSpec{}),
		leaf:                                NewResource(leaf, leafSpec{}),
		{Kind: "Certificate", Name: "held"}: NewResource(ID{Kind: "Certificate", Name: "held"}, leafSpec{}).With(External),
		{Kind: "Certificate", Name: "new"}:  NewResource(ID{Kind: "Certificate", Name: "new"}, leafSpec{}),
		{Kind: "Rule", Name: "r"}:           NewResource(ID{Kind: "Rule", Name: "r"}, shopSpec{}),
	}
	have := Graph{}
	for id, r := range want {
		if id.Name != "new" {
			r.Facts.Leaf = dayOf(midnight)
			have[id] = r
		}
	}
	due := midnight.Add(16 * time.Hour)
	plan := Plan{Later: Renewals(want, have)}
	if diff := cmp.Diff([]Wait{
		{ID: leaf, Until: due, Reason: WaitRenewal, Why: "renews"},
		{ID: other, Until: due, Reason: WaitRenewal, Why: "renews"},
	}, plan.Later); diff != "" {
		t.Fatalf("renewals (-want +got):\n%s", diff)
	}
	if n := len(plan.Waiting()) + plan.Summary().Wait; n != 0 || !plan.Empty() {
		t.Errorf("%d waits are counted; a renewal in the future holds nothing up", n)
	}
	var text bytes.Buffer
	if err := PrintPlan(&text, plan, Plain); err != nil {
		t.Fatal(err)
	}
	const shown = "Waiting\n\n  * Certificate.a renews 2026-12-01T16:00:00Z\n  * Certificate.b renews 2026-12-01T16:00:00Z\n\n" +
		"No changes. What is there is what is wanted.\n"
	if diff := cmp.Diff(shown, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestNext(t *testing.T) {
	at := func(hour int) Wait { return Wait{Until: midnight.Add(time.Duration(hour) * time.Hour)} }
	tests := []struct {
		name  string
		later []Wait
		want  time.Time
		why   string
	}{
		{"nothing waits", nil, time.Time{}, "there is nothing to plan again for"},
		{"no end", []Wait{{}}, time.Time{}, "only a change ends it"},
		{"the first", []Wait{at(3), {}, at(1), at(2)}, at(1).Until, "the earliest is due first, whatever has no end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (Plan{Later: tt.later}).Next(); !got.Equal(tt.want) {
				t.Errorf("next at %s, want %s: %s", got, tt.want, tt.why)
			}
		})
	}
}
