package ccm

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// TestFence: who may call a cloud. Why this table: after a sleep nothing but the age of
// the last renewal tells that somebody else leads, and no other answer of the API
// server is a renewal.
func TestFence(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	clock := time.Now()
	f := &fence{name: ManagerName, lasts: 15 * time.Second, now: func() time.Time { return clock }}
	client := http.Client{Transport: f.wrap(http.DefaultTransport)}
	const lease = "/apis/coordination.k8s.io/v1/namespaces/a/leases/" + ManagerName
	steps := []struct {
		name, method, path string
		status             int
		sleep              time.Duration
		may                bool
	}{
		{"before anything is known", http.MethodGet, lease, 200, 0, true},
		{"renewed", http.MethodPut, lease, 200, 0, true},
		{"a while later", http.MethodGet, lease, 200, 14 * time.Second, true},
		{"slept through it", http.MethodGet, lease, 200, time.Second, false},
		{"a renewal that is refused", http.MethodPut, lease, 409, 0, false},
		{"another lease", http.MethodPut, lease + "-2", 200, 0, false},
		{"renewed again", http.MethodPut, lease, 200, 0, true},
	}
	for _, s := range steps {
		clock, status = clock.Add(s.sleep), s.status
		r, err := http.NewRequestWithContext(t.Context(), s.method, server.URL+s.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		err = f.Wait(t.Context(), "CreateRule")
		if (err == nil) != s.may || err != nil && lbmodel.CodeOf(err) != lbmodel.CodeUnavailable {
			t.Errorf("%s: error %v, want that it may call: %v", s.name, err, s.may)
		}
	}
}
