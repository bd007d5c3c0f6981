package inbound

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
)

// TestChangeUnderOpenConnections: a connection goes on as it began, whatever
// becomes of leaf, roots and mode; the next one is judged anew.
func TestChangeUnderOpenConnections(t *testing.T) {
	m := newMesh(t)
	p := m.pod(Config{Proxy: Istio{Mode: Strict, Protocol: HTTP}})
	old := m.client([]string{"http/1.1"}, m.of(gateway))
	open, err := dial(t, p.Addr(), old)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, open, false); err != nil {
		t.Fatal(err)
	}
	must(t, m.Add(ca.Root{Name: "b"}), m.SignBy("b"), m.Drop("a"))
	p.Update(func(s *Setting) {
		s.Leaf, s.Roots, s.Proxy = m.of(cart), m.Roots(), Istio{Mode: Permissive, Protocol: HTTP}
	})
	if _, err := ask(t, open, false); err != nil {
		t.Errorf("the open connection: %v", err)
	}
	if _, err := reach(t, p.Addr(), old); err == nil {
		t.Error("permissive took a client with the world's ALPN")
	}
	p.Become(Istio{Mode: Strict, Protocol: HTTP})
	if _, err := reach(t, p.Addr(), old); err == nil {
		t.Error("a leaf of a root that was dropped was taken")
	}
	got, err := reach(t, p.Addr(), m.client([]string{"http/1.1"}, m.of(gateway)))
	if err != nil {
		t.Fatalf("with root b: %v", err)
	}
	last := p.Seen().Last
	if c := last[len(last)-1]; c.Client != gateway || c.Expires.IsZero() || c.Serial == "" || c.ALPN != "http/1.1" {
		t.Errorf("the record is %+v", c)
	}
	if got.State.DidResume {
		t.Error("a session was resumed")
	}
}

// TestRotationUnderLoad walks A, A+B, B and back while clients come and go: with
// both sides adding before they sign and signing before they drop, none fails.
func TestRotationUnderLoad(t *testing.T) {
	m := newMesh(t)
	p := m.pod(Config{Proxy: Istio{Mode: Strict, Protocol: HTTP}})
	var client atomic.Pointer[tls.Config]
	trust := func() { client.Store(m.client([]string{"h2", "http/1.1"}, m.of(gateway))); p.Trust(m.Roots()) }
	trust()
	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	var requests, failed atomic.Int64
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				if _, err := reachOnce(p.Addr(), client.Load()); err != nil {
					failed.Add(1)
					t.Error(err)
					return
				}
				requests.Add(1)
			}
		})
	}
	more := func() {
		from := requests.Load()
		eventually(t, "more requests", func() bool { return requests.Load() > from+20 || failed.Load() > 0 })
	}
	from := "a"
	for _, to := range []string{"b", "c", "d"} {
		more()
		must(t, m.Add(ca.Root{Name: to}))
		trust()
		more()
		must(t, m.SignBy(to))
		p.Renew(m.of(cart))
		client.Store(m.client([]string{"h2", "http/1.1"}, m.of(gateway)))
		more()
		must(t, m.Drop(from))
		trust()
		from = to
	}
	more()
	stop()
	clients.Wait()
	t.Logf("%d requests on as many connections, %d failed", requests.Load(), failed.Load())
}

// reachOnce is reach for other goroutines than the test's.
func reachOnce(addr string, c *tls.Config) (int, error) {
	transport := &http.Transport{TLSClientConfig: c.Clone(), ForceAttemptHTTP2: true, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get("https://" + addr)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestHealth: probes show no certificate, and ask the proxy on a port of its own.
func TestHealth(t *testing.T) {
	m := newMesh(t)
	p := m.pod(Config{Proxy: Istio{Mode: Strict, Protocol: HTTP}})
	for _, tt := range []struct {
		proxy Proxy
		path  string
		state Readiness
		want  int
	}{
		{Istio{Mode: Strict}, "/healthz/ready", Ready, 200},
		{Istio{Mode: Strict}, "/healthz/ready", NotReady, 503},
		{Istio{Mode: Strict}, "/app-health/app/readyz", NotReady, 200},
		{Linkerd{}, "/ready", Ready, 200},
		{Linkerd{}, "/live", NotReady, 503},
		{Linkerd{}, "/healthz/ready", Ready, 404},
		{Plain{}, "/ready", Ready, 404},
	} {
		p.Become(tt.proxy)
		p.SetReadiness(tt.state)
		answer, err := http.Get("http://" + p.HealthAddr() + tt.path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != tt.want {
			t.Errorf("%T %s %s: %d, want %d", tt.proxy, tt.path, tt.state, answer.StatusCode, tt.want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestStartAndClose: errors leave nothing behind, and Close ends what is open.
func TestStartAndClose(t *testing.T) {
	if _, err := Start(Config{App: App{Kind: HTTPS}}); err == nil || !strings.Contains(err.Error(), "TLS") {
		t.Errorf("HTTPS without a configuration: %v", err)
	}
	m := newMesh(t)
	p := m.pod(Config{Proxy: Istio{Mode: Strict}, App: App{Kind: Echo}})
	if _, err := Start(Config{Listen: netipOf(t, p.Addr())}); err == nil {
		t.Error("a port was bound twice")
	}
	conn, err := dial(t, p.Addr(), m.client(nil, m.of(gateway)))
	if err != nil {
		t.Fatal(err)
	}
	idle := plain(t, p.Addr())
	eventually(t, "both are open", func() bool { return p.Seen().Open >= 2 })
	must(t, p.Close(), p.Close())
	for _, c := range []net.Conn{conn, idle} {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a connection outlived its pod")
		}
	}
}

// TestWatch is told of every connection.
func TestWatch(t *testing.T) {
	m := newMesh(t)
	seen := make(chan Connection, 1)
	p := m.pod(Config{Proxy: Ambient{Mode: Strict}, Watch: func(c Connection) { seen <- c }})
	_, _ = ask(t, plain(t, p.Addr()), false)
	if c := <-seen; c.Outcome != WasReset || c.Chain != "istio_converted_static_strict" {
		t.Errorf("%+v", c)
	}
}
