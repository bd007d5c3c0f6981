package gcpapi_test

import (
	"testing"
	"time"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	discovery "google.golang.org/api/compute/v1"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/store"
)

// slow are operations of ten seconds.
func slow() store.Times {
	return store.Times{Operations: map[string]time.Duration{"": 10 * time.Second}}
}

func tcpCheck(name string) *discovery.HealthCheck {
	return &discovery.HealthCheck{Name: name, Type: "TCP", TcpHealthCheck: &discovery.TCPHealthCheck{Port: 80}}
}

// An operation runs as long as it is said to, and what it does is seen, and can be used,
// when it has ended.
func TestOperationTakesTime(t *testing.T) {
	w := newWorld(t, gcpapi.Config{Times: slow()})
	op := do(w, w.api.HealthChecks.Insert(project, tcpCheck("a")).Do)
	if op.Status != "RUNNING" || op.OperationType != "insert" || op.TargetLink != global("healthChecks", "a") || op.User == "" {
		t.Errorf("operation %+v", op)
	}
	if reason, _ := refused(w, w.api.HealthChecks.Get(project, "a").Do); reason != "notFound" {
		t.Errorf("it is seen at once: %q", reason)
	}
	if reason, _ := refused(w, w.api.HealthChecks.Insert(project, tcpCheck("a")).Do); reason != "alreadyExists" {
		t.Errorf("made a second time: %q", reason)
	}
	if reason, message := refused(w, w.api.HealthChecks.Delete(project, "a").Do); reason != "resourceNotReady" || message != "The resource 'projects/test-project/global/healthChecks/a' is not ready" {
		t.Errorf("deleted while it is made: %s %s", reason, message)
	}
	using := &discovery.BackendService{Name: "web", LoadBalancingScheme: "EXTERNAL_MANAGED", HealthChecks: []string{"global/healthChecks/a"}}
	if reason, _ := refused(w, w.api.BackendServices.Insert(project, using).Do); reason != "resourceNotReady" {
		t.Errorf("used while it is made: %q", reason)
	}
	w.clock.Advance(10 * time.Second)
	if op = do(w, w.api.GlobalOperations.Get(project, op.Name).Do); op.Status != "DONE" || op.EndTime == "" || op.Progress != 100 {
		t.Errorf("after its time: %+v", op)
	}
	do(w, w.api.HealthChecks.Get(project, "a").Do)
	do(w, w.api.BackendServices.Insert(project, using).Do)
}

// wait answers when the operation has ended, and after two minutes at the latest.
func TestWait(t *testing.T) {
	times := slow()
	times.Operations["urlMaps"] = time.Hour
	w := newWorld(t, gcpapi.Config{Times: times})
	operations := client(w, compute.NewGlobalOperationsRESTClient)
	wait := func(name string) *computepb.Operation {
		op, err := operations.Wait(t.Context(), &computepb.WaitGlobalOperationRequest{Project: project, Operation: name})
		if err != nil {
			t.Error(err)
		}
		return op
	}
	go w.Drive(t.Context(), w.clock, time.Millisecond)
	op := do(w, w.api.HealthChecks.Insert(project, tcpCheck("a")).Do)
	if got := wait(op.Name); got.GetStatus() != computepb.Operation_DONE || w.clock.Now() != start.Add(10*time.Second) {
		t.Errorf("status %s at %s", got.GetStatus(), w.clock.Now())
	}
	backend := do(w, w.api.BackendServices.Insert(project, &discovery.BackendService{Name: "web", LoadBalancingScheme: "EXTERNAL_MANAGED"}).Do)
	wait(backend.Name)
	op = do(w, w.api.UrlMaps.Insert(project, &discovery.UrlMap{Name: "shop", DefaultService: global("backendServices", "web")}).Do)
	before := w.clock.Now()
	if got := wait(op.Name); got.GetStatus() != computepb.Operation_RUNNING || w.clock.Now() != before.Add(2*time.Minute) {
		t.Errorf("status %s after %s", got.GetStatus(), w.clock.Now().Sub(before))
	}
	if n := w.Running(); n != 1 {
		t.Errorf("%d operations run, want 1", n)
	}
}

