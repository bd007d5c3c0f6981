package approval

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

// TestMemory: what is left of an approved plan goes on; everything else asks.
func TestMemory(t *testing.T) {
	want := graph{"a": {Text: "2"}, "b": {Text: "2", Refs: []lbmodel.ID{id("a")}}, "c": {Text: "2"}}
	full := diff(t, want, graph{"a": {Text: "1"}, "b": {Text: "1"}}, nil)
	approved := Hash(full)
	rest := diff(t, want, graph{"a": {Text: "2"}, "b": {Text: "1"}}, nil)
	more := diff(t, graph{"a": {Text: "2"}, "b": {Text: "2", Refs: []lbmodel.ID{id("a")}}, "c": {Text: "2"}, "d": {}}, graph{"a": {Text: "2"}, "b": {Text: "1"}}, nil)
	done := diff(t, want, want, nil)
	cases := []struct {
		name, why string
		plans     []lbmodel.Plan
		approve   []string // one for each plan
		want      string   // of the last
	}{
		{"the rest", "a cloud that failed once must not need another approval", []lbmodel.Plan{full, rest}, []string{approved, approved}, "[Update b Create c]"},
		{"the rest, to a new process", "nothing of what was approved was kept", []lbmodel.Plan{rest}, []string{approved}, "[]"},
		{"the rest and more", "the plan changed", []lbmodel.Plan{full, more}, []string{approved, approved}, "[]"},
		{"withdrawn", "nobody approves any more", []lbmodel.Plan{full, rest}, []string{approved, ""}, "[]"},
		{"withdrawn and given again", "the rest is not the plan", []lbmodel.Plan{full, rest, rest}, []string{approved, "", approved}, "[]"},
		{"another approval", "", []lbmodel.Plan{full, rest}, []string{approved, Hash(more)}, "[]"},
		{"done, and a part drifts back", "the approval is used up, but for the very same plan", []lbmodel.Plan{full, done, rest}, []string{approved, approved, approved}, "[]"},
		{"done, and all of it drifts back", "it is what was approved", []lbmodel.Plan{full, done, full}, []string{approved, approved, approved}, "[Update a Update b Create c]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var m Memory
			var last lbmodel.Plan
			for i, p := range c.plans {
				last = m.Policy("uid", v1alpha1.ApplyApprove, Approval{Hash: c.approve[i]})(p, now)
			}
			if got := steps(last); got != c.want {
				t.Errorf("%s, want %s: %s", got, c.want, c.why)
			}
			if got := steps(m.Policy("other", v1alpha1.ApplyApprove, Approval{Hash: approved})(rest, now)); got != "[]" {
				t.Errorf("another gateway may do %s by this approval", got)
			}
			m.Forget("uid")
			if got := steps(m.Policy("uid", v1alpha1.ApplyApprove, Approval{Hash: approved})(rest, now)); got != "[]" {
				t.Errorf("a gateway that was forgotten may do %s", got)
			}
		})
	}
}

