package probe

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/lbmodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	cart    = "spiffe://cluster.local/ns/apps/sa/cart"
	gateway = "spiffe://cluster.local/ns/gatehouse-system/sa/gatehouse"
	linkerd = "cart.apps.serviceaccount.identity.linkerd.cluster.local"
)

// world is a mesh's CA and a pod behind its proxy.
type world struct {
	t  *testing.T
	ca *ca.CA
}

func newWorld(t *testing.T) world {
	t.Helper()
	m, err := ca.New(ca.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return world{t, m}
}

func (w world) issue(r ca.Request) tls.Certificate {
	w.t.Helper()
	leaf, err := w.ca.Issue(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return leaf
}

func (w world) start(c inbound.Config) *inbound.Pod {
	w.t.Helper()
	pod, err := inbound.Start(c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { pod.Close() })
	return pod
}

func roots(t *testing.T, certs ...*x509.Certificate) []lbmodel.Root {
	t.Helper()
	out, err := lbmodel.ParseRoots(ca.PEM(certs...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func uri(id string) []lbmodel.SAN { return []lbmodel.SAN{{Kind: lbmodel.SANURI, Value: id}} }

// strict is a sidecar that ends mutual TLS of everybody.
func strict() inbound.Proxy { return inbound.Istio{Mode: inbound.Strict, Protocol: inbound.HTTP} }

// TestOutcomes: each row is one thing that can be wrong between a load balancer and
// a proxy, and the probe names that one.
func TestOutcomes(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	server, client := w.issue(ca.Request{URIs: []string{cart}}), w.issue(ca.Request{URIs: []string{gateway}})
	stranger := other.issue(ca.Request{URIs: []string{gateway}})
	ended := ca.Request{URIs: []string{cart}, Life: time.Hour, Age: 2 * time.Hour}
	http1 := Target{Protocol: lbmodel.PoolHTTP1, TLS: lbmodel.BackendTLS{SANs: uri(cart)}, Certificate: &client, Settle: 300 * time.Millisecond}
	for _, c := range []struct {
		name, why string
		proxy     inbound.Proxy
		leaf      tls.Certificate
		change    func(*Target)
		proxyPort bool // ask the proxy's own
		want      Outcome
		alpn      string
	}{
		{name: "all is well", why: "what would be programmed works", proxy: strict(), leaf: server, want: OK, alpn: "http/1.1"},
		{name: "HTTP/2", why: "the proxy negotiates it", proxy: strict(), leaf: server, want: OK, alpn: "h2", change: func(t *Target) { t.Protocol = lbmodel.PoolHTTP2 }},
		{name: "no client certificate", why: "TLS 1.3 tells it only after the handshake", proxy: strict(), leaf: server, want: ClientCertificate, change: func(t *Target) { t.Certificate = nil }},
		{name: "a stranger's certificate", why: "its CA is none of the mesh's", proxy: strict(), leaf: server, want: ClientCertificate, change: func(t *Target) { t.Certificate = &stranger }},
		{name: "other roots", why: "the chain is checked first", proxy: strict(), leaf: server, want: Chain, change: func(tg *Target) { tg.Roots = roots(t, other.ca.Roots()...) }},
		{name: "another name", why: "the chain holds and the name is another's", proxy: strict(), leaf: server, want: Name, change: func(t *Target) { t.TLS.SANs = uri("spiffe://cluster.local/ns/apps/sa/shop") }},
		{name: "ended", why: "said apart from a strange chain, for the way out is another", proxy: strict(), leaf: w.issue(ended), want: Expired},
		{name: "a clock that is behind", why: "not yet valid is no stranger either", proxy: strict(), leaf: server, want: Expired, change: func(t *Target) {
			t.Now = func() time.Time { return time.Now().Add(-100 * 24 * time.Hour) }
		}},
		{name: "PERMISSIVE", why: "TLS of others than the mesh's own clients is not ended, and the application takes none", proxy: inbound.Istio{Mode: inbound.Permissive, Protocol: inbound.HTTP}, leaf: server, want: Reset},
		{name: "no mesh", why: "the application answers in clear text", proxy: inbound.Plain{}, leaf: server, want: ClearText},
		{name: "ambient", why: "ztunnel takes only its tunnel at the port", proxy: inbound.Ambient{Mode: inbound.Strict}, leaf: server, want: Reset},
		{name: "Linkerd", why: "the proxy's name is the server name, and it negotiates nothing", proxy: inbound.Linkerd{Identity: linkerd}, leaf: w.issue(ca.Request{DNSNames: []string{linkerd}}), want: OK, change: func(t *Target) {
			t.TLS = lbmodel.BackendTLS{SNI: linkerd, NoALPN: true, MinVersion: "1.3"}
		}},
		{name: "Linkerd, offered h2", why: "nothing is negotiated, which a provider that needs ALPN cannot take", proxy: inbound.Linkerd{Identity: linkerd}, leaf: w.issue(ca.Request{DNSNames: []string{linkerd}}), want: ALPN, change: func(t *Target) {
			t.Protocol, t.TLS = lbmodel.PoolHTTP2, lbmodel.BackendTLS{SNI: linkerd, MinVersion: "1.3"}
		}},
		{name: "Consul's own port", why: "the proxy's public listener", proxy: inbound.Consul{Protocol: inbound.HTTP, TrustDomain: "cluster.local"}, leaf: server, proxyPort: true, want: OK, alpn: "http/1.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := http1
			target.Roots = roots(t, w.ca.Roots()...)
			if c.change != nil {
				c.change(&target)
			}
			pod := w.start(inbound.Config{Proxy: c.proxy, Leaf: c.leaf, Roots: w.ca.Roots(), App: inbound.App{Kind: inbound.HTTP1}})
			address := pod.Addr()
			if c.proxyPort {
				address = pod.ProxyAddr()
			}
			got := Dial(t.Context(), target, address)
			if got.Outcome != c.want || got.ALPN != c.alpn && c.want == OK {
				t.Errorf("%s, ALPN %q (%s), want %s, %q: %s", got.Outcome, got.ALPN, got.Detail, c.want, c.alpn, c.why)
			}
			if (got.Outcome == OK) != (got.Detail == "") {
				t.Errorf("outcome %s with the detail %q", got.Outcome, got.Detail)
			}
		})
	}
}

// TestShows: of a handshake that went well one learns who answered.
func TestShows(t *testing.T) {
	w := newWorld(t)
	if err := w.ca.Intermediate("a", time.Hour); err != nil {
		t.Fatal(err)
	}
	server, client := w.issue(ca.Request{URIs: []string{cart}}), w.issue(ca.Request{URIs: []string{gateway}})
	pod := w.start(inbound.Config{Proxy: strict(), Leaf: server, Roots: w.ca.Roots(), App: inbound.App{Kind: inbound.HTTP1}})
	want := roots(t, w.ca.Roots()...)
	got := Dial(t.Context(), Target{Protocol: lbmodel.PoolHTTP1, TLS: lbmodel.BackendTLS{SANs: uri(cart)}, Roots: want, Certificate: &client}, pod.Addr())
	if got.Root == nil || got.Root.SHA256 != want[0].SHA256 || got.Root.Subject == "" {
		t.Errorf("the root is %+v, want %s", got.Root, want[0].SHA256)
	}
	if diff := cmp.Diff(uri(cart), got.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got.Version != "1.3" || !got.Asked || !got.Shown {
		t.Errorf("version %s, asked %t, shown %t: want 1.3, both", got.Version, got.Asked, got.Shown)
	}
}

// TestNoTLS: what has no TLS to speak of.
func TestNoTLS(t *testing.T) {
	listen := func(serve func(net.Conn)) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		t.Cleanup(func() { l.Close(); <-ended })
		go func() {
			defer close(ended)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				serve(conn)
				conn.Close()
			}
		}()
		return l.Addr().String()
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	closed.Close()
	for _, c := range []struct {
		name, why, address string
		want               Outcome
	}{
		{"nobody listens", "there is no connection", nobody, Unreachable},
		{"closed at once", "as a proxy that takes only its own", listen(func(net.Conn) {}), Reset},
		{"never answers", "as a database whose server waits", listen(func(c net.Conn) {
			buffer := make([]byte, 4096)
			for {
				if _, err := c.Read(buffer); err != nil {
					return
				}
			}
		}), Silent},
		{"speaks first", "as SMTP does", listen(func(c net.Conn) { _, _ = c.Write([]byte("220 mail.test\r\n")) }), ClearText},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Dial(t.Context(), Target{Timeout: 500 * time.Millisecond}, c.address)
			if got.Outcome != c.want {
				t.Errorf("%s (%s), want %s: %s", got.Outcome, got.Detail, c.want, c.why)
			}
		})
	}
}

// TestAlerts: what a server says is told as what it is about.
func TestAlerts(t *testing.T) {
	w := newWorld(t)
	server := w.issue(ca.Request{DNSNames: []string{"cart.test"}})
	for _, c := range []struct {
		name, why string
		config    *tls.Config
		target    Target
		want      Outcome
	}{
		{"no common protocol", "a server that speaks only another", &tls.Config{NextProtos: []string{"istio"}}, Target{Protocol: lbmodel.PoolHTTP2}, ALPN},
		{"an old version", "nothing below the minimum is spoken", &tls.Config{MaxVersion: tls.VersionTLS12}, Target{TLS: lbmodel.BackendTLS{MinVersion: "1.3"}}, Version},
		{"TLS 1.2 wants a certificate", "there it is part of the handshake", &tls.Config{MaxVersion: tls.VersionTLS12, ClientAuth: tls.RequireAnyClientCert}, Target{}, ClientCertificate},
		{"by server name", "without names the server name counts", &tls.Config{}, Target{TLS: lbmodel.BackendTLS{SNI: "shop.test"}, Roots: roots(t, w.ca.Roots()...)}, Name},
		{"by server name, right", "likewise", &tls.Config{}, Target{TLS: lbmodel.BackendTLS{SNI: "cart.test"}, Roots: roots(t, w.ca.Roots()...)}, OK},
		{"nothing is verified", "without roots every certificate will do", &tls.Config{}, Target{}, OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Certificates = slices.Concat(c.config.Certificates, []tls.Certificate{server})
			l, err := tls.Listen("tcp", "127.0.0.1:0", c.config)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 1))
			}()
			got := Dial(t.Context(), c.target, l.Addr().String())
			l.Close()
			<-ended
			if got.Outcome != c.want {
				t.Errorf("%s (%s), want %s: %s", got.Outcome, got.Detail, c.want, c.why)
			}
		})
	}
}
