package mesh_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	linkerd "github.com/linkerd/linkerd2-proxy-api/go/identity"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	istio "istio.io/api/security/v1alpha1"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/fake/mesh/istiod"
	"gatehouse.dev/fake/mesh/linkerdid"
	"gatehouse.dev/fake/mesh/tokens"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var account = tokens.Account{Namespace: "gatehouse-system", Name: "gatehouse-1"}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// request makes a P-256 key and a CSR for it.
func request(t *testing.T, names ...string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ca.NewKey(ca.ECDSA)
	must(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: names}, key)
	must(t, err)
	return tls.Certificate{PrivateKey: key}, der
}

// told asks a pod over mutual TLS, and returns what its application was told of us.
func told(t *testing.T, pod *inbound.Pod, c *tls.Config) string {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: c}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get("https://" + pod.Addr())
	must(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	return string(body)
}

// TestJoinIstio goes the whole way of a gateway: a token, a certificate of istiod,
// and a request that a strict sidecar lets in and tells its application of.
func TestJoinIstio(t *testing.T) {
	m, err := ca.New(ca.Config{})
	must(t, err)
	store := tokens.NewStore(nil)
	d, err := istiod.Start(istiod.Config{CA: m, Tokens: store.Check})
	must(t, err)
	defer d.Close()
	conn, err := grpc.NewClient(d.Addr(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{ServerName: istiod.ServerName, RootCAs: ca.Pool(m.Roots()...)})))
	must(t, err)
	defer conn.Close()
	leaf, csr := request(t)
	ctx := metadata.AppendToOutgoingContext(within(t), "authorization", "Bearer "+store.Mint(account, istiod.Audience))
	answer, err := istio.NewIstioCertificateServiceClient(conn).CreateCertificate(ctx, &istio.IstioCertificateRequest{
		Csr: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr})),
	})
	must(t, err)
	for _, text := range answer.GetCertChain()[:len(answer.GetCertChain())-1] {
		block, _ := pem.Decode([]byte(text))
		leaf.Certificate = append(leaf.Certificate, block.Bytes)
	}

	server, err := m.Issue(ca.Request{URIs: []string{"spiffe://cluster.local/ns/apps/sa/cart"}})
	must(t, err)
	pod, err := inbound.Start(inbound.Config{Proxy: inbound.Istio{Mode: inbound.Strict, Protocol: inbound.HTTP}, Leaf: server, Roots: m.Roots()})
	must(t, err)
	defer pod.Close()
	got := told(t, pod, &tls.Config{Certificates: []tls.Certificate{leaf}, InsecureSkipVerify: true}) // no DNS name to compare; inbound's own tests verify
	if want := "URI=spiffe://cluster.local/ns/gatehouse-system/sa/gatehouse-1"; !strings.Contains(got, want) {
		t.Errorf("the application was told %s, want %s", got, want)
	}
}

// TestJoinLinkerd is the same with Linkerd, whose server name is verified as any.
func TestJoinLinkerd(t *testing.T) {
	const name = "gatehouse-1.gatehouse-system.serviceaccount.identity.linkerd.cluster.local"
	const cart = "cart.apps.serviceaccount.identity.linkerd.cluster.local"
	m, err := ca.New(ca.Config{})
	must(t, err)
	must(t, m.Intermediate("a", 0))
	store := tokens.NewStore(nil)
	d, err := linkerdid.Start(linkerdid.Config{CA: m, Tokens: store.Check})
	must(t, err)
	defer d.Close()
	dial := grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		return (&tls.Dialer{Config: &tls.Config{ServerName: linkerdid.ServerName, RootCAs: ca.Pool(m.Roots()...)}}).DialContext(ctx, "tcp", addr)
	})
	conn, err := grpc.NewClient("passthrough:///"+d.Addr(), dial, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	defer conn.Close()
	leaf, csr := request(t, name)
	answer, err := linkerd.NewIdentityClient(conn).Certify(within(t), &linkerd.CertifyRequest{
		Identity: name, Token: []byte(store.Mint(account, linkerdid.Audience)), CertificateSigningRequest: csr,
	})
	must(t, err)
	leaf.Certificate = append([][]byte{answer.GetLeafCertificate()}, answer.GetIntermediateCertificates()...)

	server, err := m.Issue(ca.Request{DNSNames: []string{cart}})
	must(t, err)
	pod, err := inbound.Start(inbound.Config{Proxy: inbound.Linkerd{Identity: cart, Policy: inbound.AllAuthenticated}, Leaf: server, Roots: m.Roots()})
	must(t, err)
	defer pod.Close()
	got := told(t, pod, &tls.Config{Certificates: []tls.Certificate{leaf}, ServerName: cart, RootCAs: ca.Pool(m.Roots()...)})
	if !strings.Contains(got, name) {
		t.Errorf("the application was told %s, want %s", got, name)
	}
}
