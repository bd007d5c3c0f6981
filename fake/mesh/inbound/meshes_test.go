package inbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"gatehouse.dev/fake/mesh/ca"
)

// echoes sends bytes that are no HTTP and wants them back, half closed.
func echoes(t *testing.T, conn net.Conn) {
	t.Helper()
	sent := append([]byte{0, 1, 2}, bytes.Repeat([]byte("x"), 100_000)...)
	failed := make(chan error, 1)
	go func() {
		_, err := conn.Write(sent)
		if err == nil {
			err = closeWrite(conn)
		}
		failed <- err
	}()
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("got %d bytes back of %d, err %v", len(got), len(sent), err)
	}
	if err := <-failed; err != nil {
		t.Error(err)
	}
}

// outcome is what a client of a mesh's pod gets.
type outcome struct {
	name, why string
	proxy     Proxy
	app       AppKind
	alpn      []string
	client    string // a SPIFFE ID; "" shows no certificate
	own       bool   // at the proxy's own port
	clear     bool
	code      int    // zero: no answer
	selects   string // ALPN
	owner     string // whose certificate is shown
	http      bool   // the application was told who came
}

func (o outcome) check(t *testing.T, m mesh) {
	t.Helper()
	p := m.pod(Config{Proxy: o.proxy, App: App{Kind: o.app}})
	addr := p.Addr()
	if o.own {
		addr = p.ProxyAddr()
	}
	var got reached
	var err error
	if o.clear {
		got, err = ask(t, plain(t, addr), false)
	} else {
		var leaf []tls.Certificate
		if o.client != "" {
			leaf = append(leaf, m.of(o.client))
		}
		got, err = reach(t, addr, m.client(o.alpn, leaf...))
	}
	if got.Code != o.code || (err == nil) != (o.code == 200) {
		t.Fatalf("code %d, err %v, want %d (%s); %+v", got.Code, err, o.code, o.why, p.Seen())
	}
	if got.State.NegotiatedProtocol != o.selects {
		t.Errorf("negotiated %q, want %q", got.State.NegotiatedProtocol, o.selects)
	}
	if o.owner != "" && Identity(got.State.PeerCertificates[0]) != o.owner {
		t.Errorf("the certificate is of %q, want %q", Identity(got.State.PeerCertificates[0]), o.owner)
	}
	if told := got.Client != ""; told != o.http {
		t.Errorf("the application was told %q, want to be told: %v (%s)", got.Client, o.http, o.why)
	}
}

func TestConsul(t *testing.T) {
	const (
		domain = "11111111-2222-3333-4444-555555555555.consul"
		us     = "spiffe://" + domain + "/ns/default/dc/dc1/svc/gatehouse"
		web    = "spiffe://" + domain + "/ns/default/dc/dc1/svc/web"
	)
	both := []string{"h2", "http/1.1"}
	http1, http2, tcp := Consul{Protocol: HTTP, TrustDomain: domain}, Consul{Protocol: HTTP2, TrustDomain: domain}, Consul{TrustDomain: domain}
	intended := Consul{Protocol: HTTP, TrustDomain: domain, Refuse: true, Intentions: []Intention{{Source: "gatehouse"}}}
	except := Consul{TrustDomain: domain, Intentions: []Intention{{Source: "*"}, {Source: "web", Deny: true}}}
	tests := []outcome{
		{name: "http", why: "only HTTP/1.1 is negotiated", proxy: http1, alpn: both, client: us, code: 200, selects: "http/1.1", owner: cart, http: true},
		{name: "http, h2 only", why: "no ALPN is in common, and Envoy goes on; but HTTP/1.1 is what we then speak", proxy: http1, alpn: []string{"h2"}, client: us, code: 200, owner: cart, http: true},
		{name: "http2", why: "HTTP/2 first", proxy: http2, alpn: both, client: us, code: 200, selects: "h2", owner: cart, http: true},
		{name: "tcp", why: "none is negotiated", proxy: tcp, alpn: both, client: us, code: 200, owner: cart},
		{name: "own port", why: "20000 is the same listener", proxy: http2, alpn: both, client: us, own: true, code: 200, selects: "h2", owner: cart, http: true},
		{name: "no certificate", why: "strict is the default", proxy: http1, alpn: both, selects: "http/1.1"},
		{name: "clear text", why: "strict is the default", proxy: http1, clear: true},
		{name: "another trust domain", why: "Consul's own is asked for", proxy: http1, alpn: both, client: gateway, selects: "http/1.1"},
		{name: "intended", why: "an intention names us", proxy: intended, alpn: both, client: us, code: 200, selects: "http/1.1", owner: cart, http: true},
		{name: "not intended", why: "the default is deny", proxy: intended, alpn: both, client: web, code: 403, selects: "http/1.1"},
		{name: "excepted, bytes", why: "an exact intention is before the wildcard", proxy: except, alpn: both, client: web},
		{name: "permissive", why: "the application's port bypasses TLS", proxy: Consul{Permissive: true}, clear: true, code: 200},
		{name: "permissive, own port", why: "20000 still ends TLS", proxy: Consul{Permissive: true, Protocol: HTTP}, alpn: both, client: us, own: true, code: 200, selects: "http/1.1", owner: cart, http: true},
		{name: "bare, TLS", why: "without redirection TLS is the application's", proxy: Consul{Bare: true}, app: HTTPS, alpn: []string{"http/1.1"}, client: us, code: 200, selects: "http/1.1", owner: "app.example"},
	}
	m := newMesh(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.check(t, mesh{m.CA, t}) })
	}
}

