package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

func httpsListener(name, hostname string, certificates []string, rules ...lbmodel.Rule) lbmodel.Listener {
	return lbmodel.Listener{Name: name, Port: 443, Protocol: lbmodel.ProtocolHTTPS, Hostname: hostname, Rules: rules,
		TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSTerminate, Certificates: certificates}}
}

// handshake returns the leaf that the plane serves for a name.
func handshake(p *plane, port int32, config *tls.Config) (tls.ConnectionState, error) {
	conn, err := tls.Dial("tcp", p.at(port), config)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer conn.Close()
	return conn.ConnectionState(), nil
}

// TestC33OneCertificateMissing serves b.test untouched and the other listener
// with the certificate that is there; once the second is there it is served too.
func TestC33OneCertificateMissing(t *testing.T) {
	ca := newAuthority(t, "ca")
	a := echo(t, "a")
	gw := gatewayOf("edge", []lbmodel.Listener{
		httpsListener("first", "a.test", []string{"good", "absent"}, prefixRule("/", to("a"))),
		httpsListener("second", "b.test", []string{"good2"}, prefixRule("/", to("a"))),
	}, poolOf("a", lbmodel.PoolHTTP1, a.addr()))
	gw.Keys = map[string]tls.Certificate{"good": ca.issue("good.test", "a.test"), "good2": ca.issue("b.test")}
	p := newPlane(t, Config{})
	err := p.Program(t.Context(), []Gateway{gw})
	if lbmodel.CodeOf(err) != lbmodel.CodeInvalid || !strings.Contains(err.Error(), `"absent"`) {
		t.Errorf("Program: %v; want Invalid naming the certificate that is missing", err)
	}
	for name, want := range map[string]string{"a.test": "good.test", "b.test": "b.test"} {
		state, err := handshake(p, 443, &tls.Config{ServerName: name, RootCAs: ca.pool()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := state.PeerCertificates[0].DNSNames[0]; got != want {
			t.Errorf("%s: served %s, want %s", name, got, want)
		}
	}
	_, err = handshake(p, 443, &tls.Config{ServerName: "c.test", RootCAs: ca.pool()})
	if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
		t.Errorf("c.test: %v; want the alert unrecognized_name", err)
	}
	eventually(t, "the refused handshake is counted", func() bool { return p.Counters().Failures[FailedHandshake] == 1 })
}

// TestCertificateChoice prefers exact over wildcard over default, and ECDSA where
// the client takes it.
func TestCertificateChoice(t *testing.T) {
	ca := newAuthority(t, "ca")
	gw := gatewayOf("edge", []lbmodel.Listener{httpsListener("any", "", []string{"default", "wild", "exact-rsa", "exact"})})
	gw.Keys = map[string]tls.Certificate{"default": ca.issueRSA("default.test"), "wild": ca.issue("*.a.test"),
		"exact-rsa": ca.issueRSA("x.a.test"), "exact": ca.issue("x.a.test")}
	p := newPlane(t, Config{}, gw)
	onlyRSA := []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}
	for _, c := range []struct {
		name, server string
		suites       []uint16
		want, why    string
	}{
		{"exact", "x.a.test", nil, "exact", "ECDSA is cheaper for the gateway"},
		{"exact for an old client", "x.a.test", onlyRSA, "exact-rsa", "a client without ECDSA gets the RSA certificate"},
		{"wildcard", "y.a.test", nil, "wild", "no exact name"},
		{"no name", "", nil, "default", "the first is the default"},
		{"unknown name", "other.test", nil, "default", "the listener takes any host, so somebody must be served"},
	} {
		config := &tls.Config{ServerName: c.server, InsecureSkipVerify: true}
		if c.suites != nil {
			config.CipherSuites, config.MaxVersion = c.suites, tls.VersionTLS12
		}
		state, err := handshake(p, 443, config)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := state.PeerCertificates[0]; !got.Equal(gw.Keys[c.want].Leaf) {
			t.Errorf("%s: served %v %v, want %s: %s", c.name, got.DNSNames, got.PublicKeyAlgorithm, c.want, c.why)
		}
	}
	_, err := handshake(p, 443, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS11, MaxVersion: tls.VersionTLS11})
	if err == nil {
		t.Error("TLS 1.1 was accepted; the least is 1.2 (RFC 8996)")
	}
}

