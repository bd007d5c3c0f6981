package consul

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json/v2"
	"encoding/pem"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/hashicorp/consul/proto-public/pbconnectca"
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

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

type world struct {
	*Server
	t      *testing.T
	ca     *ca.CA
	client pbconnectca.ConnectCAServiceClient
	web    *http.Client
}

// newWorld is a Consul in which token "t" may write gatehouse.
func newWorld(t *testing.T) *world {
	t.Helper()
	m, err := ca.New(ca.Config{})
	must(t, err)
	w := &world{t: t, ca: m}
	w.Server, err = Start(Config{CA: m, Write: func(token, service string) bool { return token == "t" && service == "gatehouse" }})
	must(t, err)
	t.Cleanup(func() { w.Close() })
	conn, err := grpc.NewClient(w.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	w.client = pbconnectca.NewConnectCAServiceClient(conn)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	w.web = &http.Client{Transport: transport, Timeout: 10 * time.Second}
	return w
}

func (w *world) with(token string) context.Context {
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	w.t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "x-consul-token", token)
}

func (w *world) get(path string) (*http.Response, []byte) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, "http://"+w.HTTPAddr()+path, nil)
	must(w.t, err)
	r.Header.Set("X-Consul-Token", "t")
	answer, err := w.web.Do(r)
	must(w.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(w.t, err)
	return answer, body
}

func csrOf(t *testing.T, id string) string {
	t.Helper()
	u, err := url.Parse(id)
	must(t, err)
	key, err := ca.NewKey(ca.ECDSA)
	must(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{URIs: []*url.URL{u}}, key)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

func certOf(t *testing.T, text string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		t.Fatalf("no PEM: %q", text)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	return c
}

// TestWatchRoots: roots come at once and with every change; old ones stay, inactive.
func TestWatchRoots(t *testing.T) {
	w := newWorld(t)
	stream, err := w.client.WatchRoots(w.with("t"), &pbconnectca.WatchRootsRequest{})
	must(t, err)
	first, err := stream.Recv()
	must(t, err)
	if len(first.GetRoots()) != 1 || !first.GetRoots()[0].GetActive() || first.GetTrustDomain() != w.Config().TrustDomain {
		t.Errorf("%+v", first)
	}
	must(t, w.ca.Add(ca.Root{Name: "b"}), w.ca.SignBy("b"))
	for range 2 { // both changes may come as one
		next, err := stream.Recv()
		must(t, err)
		if r := next.GetRoots(); len(r) == 2 && r[1].GetActive() && !r[0].GetActive() && next.GetActiveRootId() == r[1].GetId() {
			return
		}
	}
	t.Error("root b never became active, beside a")
}

func TestSign(t *testing.T) {
	w := newWorld(t)
	id := w.Config().ID("gatehouse")
	must(t, w.ca.Intermediate("a", 0))
	answer, err := w.client.Sign(w.with("t"), &pbconnectca.SignRequest{Csr: csrOf(t, id)})
	must(t, err)
	leaf := certOf(t, answer.GetCertPem())
	_, rest := pem.Decode([]byte(answer.GetCertPem()))
	between := certOf(t, string(rest))
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: ca.Pool(w.ca.Roots()...), Intermediates: ca.Pool(between)}); err != nil {
		t.Error(err)
	}
	if leaf.URIs[0].String() != id || time.Until(leaf.NotAfter) > 72*time.Hour {
		t.Errorf("%s until %s", leaf.URIs[0], leaf.NotAfter)
	}
	other := w.Config()
	other.TrustDomain = "another.consul"
	for _, tt := range []struct {
		name, token, csr string
		want             codes.Code
	}{
		{"no token", "", csrOf(t, id), codes.PermissionDenied},
		{"another service", "t", csrOf(t, w.Config().ID("web")), codes.PermissionDenied},
		{"another trust domain", "t", csrOf(t, other.ID("gatehouse")), codes.InvalidArgument},
		{"no service", "t", csrOf(t, "spiffe://a/b"), codes.InvalidArgument},
		{"no CSR", "t", "", codes.InvalidArgument},
	} {
		if _, err := w.client.Sign(w.with(tt.token), &pbconnectca.SignRequest{Csr: tt.csr}); status.Code(err) != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	for f, want := range map[signing.Fault]codes.Code{signing.Refuse: codes.Unauthenticated, signing.Unavailable: codes.Unavailable} {
		w.Break(f, 1)
		if _, err := w.client.Sign(w.with("t"), &pbconnectca.SignRequest{Csr: csrOf(t, id)}); status.Code(err) != want {
			t.Errorf("%s: %v, want %s", f, err, want)
		}
	}
	if calls := w.Calls(); len(calls) != 8 || calls[0].Code != "OK" {
		t.Errorf("%d calls: %+v", len(calls), calls)
	}
}

