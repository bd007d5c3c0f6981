package serve

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func httpsOf(certificates ...tls.Certificate) Listener {
	return Listener{Port: 443, Protocol: HTTPS, Certificates: certificates, Default: fixedAnswer(200, "ok")}
}

// TestSNI is the choice among certificates.
func TestSNI(t *testing.T) {
	ca := newAuthority(t, "root")
	until := func(d time.Duration) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.NotAfter = time.Now().Add(d) }
	}
	def := ca.issue([]string{"default.example.com"})
	rsa1, ec := ca.issueRSA([]string{"a.example.com"}), ca.issue([]string{"a.example.com"})
	wild := ca.issue([]string{"*.example.com"}, until(time.Minute))
	short, long := ca.issue([]string{"b.example.org"}, until(time.Minute)), ca.issue([]string{"b.example.org"}, until(2*time.Hour))
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(httpsOf(def, rsa1, ec, wild, short, long))}})
	for _, c := range []struct {
		name, server string
		suites       []uint16
		want         tls.Certificate
		why          string
	}{
		{"no name", "", nil, def, "the default one"},
		{"no match", "x.example.net", nil, def, "the default one"},
		{"ECDSA before RSA", "a.example.com", nil, ec, "both match, and so does the wildcard"},
		{"RSA only", "a.example.com", []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}, rsa1, "the best that the client supports"},
		{"wildcard", "c.example.com", nil, wild, "one label"},
		{"not two labels", "c.d.example.com", nil, def, "a wildcard is one label"},
		{"validity", "b.example.org", nil, long, "all else equal, the longest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := &tls.Config{ServerName: c.server, InsecureSkipVerify: true, CipherSuites: c.suites}
			if c.suites != nil {
				config.MaxVersion = tls.VersionTLS12
			}
			conn, err := tls.Dial("tcp", l.at(443), config)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if got := conn.ConnectionState().PeerCertificates[0]; !got.Equal(c.want.Leaf) {
				t.Errorf("%v, want %v: %s", got.DNSNames, c.want.Leaf.DNSNames, c.why)
			}
		})
	}
}

// TestTLSVersions: the policy's name says from where on.
func TestTLSVersions(t *testing.T) {
	ca := newAuthority(t, "root")
	for policy, want := range map[string][2]bool{ // TLS 1.1, TLS 1.2
		"ELBSecurityPolicy-TLS13-1-2-2021-06": {false, true}, "ELBSecurityPolicy-TLS13-1-3-2021-06": {false, false}, "ELBSecurityPolicy-2016-08": {true, true}} {
		listener := httpsOf(ca.issueRSA([]string{"a"}))
		listener.TLSPolicy = policy
		l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(listener)}})
		for i, version := range []uint16{tls.VersionTLS11, tls.VersionTLS12} {
			conn, err := tls.Dial("tcp", l.at(443), &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
			if err == nil {
				conn.Close()
			}
			if (err == nil) != want[i] {
				t.Errorf("%s with %s: %v, want it to work: %t", policy, tls.VersionName(version), err, want[i])
			}
		}
	}
}

// TestHTTP2 is offered by ALPN, on HTTPS, unless it is switched off.
func TestHTTP2(t *testing.T) {
	ca := newAuthority(t, "root")
	for _, c := range []struct {
		on   string
		want string
	}{{"true", "h2"}, {"false", "http/1.1"}} {
		b := albOf(httpsOf(ca.issue([]string{"a"})))
		b.Attributes["routing.http2.enabled"] = c.on
		l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{b}})
		conn, err := tls.Dial("tcp", l.at(443), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if got := conn.ConnectionState().NegotiatedProtocol; got != c.want {
			t.Errorf("with http2.enabled=%s: %q, want %q", c.on, got, c.want)
		}
	}
}

// mutualWorld is a verifying listener with its roots.
type mutualWorld struct {
	*lab
	server, clients, others *authority
	backend                 *backend
}

func newMutualWorld(t *testing.T, m MutualTLS, edits ...func(*Config)) *mutualWorld {
	t.Helper()
	w := &mutualWorld{server: newAuthority(t, "server root"), clients: newAuthority(t, "client root"), others: newAuthority(t, "another root"), backend: newBackend(t, "a")}
	listener := httpsOf(w.server.issue([]string{"a.example.com"}))
	listener.MutualTLS, listener.Default = &m, forwardTo("a")
	c := Config{LoadBalancers: []LoadBalancer{albOf(listener)}, TargetGroups: []TargetGroup{groupOf("a", w.backend.healthy())},
		TrustStores: []TrustStore{{Name: "store", Roots: []*x509.Certificate{w.clients.cert}}}}
	for _, edit := range edits {
		edit(&c)
	}
	w.lab = newLab(t, Options{}, c)
	return w
}

