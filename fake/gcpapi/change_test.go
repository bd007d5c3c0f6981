package gcpapi_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	discovery "google.golang.org/api/compute/v1"
	"google.golang.org/protobuf/proto"

	"gatehouse.dev/fake/gcpapi"
)

// raw is a request that no client of Google's would send.
func (w *world) raw(method, path, body string) (int, string) {
	w.Helper()
	return w.ask(method, "https://compute.googleapis.com/compute/v1/"+path, body)
}

// ask is a request to any of the APIs.
func (w *world) ask(method, url, body string) (int, string) {
	w.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewBufferString(body))
	if err != nil {
		w.Fatal(err)
	}
	response, err := w.RoundTrip(r)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// A PATCH changes what it names, a null takes away, and only who has seen the newest
// fingerprint may.
func TestPatch(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.backend("web")
	seen := do(w, w.api.BackendServices.Get(project, "web").Do)
	patch := &discovery.BackendService{Fingerprint: seen.Fingerprint, TlsSettings: &discovery.BackendServiceTlsSettings{Sni: "web.example"}}
	w.done(w.api.BackendServices.Patch(project, "web", patch).Do)
	now := do(w, w.api.BackendServices.Get(project, "web").Do)
	if now.TlsSettings.Sni != "web.example" || len(now.Backends) != 1 || now.Fingerprint == seen.Fingerprint {
		t.Errorf("after a patch: %+v", now)
	}
	if reason, message := refused(w, w.api.BackendServices.Patch(project, "web", patch).Do); reason != "conditionNotMet" || message != "Invalid fingerprint." {
		t.Errorf("an old fingerprint: %s %s", reason, message)
	}
	if reason, _ := refused(w, w.api.BackendServices.Patch(project, "web", &discovery.BackendService{TimeoutSec: 9}).Do); reason != "conditionNotMet" {
		t.Errorf("no fingerprint: %s", reason)
	}
	clearing := &discovery.BackendService{Fingerprint: now.Fingerprint, NullFields: []string{"TlsSettings"}}
	w.done(w.api.BackendServices.Patch(project, "web", clearing).Do)
	cleared := do(w, w.api.BackendServices.Get(project, "web").Do)
	if cleared.TlsSettings != nil {
		t.Errorf("null leaves %+v", cleared.TlsSettings)
	}
	if cleared.Fingerprint != seen.Fingerprint {
		t.Error("equal contents have different fingerprints")
	}
}

// Some projects may be lenient about a PATCH without a fingerprint.
func TestLoosePatches(t *testing.T) {
	w := newWorld(t, gcpapi.Config{Undocumented: gcpapi.Undocumented{LoosePatches: true}})
	w.backend("web")
	w.done(w.api.BackendServices.Patch(project, "web", &discovery.BackendService{TimeoutSec: 9}).Do)
	if now := do(w, w.api.BackendServices.Get(project, "web").Do); now.TimeoutSec != 9 {
		t.Errorf("timeout is %d", now.TimeoutSec)
	}
}

