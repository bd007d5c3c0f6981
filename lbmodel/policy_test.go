package lbmodel

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var policyNow = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

// policyPlan: "lb" changes with an impact, "rule" needs it and moves from "old"
// to "new"; "out" is simply dropped; "port" is passed from one to another.
func policyPlan(t *testing.T) Plan {
	t.Helper()
	want := boxes("lb v=2 effect=it-restarts", "rule needs=lb,new", "new", "taker slot=80")
	have := boxes("lb v=1", "rule needs=lb,old", "old", "out", "holder slot=80", "child needs=holder")
	base := boxes("lb v=1", "rule needs=lb,old", "old", "out", "holder slot=80", "child needs=holder", "new")
	plan, err := Diff(want, base, have)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestPolicies(t *testing.T) {
	tests := []struct {
		name, why string
		policy    Policy
		plan      []string
	}{
		{
			name: "none", why: "this is what the others choose from",
			policy: Compose(),
			plan: []string{"Update lb", "Create new", "Update rule after lb after new", "Delete child", "Delete holder after child",
				"Create taker after holder", "Delete old after rule", "Delete out"},
		},
		{
			name: "hold disruptive", why: "the user of a held step waits, and so does what it would leave, and what only it would use",
			policy: HoldDisruptive,
			plan: []string{"Delete child", "Delete holder after child", "Create taker after holder", "Delete out",
				`ApprovalRequired: lb would be updated (value: "1" -> "2"), which needs agreement: it-restarts`,
				`ApprovalRequired: new is needed only with Box.lb, which would be updated (value: "1" -> "2"), which needs agreement: it-restarts`,
				`ApprovalRequired: rule waits for Box.lb, which would be updated (value: "1" -> "2"), which needs agreement: it-restarts`,
				`ApprovalRequired: old waits for Box.lb, which would be updated (value: "1" -> "2"), which needs agreement: it-restarts`},
		},
		{
			name: "no delete", why: "what takes a slot that is not freed waits too",
			policy: NoDelete,
			plan: []string{"Update lb", "Create new", "Update rule after lb after new",
				"Retained: child is no longer wanted, but nothing is deleted here",
				"Retained: holder is no longer wanted, but nothing is deleted here",
				"Retained: taker waits for Box.holder, which is no longer wanted, but nothing is deleted here",
				"Retained: old is no longer wanted, but nothing is deleted here",
				"Retained: out is no longer wanted, but nothing is deleted here"},
		},
		{
			name: "linger", why: "a delete that makes room does not linger: the old would keep the new away",
			policy: Linger(time.Hour),
			plan: []string{"Update lb", "Create new", "Update rule after lb after new", "Delete child", "Delete holder after child",
				"Create taker after holder",
				"Lingering: old is no longer wanted and is kept for 1h0m0s",
				"Lingering: out is no longer wanted and is kept for 1h0m0s"},
		},
		{
			name: "linger of another kind", why: "only the named kinds linger",
			policy: Linger(time.Hour, "Address"),
			plan: []string{"Update lb", "Create new", "Update rule after lb after new", "Delete child", "Delete holder after child",
				"Create taker after holder", "Delete old after rule", "Delete out"},
		},
		{
			name: "report drift", why: "what somebody else changed stays; our own wishes go on where they can",
			policy: ReportDrift,
			plan: []string{"Update lb", "Delete child", "Delete holder after child", "Create taker after holder", "Delete out",
				"ReportOnly: new would be created (was removed outside of Gatehouse), but changes are only reported here",
				"ReportOnly: rule waits for Box.new, which would be created (was removed outside of Gatehouse), but changes are only reported here",
				"ReportOnly: old waits for Box.new, which would be created (was removed outside of Gatehouse), but changes are only reported here"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := told(test.policy(policyPlan(t), policyNow))
			if diff := cmp.Diff(test.plan, got); diff != "" {
				t.Errorf("-want +got:\n%s\nwhy: %s", diff, test.why)
			}
		})
	}
}

// Both keep everything back and say so step by step; they differ in the reason.
func TestPoliciesThatStopAll(t *testing.T) {
	for reason, policy := range map[WaitReason]Policy{WaitReported: ReportOnly, WaitPaused: Paused} {
		before := policyPlan(t)
		after := policy(before, policyNow)
		if !after.Empty() || len(after.Later) != len(before.Steps) {
			t.Errorf("%s: %d steps and %d waits are left", reason, len(after.Steps), len(after.Later))
		}
		for i, w := range after.Later {
			if w.Reason != reason || w.ID != before.Steps[i].ID {
				t.Errorf("wait %d: %+v: want %s of %s", i, w, reason, before.Steps[i].ID)
			}
		}
	}
}

func TestLingerCountsFrom(t *testing.T) {
	at := func(minutes int) time.Time { return policyNow.Add(time.Duration(minutes) * time.Minute) }
	tests := []struct {
		name, why string
		facts     Facts
		until     time.Time // zero: it is deleted now
	}{
		{"a record", "the time runs from when it was dropped", Facts{DroppedAt: at(-20)}, at(40)},
		{"an old record", "the time is over", Facts{DroppedAt: at(-61)}, time.Time{}},
		{"exactly over", "the end is not part of the wait", Facts{DroppedAt: at(-60)}, time.Time{}},
		{"no record", "the timer starts anew, never shorter", Facts{Since: at(-600)}, at(60)},
		{"a record from before it was wanted again", "Since is later, so the record is stale",
			Facts{DroppedAt: at(-600), Since: at(-10)}, at(50)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := box("a")
			r.Facts = test.facts
			plan, err := Diff(nil, nil, Graph{r.ID: r})
			if err != nil {
				t.Fatal(err)
			}
			got := Linger(time.Hour)(plan, policyNow)
			if test.until.IsZero() {
				if len(got.Steps) != 1 {
					t.Fatalf("it still waits: %+v\nwhy: %s", got.Later, test.why)
				}
				return
			}
			if len(got.Later) != 1 || !got.Later[0].Until.Equal(test.until) {
				t.Errorf("got %+v, want a wait until %s\nwhy: %s", got.Later, test.until, test.why)
			}
		})
	}
}

