//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"gatehouse.dev/test/cluster/programs"
)

// newOutside starts a fake cloud as a process of its own.
func newOutside(t *testing.T) *programs.Cloud {
	t.Helper()
	return programs.StartCloud(t, "198.18.0.0/16")
}

// newReplica starts the manager over a cloud, with leases so short that a test can
// wait for them, and waits until it is well.
func newReplica(t *testing.T, kubeconfig string, port int, o *programs.Cloud, more ...string) *programs.Manager {
	t.Helper()
	return programs.StartManager(t, programs.ManagerConfig{
		Kubeconfig: kubeconfig, Cluster: "e2e", Port: port, Cloud: o, Flags: append(programs.Quick(), more...),
	})
}

// calls says whether a replica has made any to the cloud.
func calls(t *testing.T, r *programs.Manager) bool {
	t.Helper()
	n, err := r.Metric(t.Context(), "gatehouse_cloud_requests_total")
	if err != nil {
		t.Fatal(err)
	}
	return n > 0
}

// load asks a URL again and again until it is stopped, which says what failed.
func load(t *testing.T, url string) (stop func() (asked int, failed []error)) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	var asked int
	var failed []error
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			asked++
			_, resp, err := get(context.WithoutCancel(ctx), url)
			if err == nil && resp.StatusCode != http.StatusOK {
				err = fmt.Errorf("status %d", resp.StatusCode)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("request %d: %w", asked, err))
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return func() (int, []error) {
		cancel()
		<-done
		return asked, failed
	}
}
