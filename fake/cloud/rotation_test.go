package cloud

import (
	"strings"
	"testing"
)

// TestRotationIsSafe walks through every state that a rotation can come to, however
// long it takes, with the real Compile, Place, Rotate and Diff. Why: what must never
// happen in a rotation happens in the one order that nobody thought of.
func TestRotationIsSafe(t *testing.T) {
	total := 0
	for _, sc := range scripts() {
		for _, b := range budgets() {
			t.Run(sc.name+"/"+b.name, func(t *testing.T) {
				states, broken := check(t, sc, b, faultless)
				if broken != "" {
					t.Error(broken)
				}
				t.Logf("%d states", states)
				total += states
			})
		}
	}
	t.Logf("%d states in all", total)
	if total < 10_000 {
		t.Errorf("%d states are too few: the world stands still", total)
	}
}

// TestRotationCheckerFinds sees the checker find each mistake: one that finds
// nothing protects nobody.
func TestRotationCheckerFinds(t *testing.T) {
	for _, c := range []struct {
		fault  seeded
		script string
		finds  string
		why    string
	}{
		{dropsAtOnce, "in haste", "its root is gone", "12 minutes without a backend (linkerd2 #4287)"},
		{countsFromLoss, "in haste", "its root is gone", "a restored backup would end every overlap"},
		{leafFirst, "one for another", "root was not brought yet", "case C45: a failed upload of the roots, and the certificate is switched all the same"},
		{forgetsRecord, "Istio, plugged-in CA", "hours after it was dropped", "every look would begin the overlap anew"},
		{givesBlindly, "Linkerd, issuer before the second pod", "does not accept the client certificate", "pods keep the roots of when they were started (linkerd2 #13613)"},
		{waitsForDue, "SPIRE", "does not accept the client certificate", "an authority that is revoked is refused long before the certificate is due"},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			if found := first(t, c.fault, c.script, c.finds); found == "" {
				t.Fatalf("%s, and the checker does not find that %q, although: %s", c.fault, c.finds, c.why)
			} else {
				t.Log(found)
			}
		})
	}
}

// first is the first walk through a script in which a mistake leads to that.
func first(t testing.TB, fault seeded, name, finds string) string {
	t.Helper()
	for _, sc := range scripts() {
		for _, b := range budgets() {
			if sc.name != name {
				continue
			}
			if _, broken := check(t, sc, b, fault); strings.Contains(broken, finds) {
				return sc.name + "/" + b.name + ": " + broken
			}
		}
	}
	return ""
}
