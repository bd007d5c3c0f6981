package reconcile_test

import (
	"slices"
	"testing"
	"time"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/lbmodel"
)

func step(verb lbmodel.Verb, name, impact string, after ...string) lbmodel.Step {
	s := lbmodel.Step{Verb: verb, ID: lbmodel.ID{Kind: "X", Name: name}, Impact: impact}
	for _, a := range after {
		s.After = append(s.After, lbmodel.ID{Kind: "X", Name: a})
	}
	return s
}

// TestCareful: what is kept back is kept back whole, in both directions, and
// nothing else is.
func TestCareful(t *testing.T) {
	cases := []struct {
		name, why string
		steps     []lbmodel.Step
		want      []string
	}{
		{"nothing disruptive", "no reason to hold anything", []lbmodel.Step{
			step(lbmodel.Create, "a", ""), step(lbmodel.Delete, "b", "", "a")}, []string{"a", "b"}},
		{"a listener with rules", "a listener that stays must keep its rules, and their pools", []lbmodel.Step{
			step(lbmodel.Delete, "rule", ""), step(lbmodel.Delete, "pool", "", "rule"),
			step(lbmodel.Delete, "listener", "port closes", "rule"), step(lbmodel.Create, "other", "")}, []string{"other"}},
		{"what waits for it", "a port that is not freed cannot be taken", []lbmodel.Step{
			step(lbmodel.Delete, "listener", "port closes"), step(lbmodel.Create, "taker", "", "listener")}, nil},
		{"updates before it", "moving users away first is no loss", []lbmodel.Step{
			step(lbmodel.Update, "user", ""), step(lbmodel.Delete, "old", "gone", "user")}, []string{"user"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			out := reconcile.Careful(lbmodel.Plan{Steps: c.steps}, time.Time{})
			var got []string
			for _, s := range out.Steps {
				got = append(got, s.ID.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("steps left %v, want %v: %s", got, c.want, c.why)
			}
			if len(got)+len(out.Later) != len(c.steps) {
				t.Errorf("%d steps left and %d waits of %d steps", len(got), len(out.Later), len(c.steps))
			}
		})
	}
}