func TestKuma(t *testing.T) {
	const us = "spiffe://default.zone.mesh.local/ns/gatehouse-system/sa/gatehouse"
	domains := []string{"default.zone.mesh.local"}
	tests := []outcome{
		{name: "strict", why: "one chain, no ALPN", proxy: Kuma{Protocol: HTTP, TrustDomains: domains}, alpn: []string{"h2", "http/1.1"}, client: us, code: 200, owner: cart, http: true},
		{name: "strict, no certificate", why: "it is required", proxy: Kuma{Protocol: HTTP, TrustDomains: domains}},
		{name: "strict, clear", why: "one chain", proxy: Kuma{Protocol: HTTP, TrustDomains: domains}, clear: true},
		{name: "strict, another trust domain", why: "no MeshTrust has it", proxy: Kuma{TrustDomains: domains}, client: gateway},
		{name: "permissive", why: "TLS without ALPN kuma is the application's", proxy: Kuma{Mode: Permissive, TrustDomains: domains}, app: HTTPS, alpn: []string{"http/1.1"}, client: us, code: 200, selects: "http/1.1", owner: "app.example"},
		{name: "permissive, kuma", why: "as Kuma's own proxies", proxy: Kuma{Mode: Permissive, Protocol: HTTP, TrustDomains: domains}, alpn: []string{"kuma"}, client: us, code: 200, owner: cart, http: true},
		{name: "permissive, clear", why: "clear text is taken", proxy: Kuma{Mode: Permissive, Protocol: HTTP}, clear: true, code: 200},
		{name: "permitted", why: "MeshTrafficPermission", proxy: Kuma{TrustDomains: domains, Allow: []string{us}}, client: us, code: 200, owner: cart},
		{name: "not permitted", why: "MeshTrafficPermission", proxy: Kuma{TrustDomains: domains, Allow: []string{gateway}}, client: us},
	}
	m := newMesh(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.check(t, mesh{m.CA, t}) })
	}
}

// TestMates: a trust domain with roots of its own is taken by those, and may not
// be claimed by others (Kuma's MeshTrust, Istio's caCertificates).
func TestMates(t *testing.T) {
	m, ours := newMesh(t), newMesh(t)
	const us = "spiffe://gatehouse/ns/gatehouse-system/sa/gatehouse"
	p := m.pod(Config{
		Proxy: Kuma{TrustDomains: []string{"cluster.local", "gatehouse"}},
		Mates: map[string][]*x509.Certificate{"gatehouse": ours.Roots()},
	})
	for _, tt := range []struct {
		name string
		leaf tls.Certificate
		ok   bool
	}{
		{"our CA, our domain", ours.of(us), true},
		{"the mesh's CA, its domain", m.of(cart), true},
		{"our CA, the mesh's domain", ours.of(cart), false},
		{"the mesh's CA, our domain", m.of(us), false},
	} {
		if _, err := reach(t, p.Addr(), m.client(nil, tt.leaf)); (err == nil) != tt.ok {
			t.Errorf("%s: err %v, want success: %v", tt.name, err, tt.ok)
		}
	}
}

