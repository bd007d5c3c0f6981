package gcpapi_test

import (
	"errors"
	"io"
	"testing"
	"time"

	discovery "google.golang.org/api/compute/v1"

	"gatehouse.dev/fake/gcpapi"
)

// Each kind of fault does what it says, and has no other effect.
func TestFaults(t *testing.T) {
	insert := func(w *world) (*discovery.Operation, error) {
		return w.api.HealthChecks.Insert(project, tcpCheck("a")).Do()
	}
	for _, c := range []struct {
		name   string
		fault  gcpapi.Fault
		reason string // of the call; "cut" for a connection that is cut
		made   bool
		why    string
	}{
		{"unavailable", gcpapi.Fault{Kind: gcpapi.Refuse}, "backendError", false, "503, no effect"},
		{"refused in words", gcpapi.Fault{Kind: gcpapi.Refuse, Status: 403, Reason: "forbidden", Message: "no"}, "forbidden", false, "as told"},
		{"throttled", gcpapi.Fault{Kind: gcpapi.Throttle}, "rateLimitExceeded", false, "403, no effect"},
		{"cut before", gcpapi.Fault{Kind: gcpapi.CutBefore}, "cut", false, "no effect"},
		{"cut after", gcpapi.Fault{Kind: gcpapi.CutAfter}, "cut", true, "takes effect"},
		{"slow", gcpapi.Fault{Kind: gcpapi.Slow, Delay: time.Millisecond}, "", true, "as it should be"},
		{"operation fails", gcpapi.Fault{Kind: gcpapi.Fail, Status: 503, Reason: "backendError", Message: "later"}, "", false, "accepted, and no effect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, gcpapi.Config{})
			c.fault.Method, c.fault.Times = "insert", 1
			w.SetFaults(c.fault)
			op, err := insert(w)
			reason, _ := reasonOf(err)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				reason = "cut"
			}
			if reason != c.reason {
				t.Errorf("%v, want %q: %s", err, c.reason, c.why)
			}
			if c.fault.Kind == gcpapi.Fail && (op.Error == nil || op.Error.Errors[0].Code != "BACKEND_ERROR" || op.HttpErrorStatusCode != 503) {
				t.Errorf("operation %+v", op)
			}
			if _, err := w.api.HealthChecks.Get(project, "a").Do(); (err == nil) != c.made {
				t.Errorf("made: %v, want %t: %s", err, c.made, c.why)
			}
			if got := w.Calls()[0]; got.Fault != c.fault.Kind {
				t.Errorf("the log says %q", got.Fault)
			}
			if again, err := insert(w); !c.made && (err != nil || again.Error != nil) {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// What was just made may stay unready for a while after its operation, and a list may
// miss the last change.
func TestNotReadyAndStale(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.SetFaults(gcpapi.Fault{Method: "compute.healthChecks.insert", Kind: gcpapi.NotReady, Window: time.Minute}, gcpapi.Fault{Method: "list", Kind: gcpapi.Stale, Times: 1})
	check := w.healthCheck("a")
	using := w.api.BackendServices.Insert(project, &discovery.BackendService{Name: "web", LoadBalancingScheme: "EXTERNAL_MANAGED", HealthChecks: []string{check}})
	if reason, _ := refused(w, using.Do); reason != "resourceNotReady" {
		t.Errorf("used at once: %q", reason)
	}
	w.clock.Advance(time.Minute)
	w.done(using.Do)
	w.healthCheck("b")
	list := w.api.HealthChecks.List(project)
	if n := len(do(w, list.Do).Items); n != 1 {
		t.Errorf("a stale list has %d items, want 1", n)
	}
	if n := len(do(w, list.Do).Items); n != 2 {
		t.Errorf("the next list has %d items, want 2", n)
	}
}

// Faults can be aimed: at a target, at a caller, at the third call.
func TestFaultsAimed(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.SetFaults(gcpapi.Fault{Method: "get", Target: "healthChecks/b", Kind: gcpapi.Refuse, Skip: 1, Times: 1})
	w.healthCheck("a")
	w.healthCheck("b")
	var got []bool
	for _, name := range []string{"a", "b", "b", "a", "b"} {
		_, err := w.api.HealthChecks.Get(project, name).Do()
		got = append(got, err == nil)
	}
	if want := []bool{true, true, false, true, true}; !equal(got, want) {
		t.Errorf("calls went %v, want %v", got, want)
	}
	w.SetFaults(gcpapi.Fault{Caller: "other/1", Kind: gcpapi.Refuse})
	if _, err := w.api.HealthChecks.Get(project, "a").Do(); err != nil {
		t.Errorf("a fault of another caller: %v", err)
	}
	w.api.UserAgent = "other/1"
	if _, err := w.api.HealthChecks.Get(project, "a").Do(); err == nil {
		t.Error("the caller that was meant was not spoilt")
	}
}

func equal(a, b []bool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