func (w *mutualWorld) fetch(certificates ...tls.Certificate) (*http.Response, error) {
	config := &tls.Config{ServerName: "a.example.com", RootCAs: w.server.pool()}
	if len(certificates) > 0 { // also one that the server does not ask for by its issuer
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificates[0], nil }
	}
	res, err := w.client(443, config).Do(get(w.t, "https://a.example.com/", "X-Amzn-Mtls-Clientcert-Leaf: spoofed"))
	if err == nil {
		res.Body.Close()
	}
	return res, err
}

// TestMutualVerify: a failure is a failed handshake, with the reason in the log.
func TestMutualVerify(t *testing.T) {
	w := newMutualWorld(t, MutualTLS{Mode: MutualVerify, TrustStore: "store", AdvertiseCANames: true})
	revoked := w.clients.issue([]string{"revoked.example.com"})
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now(), NextUpdate: time.Now().Add(time.Hour),
		RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: revoked.Leaf.SerialNumber, RevocationTime: time.Now()}}}
	parsed := must(x509.ParseRevocationList(must(x509.CreateRevocationList(rand.Reader, list, w.clients.cert, w.clients.key))))
	listener := httpsOf(w.server.issue([]string{"a.example.com"}))
	listener.MutualTLS, listener.Default = &MutualTLS{Mode: MutualVerify, TrustStore: "store"}, forwardTo("a")
	w.apply(Config{LoadBalancers: []LoadBalancer{albOf(listener)}, TargetGroups: []TargetGroup{groupOf("a", w.backend.healthy())},
		TrustStores: []TrustStore{{Name: "store", Roots: []*x509.Certificate{w.clients.cert}, Revocation: []*x509.RevocationList{parsed}}}})
	for _, c := range []struct {
		name   string
		certs  []tls.Certificate
		reason string
	}{
		{"good", []tls.Certificate{w.clients.issue([]string{"good.example.com"})}, ""},
		{"none", nil, "no certificate"},
		{"another root", []tls.Certificate{w.others.issue([]string{"x"})}, "Failed:ClientCertUntrusted"},
		{"expired", []tls.Certificate{w.clients.issue([]string{"x"}, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })}, "Failed:ClientCertExpired"},
		{"not yet", []tls.Certificate{w.clients.issue([]string{"x"}, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })}, "Failed:ClientCertNotYetValid"},
		{"for servers", []tls.Certificate{w.clients.issue([]string{"x"}, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })}, "Failed:ClientCertPurposeInvalid"},
		{"revoked", []tls.Certificate{revoked}, "Failed:ClientCertCrlHit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.fetch(c.certs...)
			if (err == nil) != (c.reason == "") {
				t.Fatalf("%v, want a failure: %t", err, c.reason != "")
			}
			if strings.HasPrefix(c.reason, "Failed:") {
				w.entry(func(e Entry) bool { return e.Why == c.reason && e.Client.IsValid() })
			}
		})
	}
}

// TestMutualHeaders are what a target learns, under their own or other names.
func TestMutualHeaders(t *testing.T) {
	w := newMutualWorld(t, MutualTLS{Mode: MutualVerify, TrustStore: "store"}, func(c *Config) {
		c.LoadBalancers[0].Listeners[0].Attributes = map[string]string{"routing.http.request.x_amzn_mtls_clientcert_subject.header_name": "Who"}
	})
	cert := w.clients.issue([]string{"good.example.com"})
	if _, err := w.fetch(cert); err != nil {
		t.Fatal(err)
	}
	h := w.backend.last.Load().Header
	leaf := cert.Leaf
	for name, want := range map[string]string{
		"X-Amzn-Mtls-Clientcert-Serial-Number": strings.ToUpper(leaf.SerialNumber.Text(16)),
		"X-Amzn-Mtls-Clientcert-Issuer":        "CN=client root",
		"Who":                                  `CN=good.example.com,O=Example\, Inc`,
		"X-Amzn-Mtls-Clientcert-Subject":       "",
		"X-Amzn-Mtls-Clientcert-Validity":      "NotBefore=" + leaf.NotBefore.UTC().Format(time.RFC3339) + ";NotAfter=" + leaf.NotAfter.UTC().Format(time.RFC3339),
		"X-Amzn-Mtls-Clientcert":               "",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := pemOf(t, h.Get("X-Amzn-Mtls-Clientcert-Leaf")); !got.Equal(leaf) {
		t.Errorf("the leaf is %v", got.Subject)
	}
}

func pemOf(t *testing.T, escaped string) *x509.Certificate {
	t.Helper()
	if strings.ContainsAny(escaped, "\n ") || strings.Contains(escaped, "%2F") || strings.Contains(escaped, "%2B") {
		t.Errorf("not escaped as documented: %q", escaped)
	}
	text, err := url.PathUnescape(escaped)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		t.Fatalf("no PEM: %q", text)
	}
	return must(x509.ParseCertificate(block.Bytes))
}