// Two calls with one requestId are one: also when the first one's reply was lost, and
// also for a delete of what is gone by now.
func TestRequestID(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	const id = "8e5b8a46-5e0a-4d5f-9d53-bb7a5a8a6d01"
	w.SetFaults(gcpapi.Fault{Method: "insert", Times: 1, Kind: gcpapi.CutAfter})
	insert := w.api.HealthChecks.Insert(project, tcpCheck("a")).RequestId(id)
	if _, err := insert.Do(); err == nil {
		t.Fatal("the reply was not lost")
	}
	op := w.done(insert.Do)
	if op.ClientOperationId != id {
		t.Errorf("operation of request %q", op.ClientOperationId)
	}
	if reason, _ := refused(w, w.api.HealthChecks.Insert(project, tcpCheck("a")).Do); reason != "alreadyExists" {
		t.Errorf("without a requestId: %q", reason)
	}
	if reason, _ := refused(w, w.api.HealthChecks.Insert(project, tcpCheck("b")).RequestId(id).Do); reason != "invalid" {
		t.Errorf("the requestId of another request: %q", reason)
	}
	for _, bad := range []string{"1", "00000000-0000-0000-0000-000000000000"} {
		if reason, _ := refused(w, w.api.HealthChecks.Insert(project, tcpCheck("b")).RequestId(bad).Do); reason != "invalid" {
			t.Errorf("requestId %q: %q", bad, reason)
		}
	}
	const gone = "8e5b8a46-5e0a-4d5f-9d53-bb7a5a8a6d02"
	first := w.done(w.api.HealthChecks.Delete(project, "a").RequestId(gone).Do)
	if again := w.done(w.api.HealthChecks.Delete(project, "a").RequestId(gone).Do); again.Name != first.Name {
		t.Error("a repeated delete is another operation")
	}
	w.clock.Advance(time.Hour + time.Second)
	if reason, _ := refused(w, w.api.HealthChecks.Delete(project, "a").RequestId(gone).Do); reason != "notFound" {
		t.Errorf("after an hour the requestId is new: %q", reason)
	}
}

// What only the state decides may be told by the call or by the operation, and is told
// in the same words.
func TestLateErrors(t *testing.T) {
	for _, late := range []bool{false, true} {
		name := map[bool]string{false: "by the call", true: "by the operation"}[late]
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, gcpapi.Config{Undocumented: gcpapi.Undocumented{LateErrors: late}})
			w.backend("web")
			want := "The health_check resource 'projects/test-project/global/healthChecks/web' is already being used by 'projects/test-project/global/backendServices/web'"
			op, err := w.api.HealthChecks.Delete(project, "web").Do()
			if late {
				if err != nil || op.Error == nil || op.Error.Errors[0].Code != "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE" || op.Error.Errors[0].Message != want || op.HttpErrorStatusCode != 400 {
					t.Errorf("%+v, %v", op, err)
				}
			} else if reason, message := reasonOf(err); reason != "resourceInUseByAnotherResource" || message != want {
				t.Errorf("%s %s", reason, message)
			}
			do(w, w.api.HealthChecks.Get(project, "web").Do)
		})
	}
}

// Operations are listed by scope, newest first, and can be deleted.
func TestOperations(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.healthCheck("a")
	w.group("a")
	list := do(w, w.api.GlobalOperations.List(project).Filter(`operationType="insert"`).Do)
	if len(list.Items) != 1 || list.Items[0].TargetLink != global("healthChecks", "a") {
		t.Errorf("global operations: %+v", list.Items)
	}
	zonal := do(w, w.api.ZoneOperations.List(project, zone).Do)
	if len(zonal.Items) != 1 || zonal.Items[0].Zone == "" {
		t.Errorf("zonal operations: %+v", zonal.Items)
	}
	if err := w.api.GlobalOperations.Delete(project, list.Items[0].Name).Do(); err != nil {
		t.Error(err)
	}
	if reason, _ := refused(w, w.api.GlobalOperations.Get(project, list.Items[0].Name).Do); reason != "notFound" {
		t.Errorf("a deleted operation: %q", reason)
	}
}

// Reads may see an operation's effect before it ends, and lag behind its end.
func TestReads(t *testing.T) {
	early := newWorld(t, gcpapi.Config{Times: slow(), Undocumented: gcpapi.Undocumented{EarlyReads: true}})
	do(early, early.api.HealthChecks.Insert(project, tcpCheck("a")).Do)
	do(early, early.api.HealthChecks.Get(project, "a").Do)

	times := slow()
	times.Read = time.Second
	times.Propagation = time.Minute
	w := newWorld(t, gcpapi.Config{Times: times})
	do(w, w.api.HealthChecks.Insert(project, tcpCheck("a")).Do)
	served := func() (n int) {
		w.Look(func(v store.View) { n = len(v.List("compute.googleapis.com", "healthChecks", "")) })
		return n
	}
	w.clock.Advance(10 * time.Second)
	if n := len(do(w, w.api.HealthChecks.List(project).Do).Items); n != 0 {
		t.Errorf("a lagging list has %d", n)
	}
	w.clock.Advance(time.Second)
	if n := len(do(w, w.api.HealthChecks.List(project).Do).Items); n != 1 || served() != 0 {
		t.Errorf("a second later the list has %d, and %d are served", n, served())
	}
	if due, ok := w.Due(); !ok || due != start.Add(70*time.Second) {
		t.Errorf("due %s %t", due, ok)
	}
	w.clock.Advance(time.Minute)
	if _, ok := w.Due(); ok || served() != 1 {
		t.Errorf("%d are served after the propagation time", served())
	}
}
