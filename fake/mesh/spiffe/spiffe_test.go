package spiffe

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json/v2"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/proto/spiffe/workload"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/signing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newCA(t *testing.T, c ca.Config) *ca.CA {
	t.Helper()
	m, err := ca.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func newAgent(t *testing.T, m *ca.CA, entries ...Entry) (*Agent, workload.SpiffeWorkloadAPIClient) {
	t.Helper()
	a, err := StartAgent(AgentConfig{CA: m, Entries: entries, Socket: filepath.Join(t.TempDir(), "s")})
	must(t, err)
	t.Cleanup(func() { a.Close() })
	conn, err := grpc.NewClient(a.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	return a, workload.NewSpiffeWorkloadAPIClient(conn)
}

func asWorkload(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "workload.spiffe.io", "true")
}

// TestSVIDs: SVIDs come at once, bundles when the CA rotates, new SVIDs when the
// agent renews.
func TestSVIDs(t *testing.T) {
	m := newCA(t, ca.Config{Root: "a"})
	a, client := newAgent(t, m, Entry{Path: "/gateway", DNSNames: []string{"lb.example"}, Hint: "lb"})
	stream, err := client.FetchX509SVID(asWorkload(t), &workload.X509SVIDRequest{})
	must(t, err)
	next := func() (*workload.X509SVID, *x509.Certificate, []*x509.Certificate) {
		t.Helper()
		answer, err := stream.Recv()
		must(t, err)
		svid := answer.GetSvids()[0]
		leaf, err := x509.ParseCertificates(svid.GetX509Svid())
		must(t, err)
		roots, err := x509.ParseCertificates(svid.GetBundle())
		must(t, err)
		return svid, leaf[0], roots
	}
	svid, first, roots := next()
	if svid.GetSpiffeId() != "spiffe://example.org/gateway" || svid.GetHint() != "lb" || len(roots) != 1 || first.DNSNames[0] != "lb.example" {
		t.Errorf("%s %q, %d roots", svid.GetSpiffeId(), svid.GetHint(), len(roots))
	}
	if _, err := x509.ParsePKCS8PrivateKey(svid.GetX509SvidKey()); err != nil {
		t.Error(err)
	}
	must(t, m.Add(ca.Root{Name: "b"}))
	if _, leaf, roots := next(); len(roots) != 2 || !leaf.Equal(first) {
		t.Errorf("%d roots, the leaf is the same: %v", len(roots), leaf.Equal(first))
	}
	must(t, m.SignBy("b"))
	next()
	must(t, a.Rotate())
	_, leaf, _ := next()
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: ca.Pool(m.Root("b"))}); err != nil {
		t.Error(err)
	}
}

func TestBundles(t *testing.T) {
	m, other := newCA(t, ca.Config{}), newCA(t, ca.Config{})
	a, client := newAgent(t, m, Entry{Path: "/gateway"})
	stream, err := client.FetchX509Bundles(asWorkload(t), &workload.X509BundlesRequest{})
	must(t, err)
	answer, err := stream.Recv()
	must(t, err)
	if string(answer.GetBundles()["spiffe://example.org"]) != string(m.Root("a").Raw) {
		t.Error("the bundle is another")
	}
	a.Federate("other.example", other.Roots())
	answer, err = stream.Recv()
	must(t, err)
	if len(answer.GetBundles()) != 2 {
		t.Errorf("%d bundles, want the federated one too", len(answer.GetBundles()))
	}
}

// TestAgentRefuses: who does not say that it is no browser, who has no entry, and an
// agent that is broken.
func TestAgentRefuses(t *testing.T) {
	m := newCA(t, ca.Config{})
	a, client := newAgent(t, m, Entry{Path: "/gateway"})
	_, stranger := newAgent(t, m)
	code := func(c workload.SpiffeWorkloadAPIClient, ctx context.Context) codes.Code {
		stream, err := c.FetchX509SVID(ctx, &workload.X509SVIDRequest{})
		must(t, err)
		_, err = stream.Recv()
		return status.Code(err)
	}
	if got := code(client, t.Context()); got != codes.InvalidArgument {
		t.Errorf("without the header: %s", got)
	}
	if got := code(stranger, asWorkload(t)); got != codes.PermissionDenied {
		t.Errorf("without an entry: %s", got)
	}
	for f, want := range map[signing.Fault]codes.Code{signing.Refuse: codes.PermissionDenied, signing.Unavailable: codes.Unavailable} {
		a.Break(f, 1)
		if got := code(client, asWorkload(t)); got != want {
			t.Errorf("%s: %s, want %s", f, got, want)
		}
	}
}

// fetch reads a bundle endpoint.
func fetch(t *testing.T, e *Endpoint, c *tls.Config) (*http.Response, []byte) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: c, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", e.Addr())
	}}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(e.URL())
	must(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	return answer, body
}

