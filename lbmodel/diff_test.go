package lbmodel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// box describes a resource in one line: "a v=1 needs=b,c slot=s Shared". Every
// word but the first is optional.
func box(text string) Resource {
	words := strings.Fields(text)
	spec, hold := &engineSpec{}, Own
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "v":
			spec.Value = value
		case "slot":
			spec.Port = value
		case "effect":
			spec.effect = value
		case "needs":
			for _, name := range strings.Split(value, ",") {
				spec.Refs = append(spec.Refs, boxID(name))
			}
		default:
			hold = map[string]Hold{"Shared": Shared, "Adopted": Adopted, "External": External}[key]
		}
	}
	return NewResource(boxID(words[0]), spec).With(hold)
}

func boxID(name string) ID { return ID{Kind: "Box", Name: name} }

// boxes is a graph of such lines.
func boxes(lines ...string) Graph {
	g := Graph{}
	for _, line := range lines {
		g[boxID(strings.Fields(line)[0])] = box(line)
	}
	return g
}

// told is a plan in lines that are easy to compare.
func told(p Plan) []string {
	var out []string
	for _, s := range p.Steps {
		line := fmt.Sprintf("%s %s", s.Verb, s.ID.Name)
		for _, a := range s.After {
			line += " after " + a.Name
		}
		out = append(out, line)
	}
	for _, w := range p.Later {
		out = append(out, fmt.Sprintf("%s: %s %s", w.Reason, w.ID.Name, w.Why))
	}
	return out
}

func TestDiffOrders(t *testing.T) {
	tests := []struct {
		name, why  string
		want, have Graph
		plan       []string
	}{
		{
			name: "equal", why: "the second plan is empty",
			want: boxes("a v=1", "b needs=a"), have: boxes("a v=1", "b needs=a"),
		},
		{
			name: "create", why: "a need is there before its users; an edge that others imply is not named",
			want: boxes("a needs=b,c", "b needs=c", "c"),
			plan: []string{"Create c", "Create b after c", "Create a after b"},
		},
		{
			name: "delete", why: "users go first",
			have: boxes("a needs=b,c", "b needs=c", "c"),
			plan: []string{"Delete a", "Delete b after a", "Delete c after b"},
		},
		{
			name: "delete what names itself", why: "nothing waits for itself to go",
			have: boxes("a needs=a"),
			plan: []string{"Delete a"},
		},
		{
			name: "ties", why: "creates and updates before deletes, then by ID, so that the new is there before the old goes",
			want: boxes("d", "b v=2", "c"), have: boxes("a", "b v=1"),
			plan: []string{"Update b", "Create c", "Create d", "Delete a"},
		},
		{
			name: "move", why: "a replaced need: new one first, users over, old one last",
			want: boxes("user needs=new", "new"), have: boxes("user needs=old", "old"),
			plan: []string{"Create new", "Update user after new", "Delete old after user"},
		},
		{
			name: "slot passes on", why: "two may not hold one slot, so the old goes first",
			want: boxes("new slot=80"), have: boxes("old slot=80"),
			plan: []string{"Delete old", "Create new after old"},
		},
		{
			name: "slot chain", why: "a slot can be freed by an update",
			want: boxes("a slot=3", "b slot=1"), have: boxes("a slot=1", "b slot=2"),
			plan: []string{"Update a", "Update b after a"},
		},
		{
			name: "slot kept", why: "an update that keeps its slot takes nothing",
			want: boxes("a slot=1 v=2"), have: boxes("a slot=1 v=1"),
			plan: []string{"Update a"},
		},
		{
			name: "shared", why: "shared resources are ordered among the others",
			want: boxes("a needs=t", "t Shared"), have: boxes("u Shared"),
			plan: []string{"Create t", "Create a after t", "Delete u"},
		},
		{
			name: "adopted", why: "only our fields of it are written; it is neither created nor deleted",
			want: boxes("a v=2 Adopted"), have: boxes("a v=1 External", "b Adopted"),
			plan: []string{"Update a"},
		},
		{
			name: "external", why: "it resolves needs and is never a step, whatever its digest",
			want: boxes("a needs=x,y", "x v=2 External"), have: boxes("x v=1 External", "y External", "z External"),
			plan: []string{"Create a"},
		},
		{
			name: "taken over", why: "a resource of ours that is now declared external is left alone",
			want: boxes("x v=2 External"), have: boxes("x v=1"),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan, err := Diff(test.want, nil, test.have)
			if err != nil {
				t.Fatalf("%v\nwhy: %s", err, test.why)
			}
			if diff := cmp.Diff(test.plan, told(plan)); diff != "" {
				t.Errorf("-want +got:\n%s\nwhy: %s", diff, test.why)
			}
		})
	}
}

