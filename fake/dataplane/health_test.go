package dataplane

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"

	"gatehouse.dev/lbmodel"
)

// TestHealthChecks takes an endpoint out when its check fails and back when it
// passes, and never leaves nobody.
func TestHealthChecks(t *testing.T) {
	var sick atomic.Bool
	check := func(name string, sick *atomic.Bool) *backendServer {
		return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/health" && sick.Load() {
				w.WriteHeader(500)
			}
			fmt.Fprint(w, name)
		}))
	}
	a, b := check("a", &sick), check("b", new(atomic.Bool))
	pool := poolOf("ab", lbmodel.PoolHTTP1, a.addr(), b.addr())
	pool.Health = &lbmodel.HealthCheck{Protocol: "HTTP", Path: "/health", Interval: lbmodel.Duration(10 * time.Millisecond), Unhealthy: 2}
	p := newPlane(t, Config{}, gatewayOf("edge", []lbmodel.Listener{httpListener(80, prefixRule("/", to("ab")))}, pool))
	state := func(s *backendServer) lbmodel.Health {
		for _, targets := range p.Health() {
			return targets[lbmodel.Target(s.addr())]
		}
		return ""
	}
	eventually(t, "both are healthy", func() bool { return state(a) == lbmodel.HealthHealthy && state(b) == lbmodel.HealthHealthy })
	sick.Store(true)
	eventually(t, "a is unhealthy", func() bool { return state(a) == lbmodel.HealthUnhealthy })
	client := p.client(80, nil)
	for range 10 {
		if _, body := answerOf(t, client, get(t, "http://any.test/")); body != "b" {
			t.Errorf("answered by %s while it is unhealthy", body)
		}
	}
	sick.Store(false)
	eventually(t, "a is back", func() bool { return state(a) == lbmodel.HealthHealthy })
}

// TestHealthProtocols probes in every protocol, and a pool with TLS never in
// plain text on its own port.
func TestHealthProtocols(t *testing.T) {
	ca := newAuthority(t, "ca")
	server := grpc.NewServer()
	status := health.NewServer()
	healthgrpc.RegisterHealthServer(server, status)
	status.SetServingStatus("shop", healthgrpc.HealthCheckResponse_SERVING)
	status.SetServingStatus("sick", healthgrpc.HealthCheckResponse_NOT_SERVING)
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() { server.Stop(); <-done })
	leaf := ca.issue("a.test")
	secure := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), func(s *httptest.Server) {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{leaf}}
	})
	for _, c := range []struct {
		name, why, address string
		check              lbmodel.HealthCheck
		tls                bool
		want               lbmodel.Health
	}{
		{"gRPC", "the service serves", l.Addr().String(), lbmodel.HealthCheck{Protocol: "GRPC", Service: "shop"}, false, lbmodel.HealthHealthy},
		{"gRPC, the whole server", "no service is named", l.Addr().String(), lbmodel.HealthCheck{Protocol: "GRPC"}, false, lbmodel.HealthHealthy},
		{"gRPC, sick", "NOT_SERVING", l.Addr().String(), lbmodel.HealthCheck{Protocol: "GRPC", Service: "sick"}, false, lbmodel.HealthUnhealthy},
		{"TCP", "it accepts", l.Addr().String(), lbmodel.HealthCheck{Protocol: "TCP"}, false, lbmodel.HealthHealthy},
		{"TCP, nobody", "it does not", closedPort(t), lbmodel.HealthCheck{Protocol: "TCP"}, false, lbmodel.HealthUnhealthy},
		{"HTTP on a TLS port", "the pool's TLS is used", secure.addr(), lbmodel.HealthCheck{Protocol: "HTTP"}, true, lbmodel.HealthHealthy},
		{"HTTPS", "cloud probes verify nothing", secure.addr(), lbmodel.HealthCheck{Protocol: "HTTPS"}, false, lbmodel.HealthHealthy},
		{"HTTP, other port", "the application's port has no say", closedPort(t), lbmodel.HealthCheck{Protocol: "HTTPS", Port: endpoint(secure.addr()).Port}, false, lbmodel.HealthHealthy},
	} {
		pool := poolOf("p", lbmodel.PoolHTTP1, c.address)
		c.check.Interval = lbmodel.Duration(10 * time.Millisecond)
		pool.Health = &c.check
		if c.tls {
			pool.TLS = &lbmodel.BackendTLS{SNI: "a.test", Trust: "ca"}
		}
		gw := gatewayOf("edge", nil, pool)
		gw.Model.Trust = []lbmodel.Trust{trustOf("ca", ca)}
		p := newPlane(t, Config{}, gw)
		ref := PoolRef{gw.Model.Owner, "p"}
		eventually(t, c.name+" becomes "+string(c.want)+": "+c.why, func() bool { return p.Health()[ref][lbmodel.Target(c.address)] == c.want })
	}
}

// TestHealthCheckRemoved: a probe that was under way when its check was removed
// used to write into what was no longer there, and took the process down.
func TestHealthCheckRemoved(t *testing.T) {
	probed, release := make(chan struct{}, 1), make(chan struct{})
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			select {
			case probed <- struct{}{}:
			default:
			}
			<-release
		}
	}))
	pool := poolOf("a", lbmodel.PoolHTTP1, b.addr())
	pool.Health = &lbmodel.HealthCheck{Protocol: "HTTP", Path: "/health", Interval: lbmodel.Duration(10 * time.Millisecond)}
	gateway := func() Gateway {
		return gatewayOf("edge", []lbmodel.Listener{httpListener(80, prefixRule("/", to("a")))}, pool)
	}
	p := newPlane(t, Config{}, gateway())
	<-probed
	pool.Health = nil
	if err := p.Program(t.Context(), []Gateway{gateway()}); err != nil {
		t.Fatal(err)
	}
	close(release)
	eventually(t, "the endpoint counts as healthy without a check", func() bool {
		for _, targets := range p.Health() {
			return targets[lbmodel.Target(b.addr())] == lbmodel.HealthHealthy
		}
		return false
	})
}