// TestMisdirectedRequests answers 421 when an HTTP/2 client coalesces hosts of
// different listeners on one connection.
func TestMisdirectedRequests(t *testing.T) {
	ca := newAuthority(t, "ca")
	a := echo(t, "a")
	gw := gatewayOf("edge", []lbmodel.Listener{
		httpsListener("one", "one.test", []string{"all"}, prefixRule("/", to("a"))),
		httpsListener("two", "two.test", []string{"all"}, prefixRule("/", to("a"))),
		httpsListener("wild", "*.wild.test", []string{"all"}, prefixRule("/", to("a"))),
	}, poolOf("a", lbmodel.PoolHTTP1, a.addr()))
	gw.Keys = map[string]tls.Certificate{"all": ca.issue("one.test", "two.test", "*.wild.test")}
	p := newPlane(t, Config{}, gw)
	for _, c := range []struct {
		name, sni, host string
		want            int
	}{
		{"same", "one.test", "one.test", 200},
		{"other listener", "one.test", "two.test", 421},
		{"same wildcard listener", "x.wild.test", "y.wild.test", 200},
		{"nobody's host", "one.test", "three.test", 404},
	} {
		for _, protocol := range []string{"http1", "http2"} {
			client := p.client(443, &tls.Config{ServerName: c.sni, RootCAs: ca.pool()}, protocol)
			if res, _ := answerOf(t, client, get(t, "https://"+c.host+"/")); res.StatusCode != c.want {
				t.Errorf("%s over %s: SNI %s, host %s: status %d, want %d", c.name, protocol, c.sni, c.host, res.StatusCode, c.want)
			}
		}
	}
}

// TestClientValidation lets only verified clients in, or any where the listener
// falls back, and no other listener's session around it.
func TestClientValidation(t *testing.T) {
	ca, clients, strangers := newAuthority(t, "ca"), newAuthority(t, "clients"), newAuthority(t, "strangers")
	a := echo(t, "a")
	validate := func(l lbmodel.Listener, trust string, insecure bool) lbmodel.Listener {
		l.TLS.Validation = &lbmodel.ClientValidation{Trust: trust, Insecure: insecure}
		return l
	}
	gw := gatewayOf("edge", []lbmodel.Listener{
		httpsListener("open", "open.test", []string{"all"}, prefixRule("/", to("a"))),
		validate(httpsListener("strict", "strict.test", []string{"all"}, prefixRule("/", to("a"))), "clients", false),
		validate(httpsListener("loose", "loose.test", []string{"all"}, prefixRule("/", to("a"))), "clients", true),
		validate(httpsListener("empty", "empty.test", []string{"all"}, prefixRule("/", to("a"))), "nobody", false),
	}, poolOf("a", lbmodel.PoolHTTP1, a.addr()))
	gw.Model.Trust = []lbmodel.Trust{trustOf("clients", clients), trustOf("nobody")}
	gw.Keys = map[string]tls.Certificate{"all": ca.issue("open.test", "strict.test", "loose.test", "empty.test")}
	p := newPlane(t, Config{}, gw)
	known, unknown := clients.issue("me.test"), strangers.issue("me.test")
	const refused = 0
	for _, c := range []struct {
		name, sni, host string
		key             *tls.Certificate
		want            int
		why             string
	}{
		{"known", "strict.test", "strict.test", &known, 200, "its chain ends in the listener's trust"},
		{"none", "strict.test", "strict.test", nil, refused, "AllowValidOnly"},
		{"unknown", "strict.test", "strict.test", &unknown, refused, "AllowValidOnly"},
		{"none, fallback", "loose.test", "loose.test", nil, 200, "AllowInsecureFallback"},
		{"unknown, fallback", "loose.test", "loose.test", &unknown, 200, "AllowInsecureFallback"},
		{"known, empty trust", "empty.test", "empty.test", &known, refused, "no root verifies nobody"},
		{"around by Host", "open.test", "strict.test", nil, 421, "the other listener's connection has no client certificate"},
		{"around by no name", "", "strict.test", nil, 421, "the default listener's connection has none either"},
	} {
		config := &tls.Config{ServerName: c.sni, InsecureSkipVerify: true}
		if c.key != nil {
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.key, nil }
		}
		host := c.host
		client := p.client(443, config)
		if c.sni == "" {
			client = noSNIClient(t, p, 443)
		}
		res, err := client.Do(get(t, "https://"+host+"/"))
		got := refused
		if err == nil {
			got = res.StatusCode
			res.Body.Close()
		}
		if got != c.want {
			t.Errorf("%s: got %d (%v), want %d: %s", c.name, got, err, c.want, c.why)
		}
	}
}

// TestClientRootRemoved lets a kept connection live through a rotation of the
// client roots, and ends it when its own root is gone: 421 makes a client connect
// anew, and be refused.
func TestClientRootRemoved(t *testing.T) {
	ca, old, next := newAuthority(t, "ca"), newAuthority(t, "old"), newAuthority(t, "next")
	a := echo(t, "a")
	trusting := func(roots ...*authority) Gateway {
		l := httpsListener("strict", "strict.test", []string{"all"}, prefixRule("/", to("a")))
		l.TLS.Validation = &lbmodel.ClientValidation{Trust: "clients"}
		gw := gatewayOf("edge", []lbmodel.Listener{l}, poolOf("a", lbmodel.PoolHTTP1, a.addr()))
		gw.Model.Trust = []lbmodel.Trust{trustOf("clients", roots...)}
		return gw
	}
	key, leaf := ca.issue("strict.test"), old.issue("me.test")
	program := func(p *plane, gw Gateway) {
		gw.Keys = map[string]tls.Certificate{"all": key}
		p.program(gw)
	}
	for _, protocol := range []string{"http1", "http2"} {
		p := newPlane(t, Config{})
		program(p, trusting(old))
		client := p.client(443, &tls.Config{ServerName: "strict.test", RootCAs: ca.pool(),
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &leaf, nil }}, protocol)
		for _, c := range []struct {
			name, why string
			roots     []*authority
			want      int // 0: refused
		}{
			{"before", "the root is trusted", []*authority{old}, 200},
			{"rotation", "it still is, among others", []*authority{next, old}, 200},
			{"removed", "the connection is older than the trust", []*authority{next}, 421},
			{"anew", "the connection was closed, and a new one is not verified", []*authority{next}, 0},
		} {
			program(p, trusting(c.roots...))
			got := fetch(client, get(t, "https://strict.test/"))
			if got.err == nil && got.StatusCode != c.want || (got.err != nil) != (c.want == 0) {
				t.Errorf("%s, %s: %+v, want %d: %s", protocol, c.name, got, c.want, c.why)
			}
		}
	}
}