// TestRoots: the HTTP list, its PEM, a query that blocks until the CA rotates, and
// the list that never learns of it.
func TestRoots(t *testing.T) {
	w := newWorld(t)
	read := func(body []byte) (l rootList) {
		t.Helper()
		must(t, json.Unmarshal(body, &l))
		return l
	}
	answer, body := w.get("/v1/connect/ca/roots")
	index := answer.Header.Get("X-Consul-Index")
	if l := read(body); len(l.Roots) != 1 || l.ActiveRootID != l.Roots[0].ID {
		t.Errorf("%s", body)
	}
	if _, text := w.get("/v1/connect/ca/roots?pem=true"); string(text) != string(w.ca.Bundle()) {
		t.Errorf("%s", text)
	}
	if answer, _ := w.get("/v1/connect/ca/roots?wait=10ms&index=" + index); answer.Header.Get("X-Consul-Index") != index {
		t.Error("a query that waited for nothing has a new index")
	}
	got := make(chan []byte)
	go func() {
		_, body := w.get("/v1/connect/ca/roots?index=" + index)
		got <- body
	}()
	must(t, w.ca.Add(ca.Root{Name: "b"}))
	if l := read(<-got); len(l.Roots) != 2 {
		t.Errorf("the blocked query has %d roots", len(l.Roots))
	}
	w.Freeze(Roots)
	must(t, w.ca.Add(ca.Root{Name: "c"}))
	if _, body := w.get("/v1/connect/ca/roots"); len(read(body).Roots) != 2 {
		t.Errorf("frozen: %s", body)
	}
	w.Freeze("")
	if _, body := w.get("/v1/connect/ca/roots"); len(read(body).Roots) != 3 {
		t.Errorf("thawed: %s", body)
	}
}

// TestLeaf: the agent's leaf has its key, is the same until the CA rotates, and can
// be stale where the query does not block.
func TestLeaf(t *testing.T) {
	w := newWorld(t)
	const path = "/v1/agent/connect/ca/leaf/gatehouse"
	read := func(path string) (leaf, string) {
		t.Helper()
		answer, body := w.get(path)
		if answer.StatusCode != 200 {
			t.Fatalf("%d %s", answer.StatusCode, body)
		}
		var l leaf
		must(t, json.Unmarshal(body, &l))
		return l, answer.Header.Get("X-Consul-Index")
	}
	first, index := read(path)
	if _, err := tls.X509KeyPair([]byte(first.CertPEM), []byte(first.PrivateKeyPEM)); err != nil {
		t.Error(err)
	}
	if first.ServiceURI != w.Config().ID("gatehouse") || certOf(t, first.CertPEM).URIs[0].String() != first.ServiceURI {
		t.Errorf("%s", first.ServiceURI)
	}
	if again, _ := read(path); again.SerialNumber != first.SerialNumber {
		t.Error("the agent made a new leaf for nothing")
	}
	w.Freeze(Leaves)
	must(t, w.ca.Add(ca.Root{Name: "b"}), w.ca.SignBy("b"))
	fresh, _ := read(path + "?index=" + index)
	if fresh.SerialNumber == first.SerialNumber {
		t.Error("a blocking query got the old leaf")
	}
	if stale, _ := read(path); stale.SerialNumber != fresh.SerialNumber {
		t.Error("frozen, the agent made a new leaf")
	}
	w.Freeze("")
	if answer, _ := w.get("/v1/agent/connect/ca/leaf/web"); answer.StatusCode != 403 {
		t.Errorf("another service: %d, want 403", answer.StatusCode)
	}
	for f, want := range map[signing.Fault]int{signing.Refuse: 403, signing.Unavailable: 500} {
		w.Break(f, 1)
		if answer, body := w.get(path); answer.StatusCode != want {
			t.Errorf("%s: %d %s, want %d", f, answer.StatusCode, body, want)
		}
	}
	w.Break(signing.WrongKey, 1)
	wrong, _ := read(path)
	if _, err := tls.X509KeyPair([]byte(wrong.CertPEM), []byte(wrong.PrivateKeyPEM)); err == nil {
		t.Error("WrongKey: certificate and key fit")
	}
	if right, _ := read(path); right.SerialNumber != fresh.SerialNumber {
		t.Error("a fault left its leaf behind")
	}
}
