package gcpcalls_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/gcpapi"
	"gatehouse.dev/fake/gcpapi/clock"
	"gatehouse.dev/fake/gcpapi/store"
	"gatehouse.dev/internal/gcpcalls"
)

// world is an emulated project with a client whose requests are sent as in earnest.
type world struct {
	*testing.T
	*gcpapi.Server
	*gcpcalls.Client
}

func newWorld(t *testing.T, config gcpapi.Config, patience time.Duration) *world {
	t.Helper()
	server := gcpapi.New(config)
	client, err := gcpcalls.New(t.Context(), gcpcalls.Config{
		HTTP: &http.Client{Transport: gcpcalls.NewTransport(gcpcalls.Transport{Base: server})}, Patience: patience, Seed: t.Name(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, server, client}
}

// done waits for a change that must end well.
func (w *world) done(op *gcpcalls.Operation, err error) {
	w.Helper()
	if err == nil {
		err = w.Wait(w.Context(), op)
	}
	if err != nil {
		w.Fatal(err)
	}
}

const (
	root  = "projects/test-project/"
	check = `{"type":"TCP","tcpHealthCheck":{"port":80},"description":"one"}`
)

// TestLife takes one object of each way of being asked for through its life: what is not
// said stays, and what is null goes.
func TestLife(t *testing.T) {
	cases := []struct {
		name, path, body, patch string
		want                    []string // parts of what is there afterwards; with - before it, not there
	}{
		{"a global one of Compute's", root + "global/healthChecks/h", check, `{"checkIntervalSec":9,"description":null}`, []string{`"checkIntervalSec":9`, `"port":80`, `-"one"`}},
		{"a regional one", root + "regions/us-central1/healthChecks/h", check, `{"tcpHealthCheck":{"port":81}}`, []string{`"port":81`, `"one"`}},
		{"a location's", root + "locations/global/certificateMaps/m", `{"description":"one","labels":{"a":"b"}}`, `{"description":"two"}`, []string{`"two"`, `"a":"b"`}},
		{"one of Network Security", root + "locations/us-central1/backendAuthenticationConfigs/b", `{"description":"one","wellKnownRoots":"PUBLIC_ROOTS"}`, `{"description":null}`, []string{`-"one"`, `PUBLIC_ROOTS`}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			w, ctx := newWorld(t, gcpapi.Config{}, 0), t.Context()
			w.done(w.Insert(ctx, tc.path, []byte(tc.body)))
			w.done(w.Patch(ctx, tc.path, []byte(tc.patch)))
			have, err := w.Get(ctx, tc.path)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(string(have), " ", "")
			for _, part := range tc.want {
				if without, not := strings.CutPrefix(part, "-"); strings.Contains(text, without) == not {
					t.Errorf("%s in %s is wrong", part, text)
				}
			}
			collection := tc.path[:strings.LastIndexByte(tc.path, '/')]
			if all, err := w.List(ctx, collection, ""); err != nil || len(all) != 1 {
				t.Errorf("the list is %s, %v", all, err)
			}
			w.done(w.Delete(ctx, tc.path))
			if w.Dump() != gcpapi.Empty() {
				t.Errorf("something is left: %s", w.Dump())
			}
		})
	}
}

// TestAggregated lists what is in all scopes.
func TestAggregated(t *testing.T) {
	w, ctx := newWorld(t, gcpapi.Config{}, 0), t.Context()
	for _, path := range []string{"global/healthChecks/a", "regions/us-central1/healthChecks/b", "regions/europe-west1/healthChecks/c"} {
		w.done(w.Insert(ctx, root+path, []byte(check)))
	}
	all, err := w.List(ctx, root+"aggregated/healthChecks", "")
	if err != nil || len(all) != 3 {
		t.Errorf("%d of 3: %v", len(all), err)
	}
}

// TestNoMethod: a path or verb that there is not is our mistake, and no request.
func TestNoMethod(t *testing.T) {
	w := newWorld(t, gcpapi.Config{}, 0)
	for _, path := range []string{"", "global/urlMaps/m", root + "global/instances/i", root + "regions", "projects//global/urlMaps/m"} {
		_, err := w.Get(t.Context(), path)
		var told *gcpcalls.Error
		if !errors.As(err, &told) || told.Reason != gcpcalls.ReasonNoMethod {
			t.Errorf("%q: %v", path, err)
		}
	}
	if n := len(w.Calls()); n != 0 {
		t.Errorf("%d calls were made", n)
	}
}

// TestLostReplies: a change of Compute's is one, however often it is sent; one of another
// API is sent once, since a second one could do it twice.
func TestLostReplies(t *testing.T) {
	w, ctx := newWorld(t, gcpapi.Config{}, 0), t.Context()
	w.SetFaults(gcpapi.Fault{Method: "insert", Kind: gcpapi.CutAfter, Times: 2})
	w.done(w.Insert(ctx, root+"global/healthChecks/h", []byte(check)))
	ids := map[string]int{}
	for _, c := range w.Calls() {
		if c.Writes {
			ids[c.RequestID]++
		}
	}
	if len(ids) != 1 {
		t.Errorf("attempts have the IDs %v, want one for all", ids)
	}
	w.done(w.Delete(ctx, root+"global/healthChecks/h"))
	w.done(w.Insert(ctx, root+"global/healthChecks/h", []byte(check))) // another intention, though it says the same
	if _, err := w.Get(ctx, root+"global/healthChecks/h"); err != nil {
		t.Errorf("it was taken for the first one: %v", err)
	}
	w.Forget()
	w.SetFaults(gcpapi.Fault{Method: "certificatemanager", Kind: gcpapi.CutAfter, Times: 2})
	_, err := w.Insert(ctx, root+"locations/global/certificateMaps/m", []byte(`{}`))
	var told *gcpcalls.Error
	if !errors.As(err, &told) || told.Reason != gcpcalls.ReasonNoAnswer || len(w.Calls()) != 1 {
		t.Errorf("%v after %d calls, want no answer after one", err, len(w.Calls()))
	}
}

// TestAttempts counts what is tried again: what changes nothing or is known again, when
// the server fails; and anything that was one too many.
func TestAttempts(t *testing.T) {
	insert := func(path, body string) func(context.Context, *gcpcalls.Client) error {
		return func(ctx context.Context, c *gcpcalls.Client) error {
			_, err := c.Insert(ctx, root+path, []byte(body))
			return err
		}
	}
	read := func(ctx context.Context, c *gcpcalls.Client) error {
		_, err := c.List(ctx, root+"global/urlMaps", "")
		return err
	}
	one := gcpapi.Fault{Times: 1}
	with := func(kind gcpapi.FaultKind, status int, reason string) gcpapi.Fault {
		out := one
		out.Kind, out.Status, out.Reason = kind, status, reason
		return out
	}
	compute, located := insert("global/healthChecks/h", check), insert("locations/global/certificateMaps/m", `{}`)
	cases := []struct {
		name  string
		fault gcpapi.Fault
		do    func(context.Context, *gcpcalls.Client) error
		calls int
	}{
		{"a read that fails", with(gcpapi.Refuse, 503, store.BackendError), read, 2},
		{"a read whose connection is cut", with(gcpapi.CutBefore, 0, ""), read, 2},
		{"a read that may not be", with(gcpapi.Refuse, 403, store.Forbidden), read, 1},
		{"a change of Compute's", with(gcpapi.Refuse, 503, store.BackendError), compute, 2},
		{"a change of another's", with(gcpapi.Refuse, 503, store.BackendError), located, 1},
		{"one too many of Compute's", with(gcpapi.Throttle, 0, ""), compute, 2},
		{"one too many of another's", with(gcpapi.Throttle, 0, ""), located, 2},
		{"too much", with(gcpapi.Refuse, 403, store.QuotaExceeded), compute, 1},
		{"wrong", with(gcpapi.Refuse, 400, store.Invalid), compute, 1},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel() // a wait is half a second
			w := newWorld(t, gcpapi.Config{}, 0)
			w.SetFaults(tc.fault)
			err := tc.do(t.Context(), w.Client)
			if n := len(w.Calls()); n != tc.calls || (err == nil) != (tc.calls > 1) {
				t.Errorf("%d calls and %v, want %d", n, err, tc.calls)
			}
		})
	}
}