// A PUT replaces: what is not in it is as if it had never been said. It is how the
// client that can't send null clears a field.
func TestPut(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.backend("web")
	backends := client(w, compute.NewBackendServicesRESTClient)
	get := func() *computepb.BackendService {
		b, err := backends.Get(t.Context(), &computepb.GetBackendServiceRequest{Project: project, BackendService: "web"})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	put := func(b *computepb.BackendService) error {
		_, err := backends.Update(t.Context(), &computepb.UpdateBackendServiceRequest{Project: project, BackendService: "web", BackendServiceResource: b})
		return err
	}
	with := get()
	with.TlsSettings = &computepb.BackendServiceTlsSettings{Sni: proto.String("web.example")}
	with.TimeoutSec, with.Description = proto.Int32(7), proto.String("mine")
	if err := put(with); err != nil {
		t.Fatal(err)
	}
	without := get()
	middle := without.GetFingerprint()
	id := without.GetId()
	without.TlsSettings, without.Description, without.TimeoutSec = nil, nil, nil
	if err := put(without); err != nil {
		t.Fatal(err)
	}
	got := get()
	if got.TlsSettings != nil || got.Description != nil || got.GetTimeoutSec() != 30 || got.GetId() != id || len(got.Backends) != 1 {
		t.Errorf("after a PUT: %v", got)
	}
	got.Fingerprint = nil
	if reason, _ := reasonOf(put(got)); reason != "conditionNotMet" {
		t.Errorf("a PUT without fingerprint: %s", reason)
	}
	with.Fingerprint = &middle
	if reason, _ := reasonOf(put(with)); reason != "conditionNotMet" {
		t.Errorf("a PUT with an old fingerprint: %s", reason)
	}
}

// What nobody may change, and what the server alone says.
func TestImmutableAndOutput(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.backend("web")
	seen := do(w, w.api.BackendServices.Get(project, "web").Do)
	change := &discovery.BackendService{Fingerprint: seen.Fingerprint, LoadBalancingScheme: "INTERNAL_MANAGED"}
	if reason, message := refused(w, w.api.BackendServices.Patch(project, "web", change).Do); reason != "invalid" || !strings.Contains(message, "loadBalancingScheme") {
		t.Errorf("an immutable field: %s %s", reason, message)
	}
	if reason, _ := refused(w, w.api.BackendServices.Patch(project, "web", &discovery.BackendService{Name: "other", Fingerprint: seen.Fingerprint}).Do); reason != "invalid" {
		t.Errorf("another name: %s", reason)
	}
	status, text := w.raw("PATCH", "projects/"+project+"/global/backendServices/web", `{"fingerprint": "`+seen.Fingerprint+`", "id": "1", "selfLink": "x", "creationTimestamp": "y", "usedBy": []}`)
	if status != http.StatusOK {
		t.Fatal(text)
	}
	if now := do(w, w.api.BackendServices.Get(project, "web").Do); now.Id != seen.Id || now.SelfLink != seen.SelfLink || now.CreationTimestamp != seen.CreationTimestamp {
		t.Errorf("outputs were written: %+v", now)
	}
}

// Requests are held against Google's definitions before anything else looks at them.
func TestDefinitions(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	at := "projects/" + project + "/global/"
	for _, c := range []struct {
		name, method, path, body, want string
		status                         int
	}{
		{"unknown field", "POST", at + "healthChecks", `{"name": "a", "tipe": "TCP"}`, `Unknown name \"tipe\"`, 400},
		{"unknown field deep inside", "POST", at + "healthChecks", `{"name": "a", "type": "TCP", "tcpHealthCheck": {"prot": 80}}`, `Unknown name \"prot\"`, 400},
		{"no such enum", "POST", at + "healthChecks", `{"name": "a", "type": "PING"}`, "Must be one of", 400},
		{"wrong type", "POST", at + "healthChecks", `{"name": "a", "type": "TCP", "timeoutSec": "soon"}`, "Must be a number", 400},
		{"a list that is none", "POST", at + "backendServices", `{"name": "a", "backends": {}}`, "Must be a list", 400},
		{"not JSON", "POST", at + "healthChecks", `{"name"`, "parseError", 400},
		{"unknown parameter", "GET", at + "healthChecks?verbose=1", ``, "verbose", 400},
		{"unknown path", "GET", at + "sslProxies", ``, "notFound", 404},
		{"wrong method", "PUT", at + "targetHttpProxies/a", `{}`, "notFound", 404},
		{"bad name", "POST", at + "healthChecks", `{"name": "Web", "type": "TCP", "tcpHealthCheck": {}}`, "Must be a match of regex", 400},
		{"no name", "POST", at + "healthChecks", `{"type": "TCP"}`, "Must be a match of regex", 400},
		{"numbers as text", "POST", at + "healthChecks", `{"name": "a", "type": "TCP", "timeoutSec": "4", "tcpHealthCheck": {"port": "80"}}`, `"operationType": "insert"`, 200},
		{"unknown region", "GET", "projects/" + project + "/regions/mars-north1/addresses", ``, "Unknown region", 400},
		{"unknown project", "GET", "projects/nobody/global/healthChecks", ``, "The resource 'projects/nobody' was not found", 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, text := w.raw(c.method, c.path, c.body)
			if status != c.status || !strings.Contains(text, c.want) {
				t.Errorf("%d %s, want %d and %s", status, text, c.status, c.want)
			}
		})
	}
}
