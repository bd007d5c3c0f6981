package gcptraffic

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
)

// shop is a gateway with what an HTTPRoute can ask for, and a listener with a
// certificate. Its pods run.
func (w *world) shop(flavour string) lbmodel.Gateway {
	w.Helper()
	for i, name := range []string{"a", "b", "rpc"} {
		w.pod(podAddress(1+i), name)
	}
	gw := gateway(flavour)
	rules := []lbmodel.Rule{
		rule("split", prefix("/split"), lbmodel.Action{Forward: to(lbmodel.Backend{Pool: "a", Weight: 1}, lbmodel.Backend{Pool: "b", Weight: 3})}),
		rule("moved", prefix("/old"), lbmodel.Action{Redirect: &lbmodel.Redirect{Status: 308, Path: &lbmodel.PathEdit{Kind: lbmodel.ReplacePrefixMatch, Value: "/new"}}}),
		rule("rewritten", prefix("/v1"), lbmodel.Action{Forward: to(lbmodel.Backend{Pool: "b", Weight: 1}),
			Edits: lbmodel.Edits{Rewrite: &lbmodel.Rewrite{Hostname: "inside.test", Path: &lbmodel.PathEdit{Kind: lbmodel.ReplacePrefixMatch, Value: "/v2"}},
				Request: &lbmodel.HeaderEdit{Set: []lbmodel.Header{{Name: "x-set", Value: "1"}}}, Response: &lbmodel.HeaderEdit{Set: []lbmodel.Header{{Name: "x-seen", Value: "2"}}}}}),
		rule("posted", lbmodel.Match{Method: "POST", Path: lbmodel.PathMatch{Kind: lbmodel.MatchExact, Value: "/a"}}, lbmodel.Action{Forward: to(lbmodel.Backend{Pool: "b", Weight: 1})}),
		rule("broken", prefix("/broken"), lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 500}}),
		rule("a", prefix("/a"), lbmodel.Action{Forward: to(lbmodel.Backend{Pool: "a", Weight: 1})}),
	}
	grpc := rule("rpc", lbmodel.Match{GRPC: &lbmodel.GRPCMatch{Kind: lbmodel.MatchExact, Service: "shop.Cart"}}, lbmodel.Action{Forward: to(lbmodel.Backend{Pool: "rpc", Weight: 1})})
	roots, err := ca.New(ca.Config{RootKey: ca.ECDSA})
	w.do(err)
	w.vault.mesh = roots
	pair, err := roots.Issue(ca.Request{DNSNames: []string{host}, Key: ca.ECDSA})
	w.do(err)
	gw.Identities = []lbmodel.Identity{w.vault.secret("web", pair)}
	gw.Listeners = []lbmodel.Listener{
		{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP, Hostname: host, Rules: rules},
		{Name: "https", Port: 443, Protocol: lbmodel.ProtocolHTTPS, Hostname: host, TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Certificates: []string{"web"}}, Rules: []lbmodel.Rule{grpc, rules[5]}},
	}
	gw.Pools = []lbmodel.Pool{pool("a", lbmodel.PoolHTTP1, podAddress(1)), pool("b", lbmodel.PoolHTTP1, podAddress(2)), pool("rpc", lbmodel.PoolGRPC, podAddress(3))}
	return gw
}

// Why: what each Application Load Balancer is told must mean to its clients what the
// routes say.
func TestApplicationLoadBalancers(t *testing.T) {
	for _, flavour := range []string{"GlobalExternal", "RegionalExternal", "RegionalInternal", "CrossRegionInternal"} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			gw := w.shop(flavour)
			w.bring(gw)
			c := w.client(gw.Owner, 80, nil)
			c.answers("/a/1?q=2", "200 a GET shop.test/a/1?q=2")
			c.answers("/v1/x?q=2", "200 b GET inside.test/v2/x?q=2 1")
			if got := c.answers("/v1", "200 b GET inside.test/v2 1"); got.header.Get("X-Seen") != "2" {
				t.Errorf("the response's header is %q", got.header.Get("X-Seen"))
			}
			c.answers("/old/1?q=2", "308 http://shop.test")
			if got := c.answers("/old/1?q=2", "308"); !strings.Contains(got.text, "/new/1?q=2") {
				t.Errorf("redirected to %q", got.text)
			}
			c.answers("/broken", "500")
			c.answers("/ab", "404")
			if got, err := c.ask(t.Context(), http.MethodPost, "/a"); err != nil || !strings.HasPrefix(got.text, "200  b POST") {
				t.Errorf("POST /a: %q, %v", got.text, err)
			}
			w.shares(c)
			w.secured(gw)
			w.remove(gw.Owner)
		})
	}
}

// shares are those of the backends of a split.
func (w *world) shares(c *client) {
	w.Helper()
	const asked = 80
	b := 0
	for range asked {
		got, err := c.ask(w.Context(), http.MethodGet, "/split")
		w.do(err)
		if strings.HasPrefix(got.text, "200  b") {
			b++
		}
	}
	if b < asked/2 || b > asked*19/20 {
		w.Errorf("%d of %d requests went to b, want three of four", b, asked)
	}
}

// secured asks over TLS, also for gRPC.
func (w *world) secured(gw lbmodel.Gateway) {
	w.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.vault.mesh.Bundle())
	c := w.client(gw.Owner, 443, &tls.Config{RootCAs: roots, ServerName: host})
	c.answers("/a", "200 a GET shop.test/a")
	got, err := c.ask(w.Context(), http.MethodPost, "/shop.Cart/Add", "Content-Type: application/grpc", "TE: trailers")
	if err != nil || !strings.HasPrefix(got.text, "200  rpc POST shop.test/shop.Cart/Add") {
		w.Errorf("gRPC is answered %q, %v", got.text, err)
	}
	if got, err := c.ask(w.Context(), http.MethodPost, "/shop.Other/Add", "Content-Type: application/grpc", "TE: trailers"); err != nil || !strings.HasPrefix(got.text, "404") {
		w.Errorf("another service of gRPC is answered %q, %v", got.text, err)
	}
}

