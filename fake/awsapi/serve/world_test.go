package serve

import (
	"bufio"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// anywhere is any free port of the address that all tests use.
var anywhere = netip.MustParseAddrPort("127.0.0.1:0")

// lab is a server under test.
type lab struct {
	*Server
	t    *testing.T
	mu   sync.Mutex
	log  []Entry
	more chan struct{} // told of every entry
}

func newLab(t *testing.T, o Options, c Config) *lab {
	t.Helper()
	l := &lab{t: t, more: make(chan struct{}, 1)}
	o.Access = func(e Entry) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.log = append(l.log, e)
		select {
		case l.more <- struct{}{}:
		default:
		}
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 2 * time.Second
	}
	l.Server = New(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := l.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	l.apply(c)
	return l
}

func (l *lab) apply(c Config) {
	l.t.Helper()
	if err := l.Apply(l.t.Context(), c); err != nil {
		l.t.Fatalf("Apply: %v", err)
	}
}

// entry waits for an access log's entry that fits.
func (l *lab) entry(fits func(Entry) bool) Entry {
	l.t.Helper()
	deadline := time.After(5 * time.Second)
	for {
		l.mu.Lock()
		for _, e := range l.log {
			if fits(e) {
				l.mu.Unlock()
				return e
			}
		}
		l.mu.Unlock()
		select {
		case <-l.more:
		case <-deadline:
			l.t.Fatalf("no such entry; the log has %+v", l.log)
		}
	}
}

// at is where a listener's port is really bound.
func (l *lab) at(port int32) string {
	l.t.Helper()
	for _, b := range l.Bound() {
		if b.Port == port {
			return b.Addr.String()
		}
	}
	l.t.Fatalf("port %d is not bound; bound are %v", port, l.Bound())
	return ""
}

// client goes to a listener whatever a URL's host is, from a loopback address of
// its own, and follows no redirects.
func (l *lab) client(port int32, config *tls.Config) *http.Client {
	l.t.Helper()
	at := l.at(port)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}
	t := &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", at) },
		TLSClientConfig: config,
		Protocols:       new(http.Protocols),
	}
	t.Protocols.SetHTTP1(config == nil || len(config.NextProtos) == 0)
	t.Protocols.SetHTTP2(config != nil && len(config.NextProtos) > 0)
	l.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// fetched is a whole answer.
type fetched struct {
	*http.Response
	body string
}

func do(t *testing.T, c *http.Client, r *http.Request) fetched {
	t.Helper()
	res, err := c.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: body: %v", r.Method, r.URL, err)
	}
	return fetched{res, string(body)}
}

// get is a GET with headers given as "Name: value".
func get(t *testing.T, url string, headers ...string) *http.Request {
	t.Helper()
	return request(t, http.MethodGet, url, nil, headers...)
}

func request(t *testing.T, method, url string, body io.Reader, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	return r
}

// raw sends bytes and reads one response.
func (l *lab) raw(port int32, text string) fetched {
	l.t.Helper()
	conn, err := net.Dial("tcp", l.at(port))
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		l.t.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		l.t.Fatalf("%q: %v", text, err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return fetched{res, string(body)}
}

// backend is a real HTTP server that answers with what it saw.
type backend struct {
	*httptest.Server
	name     string
	requests atomic.Int64
	last     atomic.Pointer[http.Request]
	code     atomic.Int64 // of health checks; 0 is 200
}

func newBackend(t *testing.T, name string, options ...func(*backend)) *backend {
	t.Helper()
	b := &backend{name: name}
	b.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.UserAgent(), "ELB-HealthChecker/") {
			w.WriteHeader(cmp.Or(int(b.code.Load()), http.StatusOK))
			return
		}
		b.requests.Add(1)
		b.last.Store(r)
		fmt.Fprintf(w, "%s %s %s host=%s", name, r.Method, r.RequestURI, r.Host)
	}))
	b.Config.ErrorLog = log.New(io.Discard, "", 0)
	for _, o := range options {
		o(b)
	}
	if b.TLS != nil {
		b.StartTLS()
	} else {
		b.Start()
	}
	t.Cleanup(b.Close)
	return b
}

// answering replaces what a backend does.
func answering(h http.HandlerFunc) func(*backend) {
	return func(b *backend) { b.Config.Handler = h }
}

func (b *backend) target() Target {
	return Target{ID: b.name, Address: netip.MustParseAddrPort(b.Listener.Addr().String())}
}

// healthy is the target without any check.
func (b *backend) healthy() Target {
	t := b.target()
	t.State = StateHealthy
	return t
}

func groupOf(name string, targets ...Target) TargetGroup {
	return TargetGroup{Name: name, Type: TargetIP, Protocol: HTTP, Targets: targets, Attributes: map[string]string{}}
}

func forwardTo(groups ...string) []Action {
	f := &Forward{}
	for _, g := range groups {
		f.Groups = append(f.Groups, WeightedGroup{g, 1})
	}
	return []Action{{Forward: f}}
}

func fixedAnswer(status int, body string) []Action {
	return []Action{{Fixed: &FixedResponse{Status: status, ContentType: "text/plain", Body: body}}}
}

// albOf is a load balancer with one HTTP listener on port 80.
func albOf(l Listener) LoadBalancer {
	l.Name, l.Addresses = fmt.Sprint("listener-", l.Port), []netip.AddrPort{anywhere}
	if l.Protocol == "" {
		l.Protocol = HTTP
	}
	return LoadBalancer{Name: "alb", Kind: Application, Attributes: map[string]string{}, Listeners: []Listener{l}}
}

func nlbOf(l Listener) LoadBalancer {
	b := albOf(l)
	b.Name, b.Kind = "nlb", Network
	return b
}

// authority is a certificate authority of a test.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))}
	template := &x509.Certificate{SerialNumber: serial(), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	a.cert = must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key))))
	return a
}

func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// issue makes a leaf for DNS names; edits change its template.
func (a *authority) issue(names []string, edits ...func(*x509.Certificate)) tls.Certificate {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	return a.sign(key, &key.PublicKey, names, edits)
}

func (a *authority) issueRSA(names []string, edits ...func(*x509.Certificate)) tls.Certificate {
	key := must(rsa.GenerateKey(rand.Reader, 2048))
	return a.sign(key, &key.PublicKey, names, edits)
}

func (a *authority) sign(key, public any, names []string, edits []func(*x509.Certificate)) tls.Certificate {
	template := &x509.Certificate{SerialNumber: serial(), Subject: pkix.Name{CommonName: names[0], Organization: []string{"Example, Inc"}}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for _, edit := range edits {
		edit(template)
	}
	der := must(x509.CreateCertificate(rand.Reader, template, a.cert, public, a.key))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: must(x509.ParseCertificate(der))}
}

func serial() *big.Int { return must(rand.Int(rand.Reader, big.NewInt(1<<62))) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// eventually polls for what becomes true without telling.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not in 5 s: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func storeOf(a *authority) TrustStore {
	return TrustStore{Name: "store", Roots: []*x509.Certificate{a.cert}}
}
