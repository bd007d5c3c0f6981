package inbound

import (
	"crypto/tls"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/fake/mesh/ca"
)

// row is a line of the matrix that Istio's own simulator wrote.
type row struct {
	text               string
	gateway            bool
	mode, proto        string
	port, sni, offered string
	reset, terminates  bool
	selects            []string // what the proxy can negotiate
	http               bool
	prefixes           bool // the client's trust domain is looked at
}

var (
	podRow     = regexp.MustCompile(`^D (\S+) +svcproto=(\S*) +port=(\d+) mTLS alpn=(\S+) +=> (.*)$`)
	gatewayRow = regexp.MustCompile(`^G port=(\d+) sni="([^"]*)" +alpn=(\S+) +=> (.*)$`)
	selectsOf  = regexp.MustCompile(`TLS req=true alpn=\[([^\]]*)\] sanmatch=\[([^\]]*)\]`)
)

func matrix(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("testdata/istio-inbound-matrix.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []row
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		r := row{text: line}
		var result string
		if m := podRow.FindStringSubmatch(line); m != nil {
			r.mode, r.proto, r.port, r.offered, result = m[1], m[2], m[3], m[4], m[5]
		} else if m := gatewayRow.FindStringSubmatch(line); m != nil {
			r.gateway, r.port, r.sni, r.offered, result = true, m[1], m[2], m[3], m[4]
		} else {
			t.Fatalf("not understood: %s", line)
		}
		r.reset = strings.HasPrefix(result, "none ")
		r.http = strings.Contains(result, "HCM")
		if m := selectsOf.FindStringSubmatch(result); m != nil {
			r.terminates, r.selects, r.prefixes = true, strings.Fields(m[1]), m[2] != ""
		}
		all = append(all, r)
	}
	return all
}

func (r row) proxy() Proxy {
	if !r.gateway {
		return Istio{Mode: Mode(r.mode), Protocol: Protocol(r.proto), Undeclared: r.port == "9999"}
	}
	switch r.port {
	case "443":
		return IstioGateway{Mode: IstioMutual, Hosts: []string{"foo.bar"}}
	case "8443":
		return IstioGateway{Mode: IstioMutual, Hosts: []string{"*"}}
	}
	return IstioGateway{Mode: AutoPassthrough, Hosts: []string{"outbound_.80_._.foo.bar"}}
}

// TestMatrix shows a real client each of the 57 rows that Istio's own filter chain
// simulator wrote for pilot's real configuration.
func TestMatrix(t *testing.T) {
	m := newMesh(t)
	rows := matrix(t)
	if len(rows) != 57 {
		t.Fatalf("%d rows, want 57", len(rows))
	}
	for _, r := range rows {
		t.Run(r.text, func(t *testing.T) {
			kind := Both
			if !r.terminates {
				kind = HTTPS // so that ciphertext that is passed on gets an answer
			}
			m := mesh{m.CA, t}
			r.check(t, m, m.pod(Config{Proxy: r.proxy(), App: App{Kind: kind}}))
		})
	}
}

func (r row) check(t *testing.T, m mesh, p *Pod) {
	t.Helper()
	offer := []string{r.offered}
	if r.offered == "none-such" {
		r.checkOffer(t, m, p, nil) // a client without ALPN is the same to Istio
	}
	r.checkOffer(t, m, p, offer)
}

func (r row) checkOffer(t *testing.T, m mesh, p *Pod, offer []string) {
	t.Helper()
	c := m.client(offer, m.of(gateway))
	c.ServerName = r.sni
	got, err := reach(t, p.Addr(), c)
	switch {
	case r.reset:
		if err == nil || p.Seen().Resets == 0 || p.Seen().Refused > 0 {
			t.Errorf("offering %q: err %v, %+v: want a reset", offer, err, p.Seen())
		}
		return
	case r.terminates:
		r.checkTerminated(t, got, err, offer)
		r.checkRefusals(t, m, p, offer)
		return
	case r.gateway:
		checkPassed(t, got, err, p)
		return
	}
	checkPassed(t, got, err, p)
}