func TestPlainAndAmbient(t *testing.T) {
	tests := []outcome{
		{name: "plain, clear", why: "no mesh", proxy: Plain{}, clear: true, code: 200},
		{name: "plain, TLS of its own", why: "no mesh", proxy: Plain{}, app: HTTPS, alpn: []string{"h2"}, code: 200, selects: "h2", owner: "app.example"},
		{name: "plain, TLS", why: "nobody ends it", proxy: Plain{}, client: gateway},
		{name: "ambient, clear", why: "ztunnel copies bytes", proxy: Ambient{}, clear: true, code: 200},
		{name: "ambient, TLS", why: "the application gets ciphertext", proxy: Ambient{}, client: gateway},
		{name: "ambient, own TLS", why: "the application gets ciphertext, and understands it", proxy: Ambient{}, app: HTTPS, client: gateway, code: 200, owner: "app.example"},
		{name: "ambient strict, clear", why: "nobody is identified", proxy: Ambient{Mode: Strict}, clear: true},
		{name: "ambient strict, TLS", why: "nobody is identified", proxy: Ambient{Mode: Strict}, app: HTTPS, client: gateway},
		{name: "15008, http/1.1", why: "h2 is asked for", proxy: Ambient{}, alpn: []string{"http/1.1"}, client: gateway, own: true},
		{name: "15008, a request", why: "only CONNECT is understood", proxy: Ambient{}, alpn: []string{"h2"}, client: gateway, own: true, code: 400, selects: "h2"},
		{name: "15008, no certificate", why: "mutual TLS", proxy: Ambient{}, alpn: []string{"h2"}, own: true, selects: "h2"},
		{name: "gateway, simple", why: "the mesh's certificate, nobody's client", proxy: IstioGateway{Mode: IstioSimple}, alpn: []string{"h2"}, code: 200, selects: "h2", owner: cart},
		{name: "gateway, clear", why: "a TLS listener", proxy: IstioGateway{Mode: IstioSimple}, clear: true},
	}
	m := newMesh(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.check(t, mesh{m.CA, t}) })
	}
}

// TestHBONE speaks as a waypoint does: CONNECT inside mutual TLS.
func TestHBONE(t *testing.T) {
	m := newMesh(t)
	for _, tt := range []struct {
		name  string
		allow []string
		to    func(*Pod) string
		code  int
	}{
		{"allowed", nil, (*Pod).Addr, 200},
		{"another identity", []string{cart}, (*Pod).Addr, 401},
		{"another pod", nil, func(*Pod) string { return "192.0.2.1:80" }, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := mesh{m.CA, t}
			p := m.pod(Config{Proxy: Ambient{Mode: Strict, Allow: tt.allow}})
			conn, err := dial(t, p.ProxyAddr(), m.client([]string{"h2"}, m.of(gateway)))
			if err != nil {
				t.Fatal(err)
			}
			from, to := io.Pipe()
			defer to.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodConnect, "http://"+tt.to(p), from)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := overTwo(t, conn, r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if answer.StatusCode != tt.code {
				t.Fatalf("CONNECT: %d, want %d", answer.StatusCode, tt.code)
			}
			if tt.code != 200 {
				return
			}
			fmt.Fprint(to, "GET /inner HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			if inner, err := io.ReadAll(answer.Body); err != nil || !bytes.Contains(inner, []byte(`"/inner"`)) {
				t.Errorf("inside the tunnel: %q, %v", inner, err)
			}
		})
	}
}

// TestServerSpeaksFirst: a pod of which the proxy learns nothing from the client is
// taken as bytes when the time is over.
func TestServerSpeaksFirst(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			fmt.Fprint(conn, "220 ready")
			conn.Close()
		}
	}()
	m := newMesh(t)
	p := m.pod(Config{Proxy: Istio{}, App: App{At: l.Addr().String()}, Detect: 20e6})
	if got, err := io.ReadAll(plain(t, p.Addr())); err != nil || string(got) != "220 ready" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestUntrusted: what a client shows must chain to the roots, and be of its time.
func TestUntrusted(t *testing.T) {
	m := newMesh(t)
	p := m.pod(Config{Proxy: Istio{Mode: Strict, Protocol: HTTP}})
	for name, leaf := range map[string]tls.Certificate{
		"another CA": newMesh(t).of(gateway),
		"expired":    m.issue(ca.Request{URIs: []string{gateway}, Life: 3600e9, Age: 7200e9}),
	} {
		if _, err := reach(t, p.Addr(), m.client(nil, leaf)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	eventually(t, "both handshakes are counted as refused", func() bool { return p.Seen().Refused == 2 })
}
