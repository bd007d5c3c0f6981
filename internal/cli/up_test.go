package cli

import (
	"strings"
	"testing"
	"time"

	"gatehouse.dev/internal/reconcile"
	"gatehouse.dev/lbmodel"
)

// TestPause: what never settles is tried for ever, and never in a hurry. After half
// an hour the pause used to overflow.
func TestPause(t *testing.T) {
	if pause(1) != time.Second || pause(3) != 4*time.Second {
		t.Errorf("the first pauses are %s and %s, want 1s and 4s", pause(1), pause(3))
	}
	for _, retry := range []int{7, 35, 64, 1 << 40} {
		if pause(retry) != time.Minute {
			t.Errorf("pause %d is %s, want a minute", retry, pause(retry))
		}
	}
}

// TestDue: renewals and ends of overlaps come when nothing in the files changes, and
// one that a pass did not do makes no haste.
func TestDue(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pass := func(waits ...time.Duration) reconcile.Pass {
		var held lbmodel.Plan
		for _, w := range waits {
			held.Later = append(held.Later, lbmodel.Wait{Until: now.Add(w), Reason: lbmodel.WaitRenewal})
		}
		return reconcile.Pass{Groups: []reconcile.Group{{Outcome: lbmodel.Outcome{Held: held}}}}
	}
	for _, c := range []struct {
		name, why string
		passes    []reconcile.Pass
		want      time.Duration // zero is never
	}{
		{name: "nothing is due", why: "a gateway outside of every mesh", passes: []reconcile.Pass{pass()}},
		{name: "the first counts", why: "the others come with its pass", passes: []reconcile.Pass{pass(20*time.Minute, 10*time.Minute)}, want: 10 * time.Minute},
		{name: "what others have stays", why: "a pass may be about some gateways only", passes: []reconcile.Pass{pass(10 * time.Minute), pass(20 * time.Minute)}, want: 10 * time.Minute},
		{name: "it is over", why: "the pass before could not do it", passes: []reconcile.Pass{pass(-time.Minute)}, want: leastPause},
		{name: "far away", why: "somebody may set the clock", passes: []reconcile.Pass{pass(100 * time.Hour)}, want: mostPause},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d due
			for _, p := range c.passes {
				d.passed(p)
			}
			if got, ok := d.wait(now); got != c.want || ok != (c.want > 0) {
				t.Errorf("got %s, %v, want %s: %s", got, ok, c.want, c.why)
			}
		})
	}
}

// TestWayOut: what a system says of a port is true and helps nobody.
func TestWayOut(t *testing.T) {
	for text, want := range map[string]string{
		"bind: address already in use":          "another port",
		"bind: permission denied":               "higher port",
		"bind: cannot assign requested address": "addressPool",
	} {
		if got := withWayOut(text); !strings.HasPrefix(got, text) || !strings.Contains(got, want) {
			t.Errorf("%q becomes %q, want it to tell of %s", text, got, want)
		}
	}
}

// TestWaitText: that something waits is said once.
func TestWaitText(t *testing.T) {
	id := lbmodel.ID{Kind: "Pool", Name: "cart"}
	for _, c := range []struct{ name, why, want string }{
		{"a probe's", "waits: no pod takes it", "Pool.cart waits: no pod takes it"},
		{"a policy's", "would be created, but is paused", "waits: Pool.cart would be created, but is paused"},
	} {
		if got := waitText(lbmodel.Wait{ID: id, Why: c.why}); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