// TestMemoryOverARestart: a new process has what the plan's status keeps, and no more
// rights by it than the old one had.
func TestMemoryOverARestart(t *testing.T) {
	want := graph{"a": {Text: "2"}, "b": {Text: "2", Refs: []lbmodel.ID{id("a")}}, "c": {Text: "2"}}
	full := diff(t, want, graph{"a": {Text: "1"}, "b": {Text: "1"}}, nil)
	rest := diff(t, want, graph{"a": {Text: "2"}, "b": {Text: "1"}}, nil)
	more := diff(t, graph{"a": {Text: "2"}, "b": {Text: "2", Refs: []lbmodel.ID{id("a")}}, "c": {Text: "2"}, "d": {}}, graph{"a": {Text: "2"}, "b": {Text: "1"}}, nil)
	approved := Hash(full)
	var before Memory
	before.Policy("uid", v1alpha1.ApplyApprove, Approval{Hash: approved})(full, now)
	kept := before.Running("uid")
	if kept == nil || kept.Hash != approved || kept.Total != 3 || len(kept.Steps) != 3 {
		t.Fatalf("what is kept is %+v", kept)
	}
	cases := []struct {
		name, why string
		mode      v1alpha1.ApplyMode
		given     Approval
		plan      lbmodel.Plan
		want      string
	}{
		{"the rest", "it was agreed to", v1alpha1.ApplyApprove, Approval{approved, kept}, rest, "[Update b Create c]"},
		{"the rest and more", "nobody has seen the step that is new", v1alpha1.ApplyApprove, Approval{approved, kept}, more, "[]"},
		{"withdrawn", "what is kept approves nothing by itself", v1alpha1.ApplyApprove, Approval{"", kept}, rest, "[]"},
		{"another approval", "what is kept is of another plan", v1alpha1.ApplyApprove, Approval{Hash(more), kept}, rest, "[]"},
		{"too many steps to keep", "none is known", v1alpha1.ApplyApprove, Approval{approved, &v1alpha1.ApprovedPlan{Hash: approved, Total: 3}}, rest, "[]"},
		{"plan only", "it never runs", v1alpha1.ApplyPlanOnly, Approval{approved, kept}, rest, "[]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var m Memory
			if got := steps(m.Policy("uid", c.mode, c.given)(c.plan, now)); got != c.want {
				t.Errorf("%s, want %s: %s", got, c.want, c.why)
			}
		})
	}
	var after Memory
	after.Policy("uid", v1alpha1.ApplyApprove, Approval{approved, kept})(rest, now)
	if diff := cmp.Diff(kept, after.Running("uid")); diff != "" {
		t.Errorf("a restart changes what is kept (-before +after):\n%s", diff)
	}
}

// TestUsedUp: an approval that was carried out is not taken up again from a status
// that a cache has not seen change.
func TestUsedUp(t *testing.T) {
	want := graph{"a": {Text: "2"}, "b": {Text: "2"}}
	full, rest := diff(t, want, graph{"a": {Text: "1"}, "b": {Text: "1"}}, nil), diff(t, want, graph{"a": {Text: "2"}, "b": {Text: "1"}}, nil)
	none := diff(t, want, want, nil)
	ends := map[string]func(*Memory, Approval){
		"its last step was done": func(m *Memory, _ Approval) { m.Done("uid") },
		"nothing is left of it":  func(m *Memory, old Approval) { m.Policy("uid", v1alpha1.ApplyApprove, old)(none, now) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			var m Memory
			m.Policy("uid", v1alpha1.ApplyApprove, Approval{Hash: Hash(full)})(full, now)
			old := Approval{Hash(full), m.Running("uid")}
			end(&m, old)
			if got := m.Running("uid"); got != nil {
				t.Errorf("it still runs: %+v", got)
			}
			if got := steps(m.Policy("uid", v1alpha1.ApplyApprove, old)(rest, now)); got != "[]" {
				t.Errorf("a part of it may do %s", got)
			}
			if got := steps(m.Policy("uid", v1alpha1.ApplyApprove, old)(full, now)); got != "[Update a Update b]" {
				t.Errorf("the very same plan may do %s, want all of it", got)
			}
		})
	}
}

// TestKeptIsBounded: an object in a cluster must not grow with a plan.
func TestKeptIsBounded(t *testing.T) {
	for n, kept := range map[int]int{keptSteps: keptSteps, keptSteps + 1: 0} {
		want := graph{}
		for i := range n {
			want[fmt.Sprint("part-", i)] = part{}
		}
		var m Memory
		p := diff(t, want, graph{}, nil)
		m.Policy("uid", v1alpha1.ApplyApprove, Approval{Hash: Hash(p)})(p, now)
		if got := m.Running("uid"); int(got.Total) != n || len(got.Steps) != kept {
			t.Errorf("of %d steps, %d are counted and %d kept, want %d kept", n, got.Total, len(got.Steps), kept)
		}
	}
}