func TestDiffWaits(t *testing.T) {
	tests := []struct {
		name, why  string
		want, have Graph
		plan       []string
	}{
		{
			name: "slot of a foreign object", why: "it is not ours to move; who depends on the step waits too, others do not",
			want: boxes("a slot=80", "b needs=a", "c"), have: boxes("x slot=80 External"),
			plan: []string{"Create c",
				"SlotHeld: a wants slot 80, which Box.x holds",
				"SlotHeld: b waits for Box.a, which wants slot 80, which Box.x holds"},
		},
		{
			name: "slot of a resource that stays", why: "an update that keeps the slot does not free it",
			want: boxes("a slot=80", "b slot=80 v=2"), have: boxes("b slot=80 v=1"),
			plan: []string{"Update b", "SlotHeld: a wants slot 80, which Box.b holds"},
		},
		{
			name: "one slot wanted twice", why: "the first ID gets it, so that one mistake costs one resource",
			want: boxes("a slot=80", "b slot=80"),
			plan: []string{"Create a", "SlotHeld: b wants slot 80, which Box.a wants too"},
		},
		{
			name: "slot that waits to be freed", why: "the holder's delete waits for a foreign user",
			want: boxes("new slot=80"), have: boxes("old slot=80", "x needs=old External"),
			plan: []string{
				"InUse: old is not wanted, but Box.x, which stays, uses it",
				"InUse: new waits for Box.old, which is not wanted, but Box.x, which stays, uses it"},
		},
		{
			name: "need that is nowhere", why: "the cloud would refuse it; a plan that says so is kinder",
			want: boxes("a needs=nowhere", "b"),
			plan: []string{"Create b", "Missing: a needs Box.nowhere, which is neither wanted nor there"},
		},
		{
			name: "external that is not there", why: "somebody else has to make it",
			want: boxes("a needs=x", "x External"),
			plan: []string{
				"Missing: x is not there, and it is not ours to create",
				"Missing: a waits for Box.x, which is not there, and it is not ours to create"},
		},
		{
			name: "adopted that is not there", why: "adopting never creates",
			want: boxes("a Adopted"),
			plan: []string{"Missing: a is to be adopted, but it is not there"},
		},
		{
			name: "foreign object of our name", why: "it may not be overwritten",
			want: boxes("a v=1", "b needs=a"), have: boxes("a v=2 External"),
			plan: []string{
				"Foreign: a exists already and belongs to somebody else",
				"Foreign: b waits for Box.a, which exists already and belongs to somebody else"},
		},
		{
			name: "need of something unwanted", why: "a partial graph must not delete what it needs",
			want: boxes("a needs=n"), have: boxes("n"),
			plan: []string{"Create a", "InUse: n is not wanted, but Box.a still needs it"},
		},
		{
			name: "user that cannot move", why: "what a held user leaves must stay",
			want: boxes("user needs=new", "new slot=80"), have: boxes("user needs=old", "old", "x slot=80 External"),
			plan: []string{
				"SlotHeld: new wants slot 80, which Box.x holds",
				"SlotHeld: user waits for Box.new, which wants slot 80, which Box.x holds",
				"SlotHeld: old waits for Box.new, which wants slot 80, which Box.x holds"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan, err := Diff(test.want, nil, test.have)
			if err != nil {
				t.Fatalf("%v\nwhy: %s", err, test.why)
			}
			if diff := cmp.Diff(test.plan, told(plan)); diff != "" {
				t.Errorf("-want +got:\n%s\nwhy: %s", diff, test.why)
			}
		})
	}
}