// Why: proxies of streams go by port or by server name, and never decrypt. The global
// external one has no server names.
func TestStreams(t *testing.T) {
	for flavour, names := range map[string]bool{"GlobalExternal": false, "RegionalExternal": true, "RegionalInternal": true, "CrossRegionInternal": true} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			gw := gateway(flavour)
			w.lines(fmt.Sprintf("%s:%d", podAddress(1), podPort), "db", nil)
			gw.Pools = []lbmodel.Pool{pool("db", lbmodel.PoolTCP, podAddress(1))}
			gw.Listeners = []lbmodel.Listener{{Name: "tcp", Port: 5432, Protocol: lbmodel.ProtocolTCP, Forward: to(lbmodel.Backend{Pool: "db", Weight: 1})}}
			if names {
				w.names(&gw)
			}
			w.bring(gw)
			w.hears(gw, "tcp", 5432, "db hello", nil)
			if names {
				w.hears(gw, "tcp", 8443, "a hello", &tls.Config{ServerName: "a.test"})
				w.hears(gw, "tcp", 8443, "wild hello", &tls.Config{ServerName: "b.test"})
				if conn := w.connects(gw, "tcp", 8443, &tls.Config{ServerName: "a.example"}); conn != nil {
					t.Errorf("somebody answered for a name of nobody: %q", says(conn, "hello"))
				}
			}
			w.remove(gw.Owner)
		})
	}
}

// names adds a listener that goes by server name, with applications that end TLS
// themselves.
func (w *world) names(gw *lbmodel.Gateway) {
	w.Helper()
	authority, err := ca.New(ca.Config{})
	w.do(err)
	l := lbmodel.Listener{Name: "tls", Port: 8443, Protocol: lbmodel.ProtocolTLS, TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSPassthrough}}
	for i, of := range []struct{ name, host, certificate string }{{"a", "a.test", "a.test"}, {"wild", "*.test", "b.test"}} {
		pair, err := authority.Issue(ca.Request{DNSNames: []string{of.certificate}})
		w.do(err)
		w.lines(fmt.Sprintf("%s:%d", podAddress(2+i), podPort), of.name, &pair)
		gw.Pools = append(gw.Pools, pool(of.name, lbmodel.PoolTCP, podAddress(2+i)))
		l.SNI = append(l.SNI, lbmodel.SNIRule{Source: lbmodel.Source{Kind: "TLSRoute", Namespace: "apps", Name: of.name, Section: "rules[0]"}, Hostname: of.host, Forward: *to(lbmodel.Backend{Pool: of.name, Weight: 1})})
	}
	gw.Listeners = append(gw.Listeners, l)
}

// connects to a port, over TLS with a configuration; nil is that nobody answers.
func (w *world) connects(gw lbmodel.Gateway, network string, port int, config *tls.Config) net.Conn {
	w.Helper()
	conn, err := w.dial(w.Context(), network, net.JoinHostPort(w.address(gw.Owner), fmt.Sprint(port)))
	if err != nil {
		return nil
	}
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if config == nil {
		return conn
	}
	config.InsecureSkipVerify = true
	session := tls.Client(conn, config)
	if session.HandshakeContext(w.Context()) != nil {
		conn.Close()
		return nil
	}
	return session
}

// hears waits until a port answers a line as wanted.
func (w *world) hears(gw lbmodel.Gateway, network string, port int, want string, config *tls.Config) {
	w.Helper()
	got := ""
	w.until(func() string { return fmt.Sprintf("port %d says %q: it says %q", port, want, got) }, func() bool {
		conn := w.connects(gw, network, port, config)
		if conn == nil {
			return false
		}
		if network == "udp" {
			got = echo(conn, "hello")
		} else {
			got = says(conn, "hello")
		}
		return got == want
	})
}

// echo is the answer to a datagram.
func echo(conn net.Conn, text string) string {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(50 * time.Millisecond))
	_, _ = conn.Write([]byte(text))
	buffer := make([]byte, 1500)
	n, _ := conn.Read(buffer)
	return string(buffer[:n])
}

// Why: packets reach nodes as they are, at the gateway's own ports.
func TestPassthrough(t *testing.T) {
	for _, flavour := range []string{"PassthroughExternal", "PassthroughInternal"} {
		t.Run(flavour, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			gw := gateway(flavour)
			gw.Owner.Kind = "Service"
			const ready = 32123
			w.datagrams(node, "dns", 53, ready)
			w.lines(node+":9053", "tcp", nil)
			gw.Pools = []lbmodel.Pool{pool("tcp", lbmodel.PoolTCP, podAddress(1)), pool("udp", lbmodel.PoolUDP, podAddress(1))}
			for i := range gw.Pools {
				gw.Pools[i].Health = &lbmodel.HealthCheck{Protocol: "HTTP", Port: ready, Path: "/healthz"}
			}
			gw.Listeners = []lbmodel.Listener{
				{Name: "udp", Port: 53, Protocol: lbmodel.ProtocolUDP, Forward: to(lbmodel.Backend{Pool: "udp", Weight: 1})},
				{Name: "tcp", Port: 9053, Protocol: lbmodel.ProtocolTCP, Forward: to(lbmodel.Backend{Pool: "tcp", Weight: 1})},
			}
			w.bring(gw)
			w.hears(gw, "udp", 53, "dns hello", nil)
			w.hears(gw, "tcp", 9053, "tcp hello", nil)
			w.remove(gw.Owner)
		})
	}
}
