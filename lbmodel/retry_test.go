package lbmodel

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestEveryCodeHasARule is the design's error table, row by row. A code without a
// row fails the test.
func TestEveryCodeHasARule(t *testing.T) {
	invalid := Effect{Condition: "Accepted", Status: "False", Reason: "Invalid", Part: "PartiallyInvalid"}
	unsupported := Effect{Condition: "Accepted", Status: "False", Reason: "UnsupportedValue", Part: "PartiallyInvalid"}
	unresolved := Effect{Condition: "ResolvedRefs", Status: "False", Reason: "Unresolved"}
	programmed := func(reason string) Effect {
		return Effect{Condition: "Programmed", Status: "False", Reason: reason}
	}
	unavailable := programmed("Pending")
	unavailable.Keep = KeepAWhile
	unchanged := Effect{Keep: KeepAlways}
	tests := []struct {
		code   Code
		why    string
		rule   RetryRule
		notice Notice
		timed  bool
		effect Effect
	}{
		{CodeOK, "nothing failed", RetryNever, NoticeNone, false, unchanged},
		{CodeInvalid, "only another object helps", RetryOnChange, NoticeNone, false, invalid},
		{CodeUnsupported, "only another object or class helps", RetryOnChange, NoticeNone, false, unsupported},
		{CodeUnresolved, "the reference's target must change", RetryOnReference, NoticeNone, false, unresolved},
		{CodeConflict, "somebody else may let go", RetryBackoff, NoticeNone, true, programmed("Conflict")},
		{CodeDenied, "a person must grant it", RetrySlowBackoff, NoticeEvent, true, programmed("Denied")},
		{CodeQuota, "a person must raise it", RetrySlowBackoff, NoticeEvent, true, programmed("NoResources")},
		{CodeThrottled, "the cloud says when; the user need not know", RetryWhenTold, NoticeNone, true, unchanged},
		{CodePending, "it is on its way", RetryShortPoll, NoticeNone, true, programmed("Pending")},
		{CodeUnavailable, "short outages do not touch status", RetryBackoff, NoticeNone, true, unavailable},
		{CodeNotFound, "what we knew is out of date", RetryReobserve, NoticeNone, true, unchanged},
		{CodeInternal, "our bug", RetryBackoff, NoticeMetric, true, programmed("Pending")},
		{CodeUnknown, "nobody mapped it", RetryBackoff, NoticeMetric, true, programmed("Pending")},
	}
	for i, test := range tests {
		t.Run(test.code.String(), func(t *testing.T) {
			if test.code != Code(i) {
				t.Fatalf("row %d is about %s: rows follow the codes", i, test.code)
			}
			next := RetryOf(test.code)
			if next.Rule != test.rule || next.Notice != test.notice || next.Timed() != test.timed {
				t.Errorf("got %+v, want %s\nwhy: %s", next, test.rule, test.why)
			}
			if next.First > next.Max || next.Timed() != (next.First > 0) {
				t.Errorf("delays %s to %s make no sense", next.First, next.Max)
			}
			if diff := cmp.Diff(test.effect, ConditionOf(test.code)); diff != "" {
				t.Errorf("-want +got:\n%s\nwhy: %s", diff, test.why)
			}
		})
	}
	if beyond := Code(len(tests)); beyond.String() != "Code(13)" {
		t.Errorf("%s has no row", beyond)
	}
}

func TestCodesNobodyKnowsAreUnknown(t *testing.T) {
	if diff := cmp.Diff(RetryOf(CodeUnknown), RetryOf(Code(200))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(ConditionOf(CodeUnknown), ConditionOf(Code(200))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRetryRulesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for rule := RetryNever; rule <= RetryReobserve; rule++ {
		seen[rule.String()] = true
	}
	if len(seen) != 8 || (RetryReobserve+1).String() != "RetryRule(8)" {
		t.Errorf("names: %v", seen)
	}
}

func TestDelay(t *testing.T) {
	backoff := NextTry{Rule: RetryBackoff, First: time.Second, Max: 10 * time.Second}
	slow := NextTry{Rule: RetrySlowBackoff, First: time.Minute, Max: 30 * time.Minute}
	tests := []struct {
		name, why string
		next      NextTry
		attempt   int
		asked     time.Duration
		delay     time.Duration
	}{
		{"first", "the first retry waits once", backoff, 1, 0, time.Second},
		{"third", "delays double", backoff, 3, 0, 4 * time.Second},
		{"bounded", "never more than Max", backoff, 5, 0, 10 * time.Second},
		{"many", "and never overflows", backoff, 1 << 40, 0, 10 * time.Second},
		{"none yet", "attempt 0 is taken as the first", backoff, 0, 0, time.Second},
		{"asked for more", "the cloud knows better", backoff, 1, time.Minute, time.Minute},
		{"asked for less", "but cannot make us hurry", backoff, 3, time.Second, 4 * time.Second},
		{"asked for more of a person", "it is known where to see that somebody helped", slow, 9, 3 * time.Minute, 3 * time.Minute},
		{"asked for less of a person", "nobody is that fast", slow, 9, time.Second, time.Minute},
		{"untimed", "time alone does not help", NextTry{Rule: RetryOnChange}, 3, time.Minute, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.next.Delay(test.attempt, test.asked); got != test.delay {
				t.Errorf("got %s, want %s\nwhy: %s", got, test.delay, test.why)
			}
		})
	}
}

func TestOutcomeErr(t *testing.T) {
	throttled := Errorf(CodeThrottled, "CreateRule", boxID("a"), "slow down")
	denied := errors.New("plainly no")
	outcome := Outcome{Failed: map[ID]error{boxID("b"): denied, boxID("a"): throttled}}
	err := outcome.Err()
	if CodeOf(err) != CodeThrottled || !errors.Is(err, denied) {
		t.Errorf("%v: want both errors, Throttled first", err)
	}
	if want := "CreateRule: Throttled Box.a: slow down\nplainly no"; err.Error() != want {
		t.Errorf("got %q, want %q: ordered by ID", err, want)
	}
	if outcome.Settled() || (Outcome{Blocked: []ID{boxID("c")}}).Settled() || !(Outcome{}).Settled() {
		t.Error("an outcome is settled when nothing failed and nothing was left untried")
	}
	if (Outcome{}).Err() != nil {
		t.Error("no failure is no error")
	}
}