func (r row) checkTerminated(t *testing.T, got reached, err error, offer []string) {
	t.Helper()
	if err != nil {
		t.Fatalf("offering %q: %v", offer, err)
	}
	want := ""
	if i := slices.IndexFunc(r.selects, func(s string) bool { return slices.Contains(offer, s) }); i >= 0 {
		want = r.selects[i]
	}
	if got.State.NegotiatedProtocol != want {
		t.Errorf("offering %q negotiates %q, want %q", offer, got.State.NegotiatedProtocol, want)
	}
	if name := Identity(got.State.PeerCertificates[0]); name != cart {
		t.Errorf("the proxy is %q, want %q", name, cart)
	}
	if told := strings.Contains(got.Client, gateway); told != r.http {
		t.Errorf("the application was told %q: the proxy read HTTP is %v, want %v", got.Client, told, r.http)
	}
}

// checkRefusals has a client without certificate, and one of another trust domain.
func (r row) checkRefusals(t *testing.T, m mesh, p *Pod, offer []string) {
	t.Helper()
	nobody := m.client(offer)
	nobody.ServerName = r.sni
	if _, err := reach(t, p.Addr(), nobody); err == nil {
		t.Errorf("offering %q without a certificate: no error", offer)
	}
	stranger := m.client(offer, m.of(foreign))
	stranger.ServerName = r.sni
	if _, err := reach(t, p.Addr(), stranger); (err != nil) != r.prefixes {
		t.Errorf("offering %q as %s: err %v, want one: %v", offer, foreign, err, r.prefixes)
	}
}

// checkPassed wants the application's own certificate.
func checkPassed(t *testing.T, got reached, err error, p *Pod) {
	t.Helper()
	// Istio's own ALPN reaches an application that does not know it, which says so.
	if err != nil && !strings.Contains(err.Error(), "no application protocol") {
		t.Fatal(err)
	}
	if err == nil && Identity(got.State.PeerCertificates[0]) != "app.example" {
		t.Errorf("the certificate is of %q, want the application's", Identity(got.State.PeerCertificates[0]))
	}
	if s := p.Seen(); s.Passed == 0 || s.Terminated > 0 {
		t.Errorf("%+v: want ciphertext passed on", s)
	}
}

// TestIstioALPN covers what the matrix leaves out: the other names of Istio's own.
func TestIstioALPN(t *testing.T) {
	all := []string{ALPNIstio, ALPNPeerExchange, ALPNIstioHTTP10, ALPNIstioHTTP11, ALPNIstioH2}
	m := newMesh(t)
	for _, mode := range []Mode{Strict, Permissive} {
		for _, protocol := range []Protocol{HTTP, TCP, Auto} {
			for _, alpn := range all {
				t.Run(fmt.Sprint(mode, " ", protocol, " ", alpn), func(t *testing.T) {
					m := mesh{m.CA, t}
					p := m.pod(Config{Proxy: Istio{Mode: mode, Protocol: protocol}})
					got, err := reach(t, p.Addr(), m.client([]string{alpn}, m.of(gateway)))
					if err != nil {
						t.Fatal(err)
					}
					reads := protocol == HTTP || protocol == Auto && strings.HasPrefix(alpn, "istio-h")
					if told := got.Client != ""; told != reads {
						t.Errorf("read as HTTP: %v, want %v", told, reads)
					}
				})
			}
		}
	}
}

