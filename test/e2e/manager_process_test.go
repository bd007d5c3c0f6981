//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gatehouse.dev/fake/remote"
	"gatehouse.dev/test/cluster"
)

// program builds one of the commands.
func program(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(os.TempDir(), "gatehouse-e2e", name)
	if err := cluster.Build(t.Context(), "gatehouse.dev/cmd/"+name, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// process is one that the test has started.
type process struct {
	*exec.Cmd
	log   string
	ended chan struct{}
	err   error // after ended
}

// run starts a program, whose output goes to a file that is shown when the test
// has failed.
func run(t *testing.T, name, path string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(path, args...), log: filepath.Join(t.TempDir(), name+".log"), ended: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	p.Stdout, p.Stderr = out, out
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.Wait()
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
		_ = out.Close()
		if text, err := os.ReadFile(p.log); err == nil && t.Failed() {
			t.Logf("%s:\n%s", name, text[max(0, len(text)-8000):])
		}
	})
	return p
}

// signal sends one and waits for the end.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		t.Fatalf("the process did not end after %s", s)
	}
}

// outside is a fake cloud in a process of its own.
type outside struct {
	*process
	address string
	admin   *remote.Admin
	manager string // the program that is run over it, built when the cloud was
}

func newOutside(t *testing.T) *outside {
	t.Helper()
	dir := t.TempDir()
	socket := filepath.Join(dir, "run", "cloud.sock")
	o := &outside{address: "unix://" + socket, manager: program(t, "gatehouse-controller-manager")}
	o.process = run(t, "fake-cloud", program(t, "gatehouse"), "fake-cloud", "--state", filepath.Join(dir, "state"), "--socket", socket,
		"--address-pool", "198.18.0.0/16", "--ports", "exact", "--faults")
	eventually(t, func(context.Context) (err error) {
		o.admin, err = remote.OpenAdmin(remote.Config{Address: o.address})
		if err == nil {
			_, err = o.admin.State(t.Context())
		}
		return err
	})
	t.Cleanup(o.admin.Close)
	return o
}

func (o *outside) state(t *testing.T) remote.State {
	t.Helper()
	s, err := o.admin.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// changes are the calls so far that changed the cloud, by name.
func (o *outside) changes(t *testing.T) map[string]int {
	t.Helper()
	calls := o.state(t).Calls
	maps.DeleteFunc(calls, func(name string, _ int) bool {
		return strings.HasPrefix(name, "List") || strings.HasPrefix(name, "Get") || strings.HasPrefix(name, "Find")
	})
	return calls
}

// replica is one process of the manager.
type replica struct {
	*process
	port int
}

// open lets everybody read a replica's metrics, as leads and calls do.
const open = "--authorization-always-allow-paths=/healthz,/metrics"

// newReplica starts the manager over a cloud, with leases so short that a test can
// wait for them, and waits until it is well.
func newReplica(t *testing.T, kubeconfig string, port int, o *outside, more ...string) *replica {
	t.Helper()
	args := append([]string{
		"--kubeconfig", kubeconfig, "--cluster-name", "e2e", "--fake-cloud", o.address,
		"--bind-address", "127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=6s", "--leader-elect-retry-period=500ms",
		"--logging-format=json", "--authentication-skip-lookup=true",
	}, more...)
	r := &replica{process: run(t, fmt.Sprintf("manager-%d", port), o.manager, args...), port: port}
	eventually(t, func(ctx context.Context) error {
		_, err := r.ask(ctx, "/healthz", "")
		return err
	})
	return r
}

// ask reads a page of the manager's, with a token where there is one.
func (r *replica) ask(ctx context.Context, path, token string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", r.port, path), nil)
	if err != nil {
		return "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
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

// leads says whether it does, by its own metrics.
func (r *replica) leads(ctx context.Context) error {
	text, err := r.ask(ctx, "/metrics", "")
	if err == nil && !strings.Contains(text, `leader_election_master_status{name="gatehouse-controller-manager"} 1`) {
		err = fmt.Errorf("the manager on port %d does not lead", r.port)
	}
	return err
}

// calls says whether it has made any to the cloud.
func (r *replica) calls(t *testing.T) bool {
	t.Helper()
	text, err := r.ask(t.Context(), "/metrics", "")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(text, "gatehouse_cloud_requests_total{")
}

// lines are those of its log so far, each of JSON.
func (p *process) lines() ([]map[string]any, error) {
	f, err := os.Open(p.log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []map[string]any
	var errs []error
	for s := bufio.NewScanner(f); s.Scan(); {
		var line map[string]any
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", s.Text(), err))
		}
		out = append(out, line)
	}
	return out, errors.Join(errs...)
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
