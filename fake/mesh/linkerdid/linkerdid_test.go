package linkerdid

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/url"
	"testing"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/identity"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/fake/mesh/signing"
	"gatehouse.dev/fake/mesh/tokens"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const name = "gatehouse-1.gatehouse-system.serviceaccount.identity.linkerd.cluster.local"

var account = tokens.Account{Namespace: "gatehouse-system", Name: "gatehouse-1"}

type world struct {
	*Server
	t      *testing.T
	ca     *ca.CA
	tokens *tokens.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	m, err := ca.New(ca.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Intermediate("a", 365*24*time.Hour); err != nil { // the issuer
		t.Fatal(err)
	}
	w := &world{t: t, ca: m, tokens: tokens.NewStore(nil)}
	w.Server, err = Start(Config{CA: m, Tokens: w.tokens.Check})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// dial speaks gRPC over TLS that it dials itself: the service negotiates no ALPN.
func (w *world) dial(serverName string) pb.IdentityClient {
	w.t.Helper()
	return w.over(insecure.NewCredentials(), grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		d := tls.Dialer{Config: &tls.Config{ServerName: serverName, RootCAs: ca.Pool(w.ca.Roots()...), MinVersion: tls.VersionTLS13}}
		return d.DialContext(ctx, "tcp", addr)
	}))
}

func (w *world) over(c credentials.TransportCredentials, more ...grpc.DialOption) pb.IdentityClient {
	w.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+w.Addr(), append(more, grpc.WithTransportCredentials(c))...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	return pb.NewIdentityClient(conn)
}

func csr(t *testing.T, kind ca.KeyType, template *x509.CertificateRequest) []byte {
	t.Helper()
	key, err := ca.NewKey(kind)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func named(names ...string) *x509.CertificateRequest {
	return &x509.CertificateRequest{DNSNames: names}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestCertify: DER in and out, for as long as the service likes.
func TestCertify(t *testing.T) {
	w := newWorld(t)
	answer, err := w.dial(ServerName).Certify(within(t), &pb.CertifyRequest{
		Identity: name, Token: []byte(w.tokens.Mint(account, Audience)), CertificateSigningRequest: csr(t, ca.ECDSA, named(name)),
	})
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(answer.GetLeafCertificate())
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.GetIntermediateCertificates()) != 1 {
		t.Fatalf("%d intermediates, want the issuer", len(answer.GetIntermediateCertificates()))
	}
	issuer, err := x509.ParseCertificate(answer.GetIntermediateCertificates()[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: ca.Pool(w.ca.Roots()...), Intermediates: ca.Pool(issuer)}); err != nil {
		t.Error(err)
	}
	if !answer.GetValidUntil().AsTime().Equal(leaf.NotAfter) || time.Until(leaf.NotAfter) > 24*time.Hour {
		t.Errorf("valid until %s, the leaf until %s", answer.GetValidUntil().AsTime(), leaf.NotAfter)
	}
	if s := w.Proxy().Seen(); s.Terminated != 1 || s.Last[0].ALPN != "" || s.Last[0].Version != tls.VersionTLS13 {
		t.Errorf("%+v", s)
	}
}

// TestRules: what the service refuses, in its own words.
func TestRules(t *testing.T) {
	w := newWorld(t)
	good := w.tokens.Mint(account, Audience)
	dotted := tokens.Account{Namespace: "gatehouse-system", Name: "gate.house"}
	uri, _ := url.Parse("spiffe://a/b")
	tests := []struct {
		name, why, identity, token string
		csr                        []byte
		want                       codes.Code
	}{
		{"no identity", "missing", "", good, csr(t, ca.ECDSA, named(name)), codes.InvalidArgument},
		{"no token", "missing", name, "", csr(t, ca.ECDSA, named(name)), codes.InvalidArgument},
		{"no CSR", "missing", name, good, nil, codes.InvalidArgument},
		{"PEM", "DER is asked for", name, good, []byte("-----BEGIN CERTIFICATE REQUEST-----"), codes.InvalidArgument},
		{"two names", "exactly one", name, good, csr(t, ca.ECDSA, named(name, "b")), codes.FailedPrecondition},
		{"another name", "the CSR's is not what is asked for", name, good, csr(t, ca.ECDSA, named("b")), codes.FailedPrecondition},
		{"common name", "empty or the same", name, good, csr(t, ca.ECDSA, &x509.CertificateRequest{DNSNames: []string{name}, Subject: pkix.Name{CommonName: "b"}}), codes.FailedPrecondition},
		{"URI", "not validated", name, good, csr(t, ca.ECDSA, &x509.CertificateRequest{DNSNames: []string{name}, URIs: []*url.URL{uri}}), codes.FailedPrecondition},
		{"bad token", "not authenticated", name, "x", csr(t, ca.ECDSA, named(name)), codes.FailedPrecondition},
		{"audience", "Istio's", name, w.tokens.Mint(account, "istio-ca"), csr(t, ca.ECDSA, named(name)), codes.FailedPrecondition},
		{"somebody else", "the token is of another account", name, w.tokens.Mint(tokens.Account{Namespace: "a", Name: "b"}, Audience), csr(t, ca.ECDSA, named(name)), codes.FailedPrecondition},
		{"dots", "no DNS label", w.config.Name(dotted), w.tokens.Mint(dotted, Audience), csr(t, ca.ECDSA, named(w.config.Name(dotted))), codes.Internal},
		{"RSA", "ECDSA only", name, good, csr(t, ca.RSA, named(name)), codes.Internal},
	}
	client := w.dial(ServerName)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := client.Certify(within(t), &pb.CertifyRequest{Identity: tt.identity, Token: []byte(tt.token), CertificateSigningRequest: tt.csr})
			if status.Code(err) != tt.want {
				t.Errorf("%v, want %s (%s)", err, tt.want, tt.why)
			}
		})
	}
}

