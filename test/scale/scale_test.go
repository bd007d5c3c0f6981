//go:build e2e

package scale

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
	"testing"
	"time"

	"gatehouse.dev/test/cluster"
)

// perGateway makes 1,000 HTTPRoutes and 5,000 endpoints of 100 gateways.
var perGateway = shape{routes: 10, services: 5, endpoints: 10}

// maxMemory is the aim for the manager with all of them.
const maxMemory = 300 << 20

// TestScale measures a manager with many gateways. Its parts share a cluster and
// build on each other.
func TestScale(t *testing.T) {
	n := *gatewayCount
	w, f := newWorld(t), newFigures(t)
	w.Apply(t, ground)
	w.start(t)
	p := follow(t, w.Cluster)
	f.add("HTTPRoutes, gateways, endpoints", "1000, 100, 5000", "%d, %d, %d", n*perGateway.routes, n, n*perGateway.services*perGateway.endpoints)
	for _, part := range []struct {
		name, why string
		run       func(*testing.T, *figures, *world, *progress)
	}{
		{"all programmed", "a cluster's worth of routes is a matter of a minute, and of little memory", allProgrammed},
		{"edit to traffic", "whoever edits a route waits for it", editToTraffic},
		{"endpoints to traffic", "pods come and go all day", endpointsToTraffic},
		{"pod ready to traffic", "likewise, with a real pod behind it", podToTraffic},
		{"an edit's cost", "an edit is its own gateway's business", editCost},
		{"idle", "what does not change costs nothing", idle},
		{"restart", "a new leader finds everything as it should be", restart},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Log(part.why)
			part.run(t, f, w, p)
		})
	}
}

func allProgrammed(t *testing.T, f *figures, w *world, p *progress) {
	n := *gatewayCount
	began, before := time.Now(), w.usage(t)
	apply(t, w.Cluster, perGateway, 0, n)
	applied := time.Since(began)
	p.await(t, n, n*perGateway.routes)
	f.add("all applied", "", "%.1f s", applied.Seconds())
	f.add("all programmed, from the first apply", "", "%.1f s", time.Since(began).Seconds())
	for gw := range n {
		for i := range perGateway.routes {
			a, err := ask(t.Context(), p.address(gw), hostname(gw, i))
			if err != nil || a.StatusCode != http.StatusOK {
				t.Errorf("the first answer of route %s is %v, %v: want 200", routeName(gw, i), a, err)
			}
		}
	}
	w.settle(t)
	u := w.usage(t)
	f.add("CPU time of the manager for it", "", "%.1f s", (u.CPU - before.CPU).Seconds())
	f.add("memory of the manager (VmRSS)", "300 MB", "%d MB", u.RSS>>20)
	f.add("its peak (VmHWM)", "300 MB", "%d MB", u.Peak>>20)
	if u.Peak > maxMemory {
		t.Errorf("the manager took %d MB, want at most %d", u.Peak>>20, maxMemory>>20)
	}
}

func editToTraffic(t *testing.T, f *figures, w *world, p *progress) {
	var samples []time.Duration
	for k := range *sampleCount {
		gw, i := rand.N(*gatewayCount), rand.N(perGateway.routes)
		samples = append(samples, w.edit(t, p, gw, i, fmt.Sprint("timed-", k)))
		time.Sleep(rand.N(200 * time.Millisecond))
	}
	f.times("route edit to traffic", samples)
}

// edit edits a route, and returns when traffic follows it.
func (w *world) edit(t *testing.T, p *progress, gw, i int, mark string) time.Duration {
	t.Helper()
	began := time.Now()
	w.patch(t, httpRoutes, routeName(gw, i), fmt.Sprintf(
		`[{"op": "replace", "path": "/spec/rules/0/filters/0/responseHeaderModifier/set/0/value", "value": %q}]`, mark))
	until(t, func() bool {
		a, err := ask(t.Context(), p.address(gw), hostname(gw, i))
		return err == nil && a.Header.Get("X-Edit") == mark
	})
	return time.Since(began)
}

