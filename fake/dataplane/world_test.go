package dataplane

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatehouse.dev/lbmodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// local is the address that all tests use.
var local = netip.MustParseAddr("127.0.0.1")

// plane is a data plane under test.
type plane struct {
	*DataPlane
	t *testing.T
}

func newPlane(t *testing.T, c Config, gateways ...Gateway) *plane {
	t.Helper()
	c.Ports = PortsFree
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 5 * time.Second
	}
	p := &plane{New(c), t}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		p.Shutdown(ctx)
	})
	p.program(gateways...)
	return p
}

func (p *plane) program(gateways ...Gateway) {
	p.t.Helper()
	if err := p.Program(p.t.Context(), gateways); err != nil {
		p.t.Fatalf("Program: %v", err)
	}
}

// at is where a listener port is really bound.
func (p *plane) at(port int32) string {
	p.t.Helper()
	for _, b := range p.Bound() {
		if b.Port == port {
			return b.Addr.String()
		}
	}
	p.t.Fatalf("port %d is not bound; bound are %v", port, p.Bound())
	return ""
}

// client is an HTTP client that goes to the plane's port whatever a URL's host
// says, and follows no redirect.
func (p *plane) client(port int32, config *tls.Config, protocols ...string) *http.Client {
	at := p.at(port)
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", at)
		},
		TLSClientConfig:    config,
		DisableCompression: true,
		Protocols:          new(http.Protocols),
	}
	if len(protocols) == 0 {
		protocols = []string{"http1"}
	}
	for _, name := range protocols {
		switch name {
		case "http1":
			transport.Protocols.SetHTTP1(true)
		case "http2":
			transport.Protocols.SetHTTP2(true)
		case "h2c":
			transport.Protocols.SetUnencryptedHTTP2(true)
		}
	}
	p.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		Timeout:       20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// gatewayOf wraps listeners and pools in a gateway on the local address.
func gatewayOf(name string, listeners []lbmodel.Listener, pools ...lbmodel.Pool) Gateway {
	return Gateway{
		Model: lbmodel.Gateway{
			Owner:     lbmodel.Owner{Cluster: "test", Kind: "Gateway", Namespace: "apps", Name: name},
			Listeners: listeners,
			Pools:     pools,
			Settings:  []byte(`{"allowLoopbackEndpoints":true}`),
		},
		Addresses: []netip.Addr{local},
		Keys:      map[string]tls.Certificate{},
	}
}

func httpListener(port int32, rules ...lbmodel.Rule) lbmodel.Listener {
	return lbmodel.Listener{Name: fmt.Sprint("http-", port), Port: port, Protocol: lbmodel.ProtocolHTTP, Rules: rules}
}

// prefixRule forwards what is below a path.
func prefixRule(path string, backends ...lbmodel.Backend) lbmodel.Rule {
	return lbmodel.Rule{
		Source: lbmodel.Source{Kind: "HTTPRoute", Namespace: "apps", Name: "r", Section: path},
		Match:  lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: path}},
		Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: backends}},
	}
}

func to(pool string) lbmodel.Backend { return lbmodel.Backend{Pool: pool, Weight: 1} }

func poolOf(name string, protocol lbmodel.PoolProtocol, addresses ...string) lbmodel.Pool {
	p := lbmodel.Pool{Name: name, Protocol: protocol, Endpoints: []lbmodel.Endpoint{}}
	for _, a := range addresses {
		p.Endpoints = append(p.Endpoints, endpoint(a))
	}
	return p
}

func endpoint(address string) lbmodel.Endpoint {
	ap := netip.MustParseAddrPort(address)
	return lbmodel.Endpoint{Address: ap.Addr().String(), Port: int32(ap.Port()), Ready: true, Serving: true}
}

// echo answers with its name and what it saw.
func echo(t *testing.T, name string) *backendServer {
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Backend", name)
		fmt.Fprintf(w, "%s %s %s host=%s", name, r.Method, r.RequestURI, r.Host)
	}))
}

// backendServer is a real HTTP server that counts.
type backendServer struct {
	*httptest.Server
	requests atomic.Int64
}

func (b *backendServer) addr() string { return b.Listener.Addr().String() }

func serve(t *testing.T, h http.Handler, options ...func(*httptest.Server)) *backendServer {
	t.Helper()
	b := &backendServer{}
	b.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.requests.Add(1)
		h.ServeHTTP(w, r)
	}))
	b.Config.ErrorLog = quiet()
	for _, o := range options {
		o(b.Server)
	}
	if b.TLS != nil {
		b.StartTLS()
	} else {
		b.Start()
	}
	t.Cleanup(b.Close)
	return b
}

// answerOf sends a request and reads the whole answer.
func answerOf(t *testing.T, c *http.Client, r *http.Request) (*http.Response, string) {
	t.Helper()
	a := fetch(c, r)
	if a.err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.URL, a.err)
	}
	return a.Response, a.body
}

// fetched is a whole answer, or why there is none.
type fetched struct {
	*http.Response
	body string
	err  error
}

// fetch is answerOf for other goroutines than the test's.
func fetch(c *http.Client, r *http.Request) fetched {
	res, err := c.Do(r)
	if err != nil {
		return fetched{err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return fetched{res, string(body), err}
}

// get is a GET of scheme://host/path with headers given as "Name: value".
func get(t *testing.T, address string, headers ...string) *http.Request {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	r := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}, Host: u.Host}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	return r.WithContext(t.Context())
}

// authority is a certificate authority of a test.
type authority struct {
	t    testing.TB
	name string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	a := &authority{t: t, name: name}
	a.key = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: serial(), Subject: pkix.Name{CommonName: name}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der := must(x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key))
	a.cert = must(x509.ParseCertificate(der))
	return a
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

func (a *authority) root() lbmodel.Root {
	sum := sha256.Sum256(a.cert.Raw)
	return lbmodel.Root{SHA256: hex.EncodeToString(sum[:]), NotAfter: a.cert.NotAfter,
		PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))}
}

// issue makes a leaf for DNS names and, with "://" in them, URIs.
func (a *authority) issue(names ...string) tls.Certificate {
	a.t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	return a.sign(key, &key.PublicKey, names)
}

// expired is issue for a leaf whose time is over.
func (a *authority) expired(names ...string) tls.Certificate {
	a.t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	return a.signUntil(time.Now().Add(-time.Minute), key, &key.PublicKey, names)
}

// issueRSA is issue with an RSA key.
func (a *authority) issueRSA(names ...string) tls.Certificate {
	a.t.Helper()
	key := must(rsa.GenerateKey(rand.Reader, 2048))
	return a.sign(key, &key.PublicKey, names)
}

func (a *authority) sign(key, public any, names []string) tls.Certificate {
	return a.signUntil(time.Now().Add(time.Hour), key, public, names)
}

func (a *authority) signUntil(end time.Time, key, public any, names []string) tls.Certificate {
	template := &x509.Certificate{SerialNumber: serial(), NotBefore: time.Now().Add(-time.Hour), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for _, name := range names {
		if strings.Contains(name, "://") {
			template.URIs = append(template.URIs, must(url.Parse(name)))
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der := must(x509.CreateCertificate(rand.Reader, template, a.cert, public, a.key))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: must(x509.ParseCertificate(der))}
}

func trustOf(name string, authorities ...*authority) lbmodel.Trust {
	out := lbmodel.Trust{Name: name}
	for _, a := range authorities {
		out.Roots = append(out.Roots, a.root())
	}
	return out
}

func serial() *big.Int { return must(rand.Int(rand.Reader, big.NewInt(1<<62))) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// quiet is the log of servers whose complaints a test provokes.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