// TestIstioWithoutALPNOfIts covers DISABLE and clear text, which the matrix leaves
// out, as the facts have it.
func TestIstioOtherwise(t *testing.T) {
	m := newMesh(t)
	tests := []struct {
		name, why string
		proxy     Istio
		app       AppKind
		tls       bool
		want      func(Seen) bool
		fails     bool
	}{
		{"strict, clear", "no filter chain takes it", Istio{Mode: Strict, Protocol: HTTP}, Both, false, func(s Seen) bool { return s.Resets == 1 }, true},
		{"strict auto, clear", "no filter chain takes it", Istio{Mode: Strict}, Both, false, func(s Seen) bool { return s.Resets == 1 }, true},
		{"permissive, clear", "the basic, insecure case", Istio{Protocol: HTTP}, Both, false, func(s Seen) bool { return s.Clear == 1 && s.Requests == 1 }, false},
		{"permissive auto, clear", "the proxy sees that it is HTTP", Istio{}, Both, false, func(s Seen) bool { return s.Requests == 1 }, false},
		{"permissive TCP, clear", "bytes", Istio{Protocol: TCP}, Both, false, func(s Seen) bool { return s.Clear == 1 && s.Requests == 0 }, false},
		{"disabled HTTP, TLS", "a ClientHello is no HTTP", Istio{Mode: Disable, Protocol: HTTP}, HTTPS, true, func(s Seen) bool { return s.BadRequests == 1 }, true},
		{"disabled TCP, TLS", "passed through", Istio{Mode: Disable, Protocol: TCP}, HTTPS, true, func(s Seen) bool { return s.Passed == 1 }, false},
		{"disabled auto, TLS", "passed through", Istio{Mode: Disable}, HTTPS, true, func(s Seen) bool { return s.Passed == 1 }, false},
		{"disabled HTTP, clear", "as without a mesh", Istio{Mode: Disable, Protocol: HTTP}, Both, false, func(s Seen) bool { return s.Requests == 1 }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := mesh{m.CA, t}
			p := m.pod(Config{Proxy: tt.proxy, App: App{Kind: tt.app}})
			var err error
			if tt.tls {
				_, err = reach(t, p.Addr(), m.client([]string{"http/1.1"}, m.of(gateway)))
			} else {
				_, err = ask(t, plain(t, p.Addr()), false)
			}
			if (err != nil) != tt.fails {
				t.Errorf("err %v: want one: %v (%s)", err, tt.fails, tt.why)
			}
			if s := p.Seen(); !tt.want(s) {
				t.Errorf("%+v (%s)", s, tt.why)
			}
		})
	}
}

// TestIstioPolicy: an ALLOW rule names principals; one that reads HTTP never
// matches where the proxy reads bytes.
func TestIstioPolicy(t *testing.T) {
	me := []string{"cluster.local/ns/gatehouse-system/sa/gatehouse"}
	tests := []struct {
		name, why string
		protocol  Protocol
		policy    *Policy
		code      int // zero: closed
	}{
		{"named", "the policy names us", HTTP, &Policy{Principals: me}, 200},
		{"not named", "HTTP is answered", HTTP, &Policy{Principals: []string{"cluster.local/ns/a/sa/b"}}, 403},
		{"not named, bytes", "there is no HTTP to answer in", TCP, &Policy{Principals: []string{"cluster.local/ns/a/sa/b"}}, 0},
		{"path", "the path is allowed", HTTP, &Policy{Principals: me, Paths: []string{"/cart"}}, 200},
		{"path, bytes", "a rule with HTTP fields never matches bytes", Auto, &Policy{Principals: me, Paths: []string{"/cart"}}, 0},
	}
	m := newMesh(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := mesh{m.CA, t}
			p := m.pod(Config{Proxy: Istio{Mode: Strict, Protocol: tt.protocol, Policy: tt.policy}})
			got, err := reach(t, p.Addr(), m.client([]string{"http/1.1"}, m.of(gateway)))
			if got.Code != tt.code || (err == nil) != (tt.code == 200) {
				t.Errorf("code %d, err %v, want %d (%s)", got.Code, err, tt.code, tt.why)
			}
		})
	}
}

// TestIstioTLS12: sidecars take TLS 1.2, and nothing below.
func TestIstioTLS12(t *testing.T) {
	m := newMesh(t)
	p := m.pod(Config{Proxy: Istio{Mode: Strict, Protocol: HTTP}})
	for _, tt := range []struct {
		version uint16
		ok      bool
	}{{tls.VersionTLS11, false}, {tls.VersionTLS12, true}, {tls.VersionTLS13, true}} {
		c := m.client([]string{"h2"}, m.issue(ca.Request{URIs: []string{gateway}, Key: ca.RSA}))
		c.MinVersion, c.MaxVersion = tt.version, tt.version
		got, err := reach(t, p.Addr(), c)
		if (err == nil) != tt.ok || tt.ok && got.State.Version != tt.version {
			t.Errorf("%s: got %s, err %v", tls.VersionName(tt.version), tls.VersionName(got.State.Version), err)
		}
	}
}
