package gcpapi_test

import (
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	discovery "google.golang.org/api/compute/v1"
	"google.golang.org/api/option"
	"google.golang.org/protobuf/proto"

	"gatehouse.dev/fake/gcpapi"
)

// Many callers at once see one project: each name is one caller's, and each attached
// endpoint is there once.
func TestCallersShareTheProject(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.group("web")
	const callers, names = 6, 10
	won := make([]int, callers)
	var all sync.WaitGroup
	for i := range callers {
		api, err := discovery.NewService(t.Context(), append(w.options(), option.WithUserAgent(fmt.Sprint("caller-", i)))...)
		if err != nil {
			t.Fatal(err)
		}
		api.UserAgent = fmt.Sprint("caller-", i)
		all.Go(func() {
			for n := range names {
				_, err := api.HealthChecks.Insert(project, tcpCheck(fmt.Sprint("hc-", n))).Do()
				if reason, _ := reasonOf(err); err == nil {
					won[i]++
				} else if reason != "alreadyExists" {
					t.Error(err)
				}
				if _, err := api.NetworkEndpointGroups.AttachNetworkEndpoints(project, zone, "web", endpoints(2, n)).Do(); err != nil {
					t.Error(err)
				}
				_ = w.Dump()
			}
		})
	}
	all.Wait()
	sum := 0
	for _, n := range won {
		sum += n
	}
	if size := do(w, w.api.NetworkEndpointGroups.Get(project, zone, "web").Do).Size; sum != names || size != names+1 {
		t.Errorf("%d creates succeeded, want %d; %d endpoints, want %d", sum, names, size, names+1)
	}
	counts := w.Count(func(c gcpapi.Call) string {
		_, caller, _ := strings.Cut(c.Caller, "caller-")
		return caller[:min(1, len(caller))] + " " + c.Method
	})
	if counts["3 compute.healthChecks.insert"] != names {
		t.Errorf("one caller's calls: %v", counts)
	}
	if got := len(w.Count(gcpapi.ByCaller)); got < callers {
		t.Errorf("%d callers are told from each other, want %d at least", got, callers)
	}
}

// Over a socket both clients find the project by its address alone.
func TestEndpoint(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	web := httptest.NewServer(w.Server)
	defer web.Close()
	checks, err := compute.NewHealthChecksRESTClient(t.Context(), option.WithEndpoint(web.URL), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	defer checks.Close()
	if _, err := checks.Insert(t.Context(), &computepb.InsertHealthCheckRequest{Project: project, HealthCheckResource: &computepb.HealthCheck{
		Name: proto.String("a"), Type: proto.String("TCP"), TcpHealthCheck: &computepb.TCPHealthCheck{}}}); err != nil {
		t.Fatal(err)
	}
	api, err := discovery.NewService(t.Context(), option.WithEndpoint(web.URL+"/compute/v1/"), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := api.HealthChecks.Get(project, "a").Do(); err != nil || got.TcpHealthCheck.Port != 80 {
		t.Errorf("%+v: %v", got, err)
	}
}

// admin asks for the emulator's own state.
func (w *world) admin(method, path, body string) (int, string) {
	w.Helper()
	r := httptest.NewRequest(method, gcpapi.AdminPath+path, strings.NewReader(body))
	recorder := httptest.NewRecorder()
	w.ServeHTTP(recorder, r)
	text, err := io.ReadAll(recorder.Body)
	if err != nil {
		w.Fatal(err)
	}
	return recorder.Code, string(text)
}

// Other processes see state, calls and rates, and set faults. No token is in the log.
func TestAdmin(t *testing.T) {
	w := newWorld(t, gcpapi.Config{Rates: gcpapi.Rates()})
	w.healthCheck("a")
	get := w.api.HealthChecks.Get(project, "a")
	get.Header().Set("Authorization", "Bearer secret-token")
	do(w, get.Do)
	if _, state := w.admin("GET", "state", ""); state != w.Dump() || !strings.Contains(state, `"name":"a"`) {
		t.Errorf("state is %s", state)
	}
	_, text := w.admin("GET", "calls", "")
	var calls []gcpapi.Call
	if err := json.Unmarshal([]byte(text), &calls); err != nil || len(calls) != 2 || calls[0].Method != "compute.healthChecks.insert" || strings.Contains(text, "secret") {
		t.Errorf("calls are %s: %v", text, err)
	}
	if _, rates := w.admin("GET", "rates", ""); rates != `{"global_reads":1,"global_writes":1}` {
		t.Errorf("rates are %s", rates)
	}
	if status, _ := w.admin("PUT", "faults", `[{"method":"get","kind":"Refuse","delay":"1ms"}]`); status != http.StatusOK {
		t.Errorf("faults: status %d", status)
	}
	if reason, _ := refused(w, w.api.HealthChecks.Get(project, "a").Do); reason != "backendError" {
		t.Errorf("with a fault: %q", reason)
	}
	for _, bad := range []string{`[{"methd":"get"}]`, `[{"kind":"Hang"}]`, `[{"kind":"Slow","delay":"soon"}]`} {
		if status, _ := w.admin("PUT", "faults", bad); status != http.StatusBadRequest {
			t.Errorf("%s: status %d", bad, status)
		}
	}
	_, _ = w.admin("DELETE", "calls", "")
	if len(w.Calls()) != 0 {
		t.Error("the calls are not forgotten")
	}
	if status, _ := w.admin("GET", "nothing", ""); status != http.StatusNotFound {
		t.Errorf("an unknown page: %d", status)
	}
}

// A run is the same each time: names, numbers, addresses, errors.
func TestDeterministic(t *testing.T) {
	run := func() string {
		w := newWorld(t, gcpapi.Config{})
		w.shop()
		text, err := json.Marshal(w.Calls(), json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		rule := do(w, w.api.GlobalForwardingRules.Get(project, "shop").Do)
		return w.Dump() + string(text) + fmt.Sprint(rule.Id, rule.Fingerprint)
	}
	if a, b := run(), run(); a != b {
		t.Errorf("two runs differ:\n%s\n%s", a, b)
	}
}