// A circle costs its members and their dependents, and is named step by step.
func TestDiffNamesCircles(t *testing.T) {
	tests := []struct {
		name, why  string
		want, have Graph
		circle     string
		plan       []string
	}{
		{
			name: "needs", why: "such resources can never be made",
			want:   boxes("a needs=b", "b needs=a", "c needs=a", "d"),
			circle: "Create Box.a waits for Create Box.b waits for Create Box.a",
			plan:   []string{"Create d", "NoSafeOrder: a", "NoSafeOrder: b", "NoSafeOrder: c"},
		},
		{
			name: "behind a circle", why: "only the circle is spelled, though more waits for it",
			want:   boxes("a needs=b", "b needs=c", "c needs=b"),
			circle: "Create Box.b waits for Create Box.c waits for Create Box.b",
			plan:   []string{"NoSafeOrder: a", "NoSafeOrder: b", "NoSafeOrder: c"},
		},
		{
			name: "itself", why: "the smallest circle",
			want:   boxes("a needs=a"),
			circle: "Create Box.a waits for Create Box.a",
			plan:   []string{"NoSafeOrder: a"},
		},
		{
			name: "swapped slots", why: "Place must choose a free one: two steps cannot exchange what only one may hold",
			want: boxes("a slot=1", "b slot=2"), have: boxes("a slot=2", "b slot=1"),
			circle: "Update Box.a waits for Update Box.b waits for Update Box.a",
			plan:   []string{"NoSafeOrder: a", "NoSafeOrder: b"},
		},
		{
			name: "child without its parent's name", why: "see TestWithoutParentNamesSomePairsHaveNoOrder",
			want: boxes("new slot=80", "child needs=new"), have: boxes("old slot=80", "child needs=old"),
			circle: "Update Box.child waits for Create Box.new waits for Delete Box.old waits for Update Box.child",
			plan:   []string{"NoSafeOrder: child", "NoSafeOrder: new", "NoSafeOrder: old"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan, err := Diff(test.want, nil, test.have)
			if CodeOf(err) != CodeInternal || !strings.HasSuffix(err.Error(), "no safe order: "+test.circle) {
				t.Errorf("got %v, want the circle %s\nwhy: %s", err, test.circle, test.why)
			}
			var got []string
			for _, line := range told(plan) {
				line, _, _ = strings.Cut(line, " has no safe order: "+test.circle)
				got = append(got, line)
			}
			if diff := cmp.Diff(test.plan, got); diff != "" {
				t.Errorf("-want +got:\n%s\nwhy: %s", diff, test.why)
			}
		})
	}
}

func TestDiffTellsDriftFromDesire(t *testing.T) {
	tests := []struct {
		name, why        string
		want, base, have Graph
		cause            Cause
		says             string
	}{
		{"new", "base does not have it", boxes("a"), Graph{}, nil, Desire, "is new"},
		{"removed", "it was there and still should be", boxes("a"), boxes("a"), nil, Drift, "was removed outside of Gatehouse"},
		{"changed wish", "base differs from want", boxes("a v=2"), boxes("a v=1"), boxes("a v=1"), Desire, `value: "1" -> "2"`},
		{"changed cloud", "base equals want", boxes("a v=1"), boxes("a v=1"), boxes("a v=9"), Drift,
			`was changed outside of Gatehouse, puts back value: "9" -> "1"`},
		{"both changed", "the wish wins", boxes("a v=2"), boxes("a v=1"), boxes("a v=9"), Desire, `value: "9" -> "2"`},
		{"dropped", "base has it", nil, boxes("a"), boxes("a"), Desire, "is no longer wanted"},
		{"left over", "nobody wished for it then or now", nil, Graph{}, boxes("a"), Drift, "was added outside of Gatehouse"},
		{"no base", "after a restart everything is a wish", boxes("a v=1"), nil, boxes("a v=9"), Desire, `value: "9" -> "1"`},
		{"no base, dropped", "likewise", nil, nil, boxes("a"), Desire, "is no longer wanted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan, err := Diff(test.want, test.base, test.have)
			if err != nil || len(plan.Steps) != 1 {
				t.Fatalf("%d steps, %v", len(plan.Steps), err)
			}
			if s := plan.Steps[0]; s.Cause != test.cause || s.Why != test.says {
				t.Errorf("got %s %q, want %s %q\nwhy: %s", s.Cause, s.Why, test.cause, test.says, test.why)
			}
		})
	}
}

// Impact is asked of the spec that knows: the one that is deleted, else the
// wanted one.
func TestDiffAsksForImpact(t *testing.T) {
	want := boxes("kept v=2 effect=the-address-changes", "new effect=never-said")
	have := boxes("kept v=1", "old effect=the-address-goes")
	plan, err := Diff(want, nil, have)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range plan.Steps {
		got[s.ID.Name] = s.Impact
	}
	wantImpact := map[string]string{"kept": "the-address-changes", "new": "", "old": "the-address-goes"}
	if diff := cmp.Diff(wantImpact, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
