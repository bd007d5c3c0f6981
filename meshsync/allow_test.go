package meshsync

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWorst: one pod that refuses is a refusal, whatever the order, and what is offered
// twice is offered once.
func TestWorst(t *testing.T) {
	yes, perhaps := Allowance{Need: NotNeeded, Why: "yes"}, Allowance{Need: NeedUnknown, Why: "perhaps"}
	no := Allowance{Need: Needed, Why: "no", Offers: []Offer{{Say: "a", YAML: "a"}}}
	both := Allowance{Need: Needed, Why: "no", Offers: []Offer{{Say: "a", YAML: "a"}, {Say: "b", YAML: "b"}}}
	cases := []struct {
		name, why string
		in        []Allowance
		want      Allowance
	}{
		{"none", "nothing is said", nil, Allowance{}},
		{"one", "", []Allowance{yes}, yes},
		{"a doubt", "it is more than none", []Allowance{yes, perhaps, yes}, perhaps},
		{"a refusal", "it is more than a doubt", []Allowance{no, perhaps, yes}, no},
		{"a refusal at the end", "", []Allowance{perhaps, no}, no},
		{"a sure refusal", "its reason is told, and not that of one that is assumed", []Allowance{{Need: Needed, Why: "perhaps", Assumed: true}, {Need: Needed, Why: "no"}}, Allowance{Need: Needed, Why: "no"}},
		{"twice", "", []Allowance{no, both}, both},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Worst(c.in)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		})
	}
}
