package cli

import (
	"strings"
	"testing"
	"time"
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