// noSNIClient sends no server name, as a client does that dials an address.
func noSNIClient(t *testing.T, p *plane, port int32) *http.Client {
	at := p.at(port)
	transport := &http.Transport{DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: "127.0.0.1"}}
		return d.DialContext(ctx, "tcp", at)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestTLSPassthroughAndTerminate serves all modes on one port, told apart by the
// name in the ClientHello.
func TestTLSPassthroughAndTerminate(t *testing.T) {
	gate, own := newAuthority(t, "gate"), newAuthority(t, "own")
	behind := tlsEcho(t, own.issue("pass.test", "sub.pass.test"), "behind")
	plain := tcpEcho(t, "plain")
	web := echo(t, "web")
	sni := func(name, host, pool string, mode lbmodel.TLSMode) lbmodel.Listener {
		return lbmodel.Listener{Name: name, Port: 443, Protocol: lbmodel.ProtocolTLS, Hostname: host,
			TLS: &lbmodel.FrontendTLS{Mode: mode, Certificates: []string{"all"}},
			SNI: []lbmodel.SNIRule{{Hostname: host, Forward: lbmodel.Forward{Backends: []lbmodel.Backend{to(pool)}}}}}
	}
	gw := gatewayOf("edge", []lbmodel.Listener{
		sni("pass", "pass.test", "behind", lbmodel.TLSPassthrough), sni("wild", "*.pass.test", "behind", lbmodel.TLSPassthrough),
		sni("end", "end.test", "plain", lbmodel.TLSTerminate), httpsListener("web", "web.test", []string{"all"}, prefixRule("/", to("web"))),
	}, poolOf("behind", lbmodel.PoolTCP, behind), poolOf("plain", lbmodel.PoolTCP, plain), poolOf("web", lbmodel.PoolHTTP1, web.addr()))
	gw.Keys = map[string]tls.Certificate{"all": gate.issue("end.test", "web.test")}
	p := newPlane(t, Config{}, gw)
	for _, c := range []struct {
		name string
		from *authority
		want string
	}{{"pass.test", own, "behind"}, {"sub.pass.test", own, "behind"}, {"end.test", gate, "plain"}} {
		conn, err := tls.Dial("tcp", p.at(443), &tls.Config{ServerName: c.name, RootCAs: c.from.pool()})
		if err != nil {
			t.Errorf("%s: %v; want the certificate of %s", c.name, err, c.from.name)
			continue
		}
		if got := exchangeLine(t, conn, "hello"); got != c.want+" hello" {
			t.Errorf("%s: got %q", c.name, got)
		}
		conn.Close()
	}
	client := p.client(443, &tls.Config{ServerName: "web.test", RootCAs: gate.pool()}, "http2")
	if res, body := answerOf(t, client, get(t, "https://web.test/")); res.ProtoMajor != 2 || !strings.HasPrefix(body, "web ") {
		t.Errorf("web.test: HTTP/%d %q, want HTTP/2 beside passthrough", res.ProtoMajor, body)
	}
	if _, err := handshake(p, 443, &tls.Config{ServerName: "nobody.test", InsecureSkipVerify: true}); !errors.Is(err, io.EOF) {
		t.Errorf("nobody.test: %v; no listener has the name, and where sessions are passed through none is begun to say so", err)
	}
}

// TestSilentTLSClient ends a client that never sends its ClientHello.
func TestSilentTLSClient(t *testing.T) {
	gw := gatewayOf("edge", []lbmodel.Listener{{Name: "pass", Port: 443, Protocol: lbmodel.ProtocolTLS,
		TLS: &lbmodel.FrontendTLS{Mode: lbmodel.TLSPassthrough}}})
	p := newPlane(t, Config{Limits: Limits{HeaderTime: 100 * time.Millisecond}}, gw)
	conn := must(net.Dial("tcp", p.at(443)))
	defer conn.Close()
	conn.Write([]byte{22, 3, 1})
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a ClientHello that never comes: %v, want the connection closed", err)
	}
}