// TestWayIn: only its own server name ends TLS, gRPC's own credentials miss ALPN,
// and clear text goes through.
func TestWayIn(t *testing.T) {
	w := newWorld(t)
	request := func() *pb.CertifyRequest {
		return &pb.CertifyRequest{Identity: name, Token: []byte(w.tokens.Mint(account, Audience)), CertificateSigningRequest: csr(t, ca.ECDSA, named(name))}
	}
	if _, err := w.over(insecure.NewCredentials()).Certify(within(t), request()); err != nil {
		t.Errorf("clear text: %v", err)
	}
	strict := w.over(credentials.NewTLS(&tls.Config{ServerName: ServerName, RootCAs: ca.Pool(w.ca.Roots()...)}))
	if _, err := strict.Certify(within(t), request()); status.Code(err) != codes.Unavailable {
		t.Errorf("gRPC's own TLS: %v, want Unavailable for want of ALPN", err)
	}
	if _, err := w.dial("linkerd-identity-headless.linkerd").Certify(within(t), request()); status.Code(err) != codes.Unavailable {
		t.Errorf("another server name: %v", err)
	}
	if w.Proxy().Seen().Passed == 0 {
		t.Error("TLS with another server name was not passed on")
	}
}

// TestFaults has what only this service does; the rest is signing's.
func TestFaults(t *testing.T) {
	w := newWorld(t)
	client := w.dial(ServerName)
	request := &pb.CertifyRequest{Identity: name, Token: []byte(w.tokens.Mint(account, Audience)), CertificateSigningRequest: csr(t, ca.ECDSA, named(name))}
	for f, want := range map[signing.Fault]codes.Code{
		signing.Refuse: codes.FailedPrecondition, signing.Unavailable: codes.Unavailable, signing.WrongName: codes.OK, signing.Garbage: codes.OK,
	} {
		w.Break(f, 1)
		answer, err := client.Certify(within(t), request)
		if status.Code(err) != want {
			t.Errorf("%s: %v, want %s", f, err, want)
		}
		if err != nil {
			continue
		}
		if leaf, err := x509.ParseCertificate(answer.GetLeafCertificate()); err == nil && inbound.Identity(leaf) == name {
			t.Errorf("%s: the answer is sound", f)
		}
	}
	w.Break(signing.Hang, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := client.Certify(ctx, request); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("Hang: %v", err)
	}
	if calls := w.Calls(); len(calls) < 4 {
		t.Errorf("%d calls were noted", len(calls))
	}
}
