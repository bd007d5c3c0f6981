package inbound

import (
	"crypto/tls"
	"net/netip"
	"testing"

	"gatehouse.dev/fake/mesh/ca"
)

// TestLinkerd has the rows of a Linkerd proxy: who gets TLS ended, and who may
// come in.
func TestLinkerd(t *testing.T) {
	m := newMesh(t)
	me := "gatehouse.gatehouse-system.serviceaccount.identity.linkerd.cluster.local"
	leaf := m.issue(ca.Request{DNSNames: []string{linkerd}})
	mine := m.issue(ca.Request{DNSNames: []string{me}})
	rsa := m.issue(ca.Request{DNSNames: []string{me}, Key: ca.RSA})
	outside := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	tests := []struct {
		name, why string
		proxy     Linkerd
		app       AppKind
		sni       string
		alpn      []string
		old       bool
		client    []tls.Certificate
		code      int // zero: no answer
		owner     string
		told      string
	}{
		{name: "mutual", why: "its own SNI", sni: linkerd, client: []tls.Certificate{mine}, code: 200, owner: linkerd, told: me},
		{name: "ALPN offered", why: "none is negotiated", sni: linkerd, alpn: []string{"h2", "http/1.1"}, client: []tls.Certificate{mine}, code: 200, owner: linkerd, told: me},
		{name: "no client certificate", why: "all-unauthenticated lets everybody in", sni: linkerd, code: 200, owner: linkerd},
		{name: "no client certificate, demanded", why: "all-authenticated", proxy: Linkerd{Policy: AllAuthenticated}, sni: linkerd, code: 403},
		{name: "mutual, demanded", why: "all-authenticated", proxy: Linkerd{Policy: AllAuthenticated}, sni: linkerd, client: []tls.Certificate{mine}, code: 200, owner: linkerd, told: me},
		{name: "outside of the networks", why: "cluster-authenticated looks at the address too", proxy: Linkerd{Policy: ClusterAuthenticated, Networks: outside}, sni: linkerd, client: []tls.Certificate{mine}, code: 403},
		{name: "denied", why: "deny", proxy: Linkerd{Policy: Deny}, sni: linkerd, client: []tls.Certificate{mine}, code: 403},
		{name: "denied but named", why: "a MeshTLSAuthentication names it", proxy: Linkerd{Policy: Deny, Identities: []string{me}}, sni: linkerd, client: []tls.Certificate{mine}, code: 200, owner: linkerd, told: me},
		{name: "RSA key", why: "no RSA-PSS is verified", sni: linkerd, client: []tls.Certificate{rsa}},
		{name: "TLS 1.2", why: "TLS 1.3 only", sni: linkerd, old: true, client: []tls.Certificate{mine}},
		{name: "another mesh's client", why: "it is verified when it is shown", sni: linkerd, client: []tls.Certificate{newMesh(t).issue(ca.Request{DNSNames: []string{me}})}},
		{name: "foreign SNI", why: "TLS is the application's", app: HTTPS, sni: "app.example", code: 200, owner: "app.example"},
		{name: "foreign SNI, demanded", why: "nobody is authenticated on it", proxy: Linkerd{Policy: AllAuthenticated}, app: HTTPS, sni: "app.example"},
		{name: "no SNI", why: "it is not its own", app: HTTPS, code: 200, owner: "app.example"},
		{name: "opaque", why: "nothing is looked at", proxy: Linkerd{Opaque: true}, app: HTTPS, sni: linkerd, client: []tls.Certificate{mine}, code: 200, owner: "app.example"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := mesh{m.CA, t}
			tt.proxy.Identity = linkerd
			p := m.pod(Config{Proxy: tt.proxy, Leaf: leaf, App: App{Kind: tt.app}})
			c := m.client(tt.alpn, tt.client...)
			c.ServerName = tt.sni
			if tt.old {
				c.MaxVersion = tls.VersionTLS12
			}
			got, err := reach(t, p.Addr(), c)
			if got.Code != tt.code || (err == nil) != (tt.code == 200) {
				t.Fatalf("code %d, err %v, want %d (%s); %+v", got.Code, err, tt.code, tt.why, p.Seen())
			}
			if got.Client != tt.told {
				t.Errorf("the application was told %q, want %q", got.Client, tt.told)
			}
			if tt.owner != "" && Identity(got.State.PeerCertificates[0]) != tt.owner {
				t.Errorf("the certificate is of %q, want %q", Identity(got.State.PeerCertificates[0]), tt.owner)
			}
			if tt.owner == linkerd && got.State.NegotiatedProtocol != "" {
				t.Errorf("negotiated %q: Linkerd negotiates nothing", got.State.NegotiatedProtocol)
			}
		})
	}
}

// TestLinkerdHTTP2 has prior knowledge inside TLS without ALPN, clear text, a
// stream that is no HTTP, and the proxy's own port.
func TestLinkerdHTTP2(t *testing.T) {
	m := newMesh(t)
	leaf := m.issue(ca.Request{DNSNames: []string{linkerd}})
	p := m.pod(Config{Proxy: Linkerd{Identity: linkerd}, Leaf: leaf})
	c := m.client([]string{"h2"})
	c.ServerName = linkerd
	conn, err := dial(t, p.Addr(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t, conn, true); err != nil || got.Proto != "HTTP/2.0" {
		t.Errorf("HTTP/2 inside TLS: %+v, %v", got, err)
	}
	if got, err := ask(t, plain(t, p.Addr()), false); err != nil || got.Client != "" {
		t.Errorf("clear text: %+v, %v", got, err)
	}
	if _, err := reach(t, p.ProxyAddr(), c); err == nil {
		t.Error("4143 took a client without transport.l5d.io/v1")
	}
	stream := m.pod(Config{Proxy: Linkerd{Identity: linkerd}, Leaf: leaf, App: App{Kind: Echo}})
	conn, err = dial(t, stream.Addr(), c)
	if err != nil {
		t.Fatal(err)
	}
	echoes(t, conn)
}
