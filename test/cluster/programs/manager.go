package programs

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// ManagerConfig makes a Manager.
type ManagerConfig struct {
	Kubeconfig string
	Cluster    string // --cluster-name
	Port       int    // of /healthz and /metrics, on 127.0.0.1
	Cloud      *Cloud
	Flags      []string // further ones
}

// Manager is one process of gatehouse-controller-manager: a replica.
type Manager struct {
	*Running
	Port int
}

// StartManager starts one over a cloud, and waits until it is well. It may not lead.
// Its log is of JSON.
func StartManager(tb testing.TB, c ManagerConfig) *Manager {
	tb.Helper()
	args := append([]string{
		"--kubeconfig=" + c.Kubeconfig, "--cluster-name=" + c.Cluster, "--fake-cloud=" + c.Cloud.Address,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.Port),
		"--logging-format=json", "--authentication-skip-lookup=true",
	}, c.Flags...)
	r := &Manager{Running: Run(tb, fmt.Sprintf("manager-%d", c.Port), c.Cloud.manager, args...), Port: c.Port}
	eventually(tb, func(ctx context.Context) error {
		_, err := r.Ask(ctx, "/healthz", "")
		return err
	})
	return r
}

// OpenMetrics is a flag that lets everybody read the metrics, as [Manager.Metric] and
// [Manager.Leads] do.
const OpenMetrics = "--authorization-always-allow-paths=/healthz,/metrics"

// Quick are flags for leases so short that a test can wait for them.
func Quick() []string {
	return []string{"--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=500ms"}
}

// Ask reads a page of the manager's, with a token where there is one.
func (r *Manager) Ask(ctx context.Context, path, token string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", r.Port, path), nil)
	if err != nil {
		return "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	// The manager signs its own certificate.
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %s", path, resp.StatusCode, text)
	}
	return string(text), err
}

// Metric is the sum of the series of a name that have all the given labels, each
// written as kind="Gateway". A name without series is 0.
func (r *Manager) Metric(ctx context.Context, name string, labels ...string) (float64, error) {
	text, err := r.Ask(ctx, "/metrics", "")
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for line := range strings.Lines(text) {
		rest, is := strings.CutPrefix(line, name)
		if !is || rest == "" || rest[0] != '{' && rest[0] != ' ' || !all(rest, labels) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' ')+1:]), 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", name, err)
		}
		sum += value
	}
	return sum, nil
}

func all(series string, labels []string) bool {
	for _, l := range labels {
		if !strings.Contains(series, l) {
			return false
		}
	}
	return true
}

// Leads says why it does not, by its own metrics; nil is that it does.
func (r *Manager) Leads(ctx context.Context) error {
	text, err := r.Ask(ctx, "/metrics", "")
	if err == nil && !strings.Contains(text, `leader_election_master_status{name="gatehouse-controller-manager"} 1`) {
		err = fmt.Errorf("the manager on port %d does not lead", r.Port)
	}
	return err
}