// TestMutualPassthrough believes nothing and tells the chain.
func TestMutualPassthrough(t *testing.T) {
	w := newMutualWorld(t, MutualTLS{Mode: MutualPassthrough})
	cert := w.others.issue([]string{"anybody"})
	if _, err := w.fetch(cert); err != nil {
		t.Fatal(err)
	}
	if got := pemOf(t, w.backend.last.Load().Header.Get("X-Amzn-Mtls-Clientcert")); !got.Equal(cert.Leaf) {
		t.Errorf("the chain begins with %v", got.Subject)
	}
	if _, err := w.fetch(); err != nil {
		t.Errorf("without a certificate: %v", err)
	}
	if got := w.backend.last.Load().Header.Get("X-Amzn-Mtls-Clientcert-Leaf"); got != "" {
		t.Errorf("a client's own header reached the target: %q", got)
	}
	strict := newMutualWorld(t, MutualTLS{Mode: MutualPassthrough}, func(c *Config) { c.Undocumented.PassthroughEmpty = Refused })
	if _, err := strict.fetch(); err == nil {
		t.Error("the switch PassthroughEmpty=Refused admits a client without a certificate")
	}
}

// TestIgnoreExpiry lets an expired certificate in, and no other.
func TestIgnoreExpiry(t *testing.T) {
	w := newMutualWorld(t, MutualTLS{Mode: MutualVerify, TrustStore: "store", IgnoreExpiry: true})
	old := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
	if _, err := w.fetch(w.clients.issue([]string{"x"}, old)); err != nil {
		t.Errorf("expired: %v", err)
	}
	if _, err := w.fetch(w.others.issue([]string{"x"}, old)); err == nil {
		t.Error("a client of another root was let in")
	}
}

// TestBrokenTrust: what cannot be verified is let in by nobody, and Apply says so.
func TestBrokenTrust(t *testing.T) {
	ca := newAuthority(t, "root")
	listener := httpsOf(ca.issue([]string{"a.example.com"}))
	listener.MutualTLS = &MutualTLS{Mode: MutualVerify, TrustStore: "nowhere"}
	l := newLab(t, Options{}, Config{})
	err := l.Apply(t.Context(), Config{LoadBalancers: []LoadBalancer{albOf(listener)}})
	if err == nil || !strings.Contains(err.Error(), `no trust store "nowhere"`) {
		t.Errorf("Apply: %v", err)
	}
	cert := ca.issue([]string{"x"})
	config := &tls.Config{ServerName: "a.example.com", RootCAs: ca.pool(), Certificates: []tls.Certificate{cert}}
	if res, err := l.client(443, config).Do(get(t, "https://a.example.com/")); err == nil {
		res.Body.Close()
		t.Error("a client was let in")
	}
}

// TestTLSHeaders are OpenSSL's names.
func TestTLSHeaders(t *testing.T) {
	for id, want := range map[uint16]string{tls.TLS_AES_128_GCM_SHA256: "TLS_AES_128_GCM_SHA256", tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: "ECDHE-RSA-AES128-GCM-SHA256",
		tls.TLS_RSA_WITH_AES_256_CBC_SHA: "AES256-SHA", tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-ECDSA-CHACHA20-POLY1305"} {
		if got := cipherName(id); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := versionName(tls.VersionTLS13); got != "TLSv1.3" {
		t.Errorf("%s, want TLSv1.3", got)
	}
}

// TestBackendTLS verifies nothing, and sends a name only where the switch says so.
func TestBackendTLS(t *testing.T) {
	ca := newAuthority(t, "nobody trusts this")
	cert := ca.issue([]string{"other.example.com"}, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	for position, want := range map[Position]string{None: "", Host: "a.example.com"} {
		names := make(chan string, 4)
		b := newBackend(t, "a", func(b *backend) {
			b.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				names <- hello.ServerName
				return &tls.Config{Certificates: []tls.Certificate{cert}}, nil
			}}
		})
		g := groupOf("a", b.healthy())
		g.Protocol = HTTPS
		l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("a")})}, TargetGroups: []TargetGroup{g},
			Undocumented: Undocumented{BackendSNI: position}})
		if res := do(t, l.client(80, nil), get(t, "http://a.example.com/x")); res.body != "a GET /x host=a.example.com" {
			t.Errorf("BackendSNI=%s: %d %q", position, res.StatusCode, res.body)
		}
		if got := <-names; got != want {
			t.Errorf("BackendSNI=%s: the name is %q, want %q", position, got, want)
		}
	}
}