func newEndpoint(t *testing.T, c EndpointConfig) *Endpoint {
	t.Helper()
	e, err := StartEndpoint(c)
	must(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

// TestEndpoint: the document in both profiles, for all key types, and its sequence.
func TestEndpoint(t *testing.T) {
	web := newCA(t, ca.Config{})
	m := newCA(t, ca.Config{})
	must(t, m.Add(ca.Root{Name: "r", Key: ca.RSA}), m.Add(ca.Root{Name: "e", Key: ca.Ed25519}))
	e := newEndpoint(t, EndpointConfig{CA: m, Web: web, RefreshHint: 5 * time.Minute})
	read := func(body []byte) (b bundle) {
		t.Helper()
		must(t, json.Unmarshal(body, &b))
		return b
	}
	answer, body := fetch(t, e, &tls.Config{RootCAs: ca.Pool(web.Roots()...)})
	b := read(body)
	if answer.StatusCode != 200 || b.RefreshHint != 300 || len(b.Keys) != 3 {
		t.Fatalf("%d: %s", answer.StatusCode, body)
	}
	for i, root := range m.Roots() {
		der, err := base64.StdEncoding.DecodeString(b.Keys[i].Certs[0])
		if err != nil || string(der) != string(root.Raw) || b.Keys[i].Use != "x509-svid" {
			t.Errorf("key %d: %+v, %v", i, b.Keys[i], err)
		}
	}
	x, err := base64.RawURLEncoding.DecodeString(b.Keys[0].X)
	must(t, err)
	y, err := base64.RawURLEncoding.DecodeString(b.Keys[0].Y)
	must(t, err)
	point, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
	if err != nil || !point.Equal(m.Root("a").PublicKey) {
		t.Error("x and y are of another key")
	}
	before := b.Sequence
	must(t, m.Drop("e"))
	for end := time.Now().Add(5 * time.Second); b.Sequence == before && time.Now().Before(end); {
		_, body = fetch(t, e, &tls.Config{RootCAs: ca.Pool(web.Roots()...)})
		b = read(body)
	}
	if b.Sequence != before+1 || len(b.Keys) != 2 {
		t.Errorf("sequence %d after %d, %d keys", b.Sequence, before, len(b.Keys))
	}
	if _, err := StartEndpoint(EndpointConfig{CA: m}); err == nil {
		t.Error("https_web without a CA of the web was started")
	}
}

// TestEndpointSPIFFE: the server is a SPIFFE ID of the trust domain that it serves.
func TestEndpointSPIFFE(t *testing.T) {
	m := newCA(t, ca.Config{})
	e := newEndpoint(t, EndpointConfig{CA: m, Profile: SPIFFE})
	var id string
	answer, _ := fetch(t, e, &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
		id = s.PeerCertificates[0].URIs[0].String()
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: ca.Pool(m.Roots()...)})
		return err
	}})
	if answer.StatusCode != 200 || id != "spiffe://example.org/spire/server" {
		t.Errorf("%d by %q", answer.StatusCode, id)
	}
}

func TestEndpointFaults(t *testing.T) {
	web, m := newCA(t, ca.Config{}), newCA(t, ca.Config{})
	e := newEndpoint(t, EndpointConfig{CA: m, Web: web, RetryAfter: 7 * time.Second, Delay: time.Millisecond})
	config := &tls.Config{RootCAs: ca.Pool(web.Roots()...)}
	_, good := fetch(t, e, config)
	for _, tt := range []struct {
		fault BundleFault
		code  int
		body  string
	}{
		{Garbage, 200, `{"keys": [`}, {Empty, 200, `{"keys": []}`}, {TooMany, 429, ""}, {Overload, 503, ""}, {Slow, 200, string(good)},
	} {
		e.Break(tt.fault, 1)
		answer, body := fetch(t, e, config)
		if answer.StatusCode != tt.code || string(body) != tt.body {
			t.Errorf("%s: %d %s", tt.fault, answer.StatusCode, body)
		}
		if tt.fault == TooMany && answer.Header.Get("Retry-After") != "7" {
			t.Errorf("Retry-After is %q", answer.Header.Get("Retry-After"))
		}
		if _, body := fetch(t, e, config); string(body) != string(good) {
			t.Errorf("after %s: %s", tt.fault, body)
		}
	}
	e.Break(Stale, 0)
	must(t, m.Add(ca.Root{Name: "b"}))
	if _, body := fetch(t, e, config); string(body) != string(good) {
		t.Errorf("stale: %s", body)
	}
	if e.Requests() != 12 {
		t.Errorf("%d requests were counted, want 12", e.Requests())
	}
}