// TestWait: an operation is waited for as long as patience lasts, and then goes on
// without; who settles learns how it ended.
func TestWait(t *testing.T) {
	moved := clock.NewManual(time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC))
	w := newWorld(t, gcpapi.Config{Clock: moved, Times: store.Times{Operations: map[string]time.Duration{"": time.Minute}}, Limits: map[string]int{"URL_MAPS": 0},
		Undocumented: gcpapi.Undocumented{LateErrors: true}}, 50*time.Millisecond)
	ctx := t.Context()
	for _, path := range []string{root + "global/healthChecks/h", root + "zones/us-central1-a/networkEndpointGroups/g", root + "locations/global/certificateMaps/m"} {
		body := map[string]string{"healthChecks": check, "networkEndpointGroups": `{"networkEndpointType":"NON_GCP_PRIVATE_IP_PORT"}`, "certificateMaps": `{}`}[strings.Split(path, "/")[len(strings.Split(path, "/"))-2]]
		op, err := w.Insert(ctx, path, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Wait(ctx, op); !errors.Is(err, gcpcalls.ErrRunning) {
			t.Errorf("%s: %v, want that it is still running", path, err)
		}
		if err := w.Settle(ctx, path); !errors.Is(err, gcpcalls.ErrRunning) {
			t.Errorf("%s: settling %v, want that it is still running", path, err)
		}
		moved.Advance(time.Hour)
		if err := w.Settle(ctx, path); err != nil {
			t.Errorf("%s: settling %v", path, err)
		}
		if n := w.Count(gcpapi.Writes); len(n) == 0 || w.Settle(ctx, path) != nil {
			t.Errorf("%s: it is settled twice", path)
		}
	}
}

// TestOperationErrors: how an operation failed is told like a refusal, with its name.
func TestOperationErrors(t *testing.T) {
	w, ctx := newWorld(t, gcpapi.Config{}, 0), t.Context()
	for path, want := range map[string][]string{root + "global/healthChecks/h": {"RESOURCE_NOT_READY"}, root + "locations/global/certificateMaps/m": {"ABORTED", "UNAVAILABLE"}} {
		w.SetFaults(gcpapi.Fault{Method: "", Kind: gcpapi.Fail, Times: 1, Status: 400, Reason: store.NotReady, Message: "it is not ready"})
		body := check
		if strings.Contains(path, "locations") {
			body = `{}`
		}
		op, err := w.Insert(ctx, path, []byte(body))
		if err == nil {
			err = w.Wait(ctx, op)
		}
		var told *gcpcalls.Error
		if !errors.As(err, &told) || !slices.Contains(want, told.Reason) || told.Operation == "" || !strings.Contains(told.Message, "not ready") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
