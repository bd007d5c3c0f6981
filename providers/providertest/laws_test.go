package providertest_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"gatehouse.dev/providers/internal/memcloud"
	"gatehouse.dev/providers/providertest"
)

func TestLaws(t *testing.T) { providertest.Run(t, memcloud.Harness(memcloud.None)) }

// TestLawsOfPrivateEndpoints: whether gateways share endpoints is a provider's own
// affair.
func TestLawsOfPrivateEndpoints(t *testing.T) {
	for _, number := range []int{1, 3, 11} {
		law := providertest.Laws()[number-1]
		t.Run(law.Name, func(t *testing.T) { law.Check(t, memcloud.Private(memcloud.Harness(memcloud.None))) })
	}
}

// TestLawsFail sees each law fail for a provider that breaks it: a law that
// cannot fail protects nobody.
func TestLawsFail(t *testing.T) {
	tests := []struct {
		name string
		bug  memcloud.Bug
		law  int
		why  string
	}{
		{"reads defaults", memcloud.ReadsDefaults, 1, "every plan would have the same update again"},
		{"issues always", memcloud.IssuesAlways, 1, "every restart would re-key every gateway"},
		{"never alarms", memcloud.NeverAlarms, 1, "a certificate would end because nobody planned in time"},
		{"compiles by chance", memcloud.CompilesByChance, 2, "an approved plan would not be the one that is applied"},
		{"compiles by history", memcloud.CompilesByHistory, 3, "a restart would change gateways"},
		{"doubles after a lost reply", memcloud.DoublesAfterLostReply, 4, "the second object would be paid for by nobody's wish"},
		{"loses traffic", memcloud.LosesTraffic, 5, "requests between the two calls would be answered 404"},
		{"loses a place", memcloud.LosesPlace, 5, "requests for a backend that is not there yet would go to another one"},
		{"touches foreign fields", memcloud.TouchesForeign, 6, "somebody else's setting would be gone"},
		{"forgets a delete", memcloud.ForgetsDelete, 7, "the account would fill up"},
		{"overpromises", memcloud.Overpromises, 8, "status would say Accepted of what never works"},
		{"leaks a key", memcloud.LeaksKey, 9, "the key would be in every log"},
		{"ignores cancel", memcloud.IgnoresCancel, 10, "a process that is told to stop would hang"},
		{"forgets a mark", memcloud.ForgetsMark, 10, "every restart would begin the wait anew, and nothing would ever be deleted"},
		{"drops a root at once", memcloud.DropsAtOnce, 10, "backends that still show a certificate under it would be cut off"},
		{"forgets since when", memcloud.ForgetsDropped, 10, "every restart would begin the overlap anew, and no root would ever go"},
		{"rotates unheard", memcloud.RotatesUnheard, 10, "a root would stay until something else happens"},
		{"renewals wait", memcloud.RenewalIsStructure, 11, "a certificate would end while an approval is awaited"},
		{"the fast path differs", memcloud.FastPathDiffers, 11, "fast path and plan would undo each other"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			law := providertest.Laws()[tt.law-1]
			if !breaks(t, law, tt.bug) {
				t.Errorf("law %d, %s, holds although %s; %s", law.Number, law.Name, tt.bug, tt.why)
			}
		})
	}
}

// breaks runs a law without failing the test.
func breaks(t *testing.T, law providertest.Law, bug memcloud.Bug) bool {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		law.Check(r, memcloud.Harness(bug))
	}()
	<-done
	return r.Failed()
}

// recorder is a testing.TB whose failures are only noted.
type recorder struct {
	testing.TB
	failed atomic.Bool
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failed.Store(true)
	r.Logf("as it should be: "+format, args...)
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Error(args ...any) { r.Errorf("%s", fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }
func (r *recorder) Failed() bool      { return r.failed.Load() }