func endpointsToTraffic(t *testing.T, f *figures, w *world, p *progress) {
	var samples []time.Duration
	for k := range *sampleCount {
		gw, at := rand.N(*gatewayCount), 1+k%(perGateway.endpoints-1)
		endpoint := fmt.Sprintf("%s:%d", perGateway.endpoint(gw, 0, at), endpointPort)
		began := time.Now()
		if err := w.ApplyObjects(t.Context(), perGateway.slice(gw, 0, at, at+1)); err != nil {
			t.Fatal(err)
		}
		until(t, func() bool {
			a, err := ask(t.Context(), p.address(gw), hostname(gw, 0))
			return err == nil && a.Header.Get("X-Endpoint") == endpoint
		})
		samples = append(samples, time.Since(began))
		if err := w.ApplyObjects(t.Context(), perGateway.slice(gw, 0, 0, 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
	}
	f.times("endpoint slice edit to traffic", samples)
}

// editCost counts what each of some edits leads to, one after the other.
func editCost(t *testing.T, f *figures, w *world, p *progress) {
	const edits = 5
	var most cost
	for k := range edits {
		gw, i := rand.N(*gatewayCount), rand.N(perGateway.routes)
		c := w.measure(t, func() { w.edit(t, p, gw, i, fmt.Sprint("counted-", k)) })
		t.Log(c)
		most.passes, most.changes = max(most.passes, c.passes), max(most.changes, c.changes)
		most.writes, most.events = max(most.writes, c.writes), max(most.events, c.events)
	}
	f.atMost("passes over gateways for one route edit", 1, most.passes, "")
	f.atMost("cloud mutations for it", 1, most.changes, "")
	f.atMost("API writes for it (one object changed)", 1, most.writes, "")
	f.atMost("events for it", 1, most.events, "")
}

func idle(t *testing.T, f *figures, w *world, _ *progress) {
	w.settle(t)
	time.Sleep(10 * time.Second) // events come late
	w.writes(t)
	before := w.usage(t)
	changes, looks := w.cloud.Calls(t)
	time.Sleep(*idleTime)
	now, looked := w.cloud.Calls(t)
	wrote, used := w.writes(t), w.usage(t)
	f.add("idle: lease renewals", "", "%d in %s", wrote.leases, *idleTime)
	f.atMost("idle: other API writes", 0, float64(wrote.total()+wrote.events), "")
	f.atMost("idle: cloud mutations", 0, float64(now-changes), "")
	f.add("idle: looks at the cloud", "", "%d", looked-looks)
	f.add("idle: CPU", "", "%.2f%% of a core", 100*(used.CPU-before.CPU).Seconds()/idleTime.Seconds())
	if wrote.leases == 0 {
		t.Error("the lease was not renewed: the audit log was read wrongly")
	}
	t.Logf("%v", wrote.objects)
}

func restart(t *testing.T, f *figures, w *world, _ *progress) {
	w.settle(t)
	w.manager.Signal(t, syscall.SIGTERM)
	if err := w.manager.Err(); err != nil {
		t.Errorf("the manager ended with %v", err)
	}
	w.writes(t)
	changes, _ := w.cloud.Calls(t)
	began := time.Now()
	w.start(t)
	cluster.Eventually(t, 2*time.Minute, func(context.Context) error {
		if n := w.passes(t); n < float64(*gatewayCount) {
			return fmt.Errorf("%v passes over gateways, want %d", n, *gatewayCount)
		}
		return nil
	})
	took := time.Since(began)
	w.settle(t)
	now, _ := w.cloud.Calls(t)
	wrote, u := w.writes(t), w.usage(t)
	f.add("restart without change: all gateways seen through", "", "%.1f s, %.1f s of CPU", took.Seconds(), u.CPU.Seconds())
	f.atMost("restart: cloud mutations", 0, float64(now-changes), "")
	f.atMost("restart: API writes but of its lease and events", 0, float64(wrote.total()), "")
	f.add("restart: events", "", "%d", wrote.events)
	f.add("memory after it (VmRSS)", "300 MB", "%d MB", u.RSS>>20)
	t.Logf("%v", wrote.objects)
}
