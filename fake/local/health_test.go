package local_test

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"gatehouse.dev/fake/local"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// patient is a backend whose health endpoint says what sick says.
func patient(t *testing.T, sick *atomic.Bool) netip.AddrPort {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" && sick.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprint(w, "hello")
	}))
	t.Cleanup(s.Close)
	return netip.MustParseAddrPort(s.Listener.Addr().String())
}

func checked(gw lbmodel.Gateway, interval time.Duration) lbmodel.Gateway {
	gw.Pools[0].Health = &lbmodel.HealthCheck{Protocol: "HTTP", Path: "/health", Interval: lbmodel.Duration(interval), Healthy: 1, Unhealthy: 2}
	return gw
}

// health is what the provider observes of all endpoints.
func health(t *testing.T, l *local.Local) map[lbmodel.Target]lbmodel.Health {
	t.Helper()
	graph, err := l.Provider.Observe(t.Context(), lbmodel.Owner{Cluster: "c"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[lbmodel.Target]lbmodel.Health{}
	for _, r := range graph {
		maps.Copy(out, r.Facts.Health)
	}
	return out
}

func becomes(t *testing.T, l *local.Local, at netip.AddrPort, want lbmodel.Health, why string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); health(t, l)[lbmodel.Target(at.String())] != want; {
		if time.Now().After(deadline) {
			t.Fatalf("%s is not %s: %v; %s", at, want, health(t, l), why)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestHealthIsWhatChecksSay while something is served, and an assumption before
// and after. That goleak finds nothing says that the reports end with serving.
func TestHealthIsWhatChecksSay(t *testing.T) {
	var sick atomic.Bool
	sick.Store(true)
	at := patient(t, &sick)
	l := open(t, local.Config{HealthEvery: time.Millisecond})
	apply(t, l, checked(gateway(at, "new.test"), 5*time.Millisecond))
	becomes(t, l, at, lbmodel.HealthHealthy, "nobody checks before Serve")
	if err := l.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	becomes(t, l, at, lbmodel.HealthUnhealthy, "its checks fail")
	sick.Store(false)
	becomes(t, l, at, lbmodel.HealthHealthy, "its checks pass")
	sick.Store(true)
	becomes(t, l, at, lbmodel.HealthUnhealthy, "its checks fail again")
	otherwise := checked(gateway(at, "new.test"), 5*time.Millisecond)
	otherwise.Pools[0].Health.Path = "/"
	apply(t, l, otherwise)
	becomes(t, l, at, lbmodel.HealthHealthy, "another check passes")
	apply(t, l, checked(gateway(at, "new.test"), 5*time.Millisecond))
	becomes(t, l, at, lbmodel.HealthUnhealthy, "the first check is back")
	if err := l.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	becomes(t, l, at, lbmodel.HealthHealthy, "nobody checks after Shutdown, and what was known is taken back")
}

// TestApplyDoesNotWaitForChecks: every endpoint is replaced while checks run
// every hour.
func TestApplyDoesNotWaitForChecks(t *testing.T) {
	first, second := patient(t, new(atomic.Bool)), patient(t, new(atomic.Bool))
	l := open(t, local.Config{HealthEvery: time.Millisecond})
	if err := l.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	account := providers.NewAccount(providers.Config{Provider: l.Provider, Cluster: "c", Name: "fake", Patience: l.Patience()})
	for _, at := range []netip.AddrPort{first, second} {
		gw := checked(gateway(at, "new.test"), time.Hour)
		gw.Pools[0].Health.Healthy = 2 // an hour after the first
		account.Want(gw)
		plan, err := account.Plan(t.Context(), []lbmodel.Owner{gw.Owner})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if out := account.Apply(t.Context(), plan, nil); !out.Settled() || time.Since(began) > 5*time.Second {
			t.Errorf("%s: after %s: %v", at, time.Since(began), out.Err())
		}
		if err := l.Program(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHealthOfNobody: an endpoint that refuses connections is not healthy, whether
// or not its pool has a check.
func TestHealthOfNobody(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(listener.Addr().String())
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	l := open(t, local.Config{HealthEvery: time.Millisecond})
	apply(t, l, gateway(at, "new.test"))
	if err := l.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Program(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := get(t, l, "/x"); got[:3] != "503" && got[:3] != "502" {
		t.Errorf("/x is answered %q", got)
	}
	becomes(t, l, at, lbmodel.HealthUnhealthy, "a request has shown it")
}
