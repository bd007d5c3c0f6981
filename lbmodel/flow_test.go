package lbmodel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// member is an engineSpec whose value flows: it may grow, and never shrink.
type member struct{ engineSpec }

func (m *member) Flows(have Spec) bool { return len(m.Value) >= len(have.(*member).Value) }
func (m *member) Structure() Spec {
	out := *m
	out.Value = KnownAfterApply
	return &out
}

// members turns the boxes of these names into members.
func members(g Graph, names ...string) Graph {
	for _, name := range names {
		id := boxID(name)
		g[id] = NewResource(id, &member{*g[id].Spec.(*engineSpec)}).With(g[id].Hold)
	}
	return g
}

func TestHoldStructure(t *testing.T) {
	tests := []struct {
		name, why  string
		want, have Graph
		plan       []string
	}{
		{
			name: "what flows, flows", why: "endpoints of a pool that is there never wait for a person; a new pool does",
			want: members(boxes("group v=22", "fresh v=1", "rule v=2 needs=group"), "group", "fresh"),
			have: members(boxes("group v=1", "rule v=1 needs=group"), "group"),
			plan: []string{"Update group",
				"ApprovalRequired: fresh would be created (is new), and waits for approval",
				`ApprovalRequired: rule would be updated (value: "1" -> "2"), and waits for approval`},
		},
		{
			name: "what takes away is structure", why: "a root that goes takes trust away, and that is somebody's decision",
			want: members(boxes("group v=1"), "group"), have: members(boxes("group v=22"), "group"),
			plan: []string{`ApprovalRequired: group would be updated (value: "22" -> "1"), and waits for approval`},
		},
		{
			name: "a delete is structure", why: "also of something that flows",
			have: members(boxes("group v=1"), "group"),
			plan: []string{"ApprovalRequired: group would be deleted (is no longer wanted), and waits for approval"},
		},
		{
			name: "an impact is structure", why: "what a user must agree to never slips through",
			want: members(boxes("group v=2 effect=it-restarts"), "group"), have: members(boxes("group v=1"), "group"),
			plan: []string{`ApprovalRequired: group would be updated (value: "1" -> "2"), and waits for approval`},
		},
		{
			name: "another need is structure", why: "what it needs may wait, so it could not be done alone",
			want: members(boxes("group v=2 needs=net", "net"), "group"), have: members(boxes("group v=1"), "group"),
			plan: []string{"ApprovalRequired: net would be created (is new), and waits for approval",
				`ApprovalRequired: group would be updated (+ refs: [{"kind":"Box","name":"net"}]; value: "1" -> "2"), and waits for approval`},
		},
		{
			name: "another slot is structure", why: "it takes a place from somebody",
			want: members(boxes("group v=1 slot=2"), "group"), have: members(boxes("group v=1 slot=1"), "group"),
			plan: []string{`ApprovalRequired: group would be updated (port: "1" -> "2"), and waits for approval`},
		},
		{
			name: "a need that changes otherwise is no reason to wait", why: "it is there, and the endpoints go to it as the fast path brings them",
			want: members(boxes("group v=2 needs=net", "net v=2"), "group"), have: members(boxes("group v=1 needs=net", "net v=1"), "group"),
			plan: []string{"Update group", `ApprovalRequired: net would be updated (value: "1" -> "2"), and waits for approval`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan, err := Diff(test.want, nil, test.have)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.plan, told(HoldStructure(plan, policyNow))); diff != "" {
				t.Errorf("-want +got:\n%s\nwhy: %s", diff, test.why)
			}
		})
	}
}

// PlanOnly differs in its reason: nobody can approve.
func TestReportStructure(t *testing.T) {
	plan, err := Diff(members(boxes("group v=22", "new"), "group"), nil, members(boxes("group v=1"), "group"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Update group", "ReportOnly: new would be created (is new), but changes are only reported here"}
	if diff := cmp.Diff(want, told(ReportStructure(plan, policyNow))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What a person approves does not change when what flows does, in neither of the
// two forms that a step compares.
func TestStepStructure(t *testing.T) {
	step := func(have, want string) Step {
		return Step{Verb: Update, ID: boxID("a"), Want: &member{engineSpec{Value: want, Port: "2"}},
			Have: NewResource(boxID("a"), &member{engineSpec{Value: have, Port: "1"}})}.Structure()
	}
	one, two := Plan{Steps: []Step{step("x", "y")}}, Plan{Steps: []Step{step("xx", "yy")}}
	if diff := cmp.Diff(one.Document(), two.Document()); diff != "" {
		t.Errorf("the structure depends on what flows:\n%s", diff)
	}
	if got := one.Steps[0].Want.(*member).Port; got != "2" {
		t.Errorf("the structure lost a field: %q", got)
	}
}
