//go:build e2e

package scale

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"gatehouse.dev/test/cluster"
	"gatehouse.dev/test/cluster/programs"
)

// user is the manager's ServiceAccount in deploy/, by a certificate that does not
// run out.
const user = "system:serviceaccount:gatehouse-system:gatehouse-controller-manager"

// world is a cluster, a cloud and a manager, each in processes of their own.
type world struct {
	*cluster.Cluster
	cloud   *programs.Cloud
	manager *programs.Manager
	audit   *cluster.Audit
	config  programs.ManagerConfig
	wrote   writes // and not asked for yet
}

// newWorld has no manager yet.
func newWorld(t *testing.T) *world {
	t.Helper()
	c := cluster.Start(t, cluster.Config{Nodes: 2})
	c.InstallCRDs(t, cluster.Standard)
	for _, name := range []string{"namespace.yaml", "rbac.yaml"} {
		c.ApplyFile(t, filepath.Join("..", "..", "deploy", name))
	}
	who, err := c.As(user)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(c.Dir(), "manager.kubeconfig")
	if err := c.WriteKubeconfig(kubeconfig, who); err != nil {
		t.Fatal(err)
	}
	w := &world{Cluster: c, cloud: programs.StartCloud(t, pool)}
	w.config = programs.ManagerConfig{
		Kubeconfig: kubeconfig, Cluster: "scale", Port: 10268, Cloud: w.cloud,
		Flags: []string{programs.OpenMetrics, "--leader-elect-resource-namespace=gatehouse-system"},
	}
	if w.audit, err = c.Audit(); err != nil {
		t.Fatal(err)
	}
	serveEndpoints(t)
	return w
}

// start starts a manager, and waits until it leads.
func (w *world) start(t *testing.T) {
	t.Helper()
	began := time.Now()
	w.manager = programs.StartManager(t, w.config)
	w.config.Port++ // the last one's may still be in use
	well := time.Since(began)
	cluster.Eventually(t, time.Minute, w.manager.Leads)
	t.Logf("the manager is well after %s, and leads after %s", well, time.Since(began))
}

// writes are the manager's writes to the API server since the last call, by kind:
// its lease's renewals, events, and all others by the object.
type writes struct {
	leases, events int
	objects        map[string]int
}

func (w writes) total() (n int) {
	for _, count := range w.objects {
		n += count
	}
	return n
}

func (w *world) writes(t *testing.T) writes {
	t.Helper()
	w.read(t)
	out := w.wrote
	w.wrote = writes{}
	return out
}

// read takes what the audit log has by now.
func (w *world) read(t *testing.T) {
	t.Helper()
	requests, err := w.audit.Next()
	if err != nil {
		t.Fatal(err)
	}
	if w.wrote.objects == nil {
		w.wrote.objects = map[string]int{}
	}
	for _, r := range requests {
		switch {
		case r.User != user || !r.Write() || r.Group == "authorization.k8s.io":
		case r.Resource == "leases":
			w.wrote.leases++
		case r.Resource == "events":
			w.wrote.events++
		default:
			w.wrote.objects[r.Object()]++
		}
	}
}

// passes are those over gateways so far.
func (w *world) passes(t *testing.T) float64 {
	t.Helper()
	n, err := w.manager.Metric(t.Context(), "gatehouse_reconciles_total", `kind="Gateway"`)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (w *world) usage(t *testing.T) programs.Usage {
	t.Helper()
	u, err := w.manager.Usage()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// settle waits until the manager has changed nothing for a while, by the word of
// the cloud and of the API server: the manager itself is not disturbed.
func (w *world) settle(t *testing.T) {
	t.Helper()
	const still = 2 * time.Second
	state := func() string {
		w.read(t)
		changes, _ := w.cloud.Calls(t)
		return fmt.Sprintf("%d changes of the cloud, %d writes, %d events", changes, w.wrote.total(), w.wrote.events)
	}
	last, since := state(), time.Now()
	cluster.Eventually(t, 5*time.Minute, func(context.Context) error {
		time.Sleep(200 * time.Millisecond)
		if now := state(); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < still {
			return fmt.Errorf("the manager goes on working: %s", last)
		}
		return nil
	})
}

// cost is what a piece of work took.
type cost struct {
	passes, changes, writes, events float64
	cpu                             time.Duration
}

// measure says what some work costs the manager, the API server and the cloud.
func (w *world) measure(t *testing.T, work func()) cost {
	t.Helper()
	w.settle(t)
	w.writes(t)
	passes := w.passes(t)
	changes, _ := w.cloud.Calls(t)
	used := w.usage(t)
	work()
	w.settle(t)
	after, wrote := w.usage(t), w.writes(t)
	now, _ := w.cloud.Calls(t)
	return cost{
		passes: w.passes(t) - passes, changes: float64(now - changes),
		writes: float64(wrote.total()), events: float64(wrote.events), cpu: after.CPU - used.CPU,
	}
}

// each is a part of a cost.
func (c cost) each(n int) cost {
	f := float64(n)
	return cost{c.passes / f, c.changes / f, c.writes / f, c.events / f, c.cpu / time.Duration(n)}
}

func (c cost) String() string {
	return fmt.Sprintf("%.2f passes, %.2f cloud mutations, %.2f API writes, %.2f events, %.1f ms of CPU",
		c.passes, c.changes, c.writes, c.events, c.cpu.Seconds()*1000)
}