// Who waits for several things waits for the last of them; no end is the last.
func TestWaitsInherit(t *testing.T) {
	a, b, c := boxID("a"), boxID("b"), boxID("c")
	plan := Plan{Steps: []Step{{ID: a}, {ID: b}, {ID: c, After: []ID{a, b}}}}
	soon, late := policyNow.Add(time.Minute), policyNow.Add(time.Hour)
	tests := []struct {
		name, why      string
		untilA, untilB time.Time
		behind         ID
	}{
		{"later wins", "c can go when both are done", soon, late, b},
		{"in any order", "likewise", late, soon, a},
		{"no end wins", "it is open when that is", late, time.Time{}, b},
		{"two without end", "the first ID is told", time.Time{}, time.Time{}, a},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			roots := map[ID]Wait{a: {Until: test.untilA, Why: "x"}, b: {Until: test.untilB, Why: "x"}}
			got := KeepBack(plan, roots)
			want := Wait{ID: c, Until: roots[test.behind].Until, Why: fmt.Sprintf("waits for %s, which x", test.behind)}
			if diff := cmp.Diff(want, got.Later[2]); diff != "" {
				t.Errorf("-want +got:\n%s\nwhy: %s", diff, test.why)
			}
		})
	}
}

func TestComposeKeepsTheFirstReason(t *testing.T) {
	before := policyPlan(t)
	after := Compose(NoDelete, Paused)(before, policyNow)
	held := HeldBack(before, after)
	if !reflect.DeepEqual(held.Steps, before.Steps) || len(held.Later) != len(before.Steps) {
		t.Errorf("held back %d of %d steps, %d waits", len(held.Steps), len(before.Steps), len(held.Later))
	}
	counts := map[WaitReason]int{}
	for _, w := range held.Later {
		counts[w.Reason]++
	}
	if diff := cmp.Diff(map[WaitReason]int{WaitRetained: 5, WaitPaused: 3}, counts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPoliciesStaySafe runs what any policy leaves of any plan, in any order that
// After allows, on a cloud that refuses mistakes. Afterwards the whole plan still
// leads to the end.
func TestPoliciesStaySafe(t *testing.T) {
	moved := 0
	for n := range pairCount / 3 { // eight policies each
		p, err := newPair(n, carriesParent)
		if err != nil {
			t.Fatalf("seed %d pair %d: %v", engineSeed, n, err)
		}
		for _, id := range slices.SortedFunc(maps.Keys(p.cloud.objects), ID.Compare) {
			r := p.cloud.objects[id]
			r.Facts.DroppedAt = policyNow.Add(-time.Duration(p.rnd.IntN(120)) * time.Minute)
			p.cloud.objects[id] = r
		}
		before, err := Diff(p.want, p.base, p.cloud.objects)
		if err != nil {
			t.Fatalf("seed %d pair %d: %v", engineSeed, n, err)
		}
		for _, policy := range somePolicies(p.rnd) {
			after := policy.Policy(before, policyNow)
			moved += len(after.Later) - len(before.Later)
			if err := p.policySafe(before, after); err != nil {
				t.Fatalf("seed %d pair %d, %s: %v", engineSeed, n, policy.name, err)
			}
		}
	}
	t.Logf("%d steps moved to later", moved)
	if moved < 5*pairCount {
		t.Errorf("only %d steps were kept back: the policies were hardly tested", moved)
	}
}

type namedPolicy struct {
	name string
	Policy
}

func somePolicies(rnd *rand.Rand) []namedPolicy {
	atRandom := func(p Plan, _ time.Time) Plan {
		return keepBackWhere(p, func(Step) bool { return rnd.IntN(5) == 0 },
			func(Step) Wait { return Wait{Reason: WaitPaused, Why: "is chosen at random"} })
	}
	return []namedPolicy{
		{"HoldDisruptive", HoldDisruptive}, {"NoDelete", NoDelete}, {"Linger", Linger(time.Hour)},
		{"ReportDrift", ReportDrift}, {"Paused", Paused}, {"ReportOnly", ReportOnly}, {"at random", atRandom},
		{"composed", Compose(HoldDisruptive, Linger(30*time.Minute), atRandom)},
	}
}

func (p enginePair) policySafe(before, after Plan) error {
	held := HeldBack(before, after)
	if len(held.Steps)+len(after.Steps) != len(before.Steps) || len(held.Later) != len(held.Steps) {
		return fmt.Errorf("of %d steps %d are left and %d wait", len(before.Steps), len(after.Steps), len(held.Later))
	}
	rest := before.Steps
	for _, s := range after.Steps { // unchanged, and in the same order
		for len(rest) > 0 && !reflect.DeepEqual(rest[0], s) {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return fmt.Errorf("%s was invented, changed or moved", s.ID)
		}
	}
	if err := wellFormed(after); err != nil {
		return err
	}
	cloud := p.cloud.clone()
	if err := runPlan(cloud, p.want, anyOrder(p.rnd, after.Steps), 0, noFault); err != nil {
		return err
	}
	all, err := Diff(p.want, p.base, cloud.objects)
	if err != nil {
		return fmt.Errorf("the rest has no safe order: %w", err)
	}
	if err := runPlan(cloud, p.want, all.Steps, 0, noFault); err != nil {
		return fmt.Errorf("the rest: %w", err)
	}
	return p.settled(cloud)
}
