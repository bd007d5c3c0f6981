package istiod

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"net/url"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	pb "istio.io/api/security/v1alpha1"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/fake/mesh/signing"
	"gatehouse.dev/fake/mesh/tokens"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const id = "spiffe://cluster.local/ns/gatehouse-system/sa/gatehouse-1"

var account = tokens.Account{Namespace: "gatehouse-system", Name: "gatehouse-1"}

// world is an istiod and a client of it.
type world struct {
	*Server
	t      *testing.T
	ca     *ca.CA
	tokens *tokens.Store
	client pb.IstioCertificateServiceClient
}

func newWorld(t *testing.T, c ca.Config) *world {
	t.Helper()
	m, err := ca.New(c)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, ca: m, tokens: tokens.NewStore(c.Now)}
	w.Server, err = Start(Config{CA: m, Tokens: w.tokens.Check})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	w.client = w.dial(m.Roots())
	return w
}

func (w *world) dial(roots []*x509.Certificate) pb.IstioCertificateServiceClient {
	w.t.Helper()
	conn, err := grpc.NewClient(w.Addr(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		ServerName: ServerName, RootCAs: ca.Pool(roots...), Time: w.ca.Now,
	})))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	return pb.NewIstioCertificateServiceClient(conn)
}

// create asks with a good token.
func (w *world) create(csr string, life time.Duration) (*pb.IstioCertificateResponse, error) {
	return w.client.CreateCertificate(w.as(w.tokens.Mint(account, Audience)), &pb.IstioCertificateRequest{Csr: csr, ValidityDuration: int64(life.Seconds())})
}

func (w *world) as(token string) context.Context {
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	w.t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

func request(t *testing.T, kind ca.KeyType, template *x509.CertificateRequest) (string, crypto.Signer) {
	t.Helper()
	key, err := ca.NewKey(kind)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})), key
}

// certs reads one element of an answer.
func certs(t *testing.T, text string) []*x509.Certificate {
	t.Helper()
	var out []*x509.Certificate
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return out
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
}

// TestAnswer: the leaf is of the token's account whatever the CSR says, and the
// last element is all roots.
func TestAnswer(t *testing.T) {
	w := newWorld(t, ca.Config{})
	for _, err := range []error{w.ca.Intermediate("a", 0), w.ca.Add(ca.Root{Name: "b"})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	liar, _ := url.Parse("spiffe://cluster.local/ns/kube-system/sa/admin")
	csr, key := request(t, ca.ECDSA, &x509.CertificateRequest{Subject: pkix.Name{Organization: []string{"x"}}, URIs: []*url.URL{liar}})
	answer, err := w.create(csr, 7*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	chain := answer.GetCertChain()
	if len(chain) != 3 {
		t.Fatalf("%d elements, want leaf, intermediate, roots", len(chain))
	}
	leaf, roots := certs(t, chain[0])[0], certs(t, chain[2])
	if len(roots) != 2 {
		t.Errorf("the last element holds %d roots, want 2", len(roots))
	}
	if got := inbound.Identity(leaf); got != id || len(leaf.URIs) != 1 || leaf.Subject.String() != "" {
		t.Errorf("the leaf is of %q, subject %q", got, leaf.Subject)
	}
	for _, e := range leaf.Extensions {
		if e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 17}) && !e.Critical {
			t.Error("the names are not critical")
		}
	}
	if !key.Public().(interface{ Equal(crypto.PublicKey) bool }).Equal(leaf.PublicKey) {
		t.Error("the leaf is for another key")
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: ca.Pool(roots...), Intermediates: ca.Pool(certs(t, chain[1])...), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	call := w.Calls()[0]
	if call.Account != account || call.Code != "OK" || call.Life != 7*24*time.Hour || !call.Until.Equal(leaf.NotAfter) {
		t.Errorf("the record is %+v", call)
	}
}

// TestLives has istiod's rules on validity_duration.
func TestLives(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	tests := []struct {
		name, why  string
		ask, issue time.Duration // issue zero: refused
		root       time.Duration
	}{
		{"none", "the default is a day", 0, day, 0},
		{"negative", "as none", -time.Second, day, 0},
		{"a week", "what is asked for", 7 * day, 7 * day, 0},
		{"90 days", "the most", 90 * day, 90 * day, 0},
		{"above 90 days", "refused, not clamped", 90*day + time.Second, 0, 0},
		{"above the issuer's", "clamped", 7 * day, 3 * day, 3 * day},
	}
	csr, _ := request(t, ca.RSA, &x509.CertificateRequest{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, ca.Config{RootLife: tt.root, Now: func() time.Time { return now }})
			answer, err := w.create(csr, tt.ask)
			if tt.issue == 0 {
				if status.Code(err) != codes.InvalidArgument {
					t.Fatalf("%v, want InvalidArgument (%s)", err, tt.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := certs(t, answer.GetCertChain()[0])[0].NotAfter.Sub(now); got != tt.issue {
				t.Errorf("issued for %s, want %s (%s)", got, tt.issue, tt.why)
			}
		})
	}
}

// TestRefusals: who is not let in, and what is not signed.
func TestRefusals(t *testing.T) {
	w := newWorld(t, ca.Config{})
	csr, _ := request(t, ca.ECDSA, &x509.CertificateRequest{})
	good := w.tokens.Mint(account, Audience)
	impersonate, err := structpb.NewStruct(map[string]any{"ImpersonatedIdentity": "spiffe://cluster.local/ns/a/sa/b"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, why, token string
		request          *pb.IstioCertificateRequest
		want             codes.Code
	}{
		{"no token", "nobody", "", &pb.IstioCertificateRequest{Csr: csr}, codes.Unauthenticated},
		{"audience", "of another service", w.tokens.Mint(account, "identity.l5d.io"), &pb.IstioCertificateRequest{Csr: csr}, codes.Unauthenticated},
		{"no CSR", "not PEM", good, &pb.IstioCertificateRequest{Csr: "x"}, codes.InvalidArgument},
		{"impersonation", "only for trusted node accounts", good, &pb.IstioCertificateRequest{Csr: csr, Metadata: impersonate}, codes.Unauthenticated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.client.CreateCertificate(w.as(tt.token), tt.request)
			if status.Code(err) != tt.want {
				t.Errorf("%v, want %s (%s)", err, tt.want, tt.why)
			}
		})
	}
	stranger, err := ca.New(ca.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.dial(stranger.Roots()).CreateCertificate(w.as(good), &pb.IstioCertificateRequest{Csr: csr}); status.Code(err) != codes.Unavailable {
		t.Errorf("a client that trusts another root: %v", err)
	}
}

// TestServingFollowsTheCA: the server's own certificate is of whoever signs now.
func TestServingFollowsTheCA(t *testing.T) {
	w := newWorld(t, ca.Config{})
	csr, _ := request(t, ca.ECDSA, &x509.CertificateRequest{})
	for _, err := range []error{w.ca.Add(ca.Root{Name: "b"}), w.ca.SignBy("b"), w.ca.Drop("a")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.client = w.dial(w.ca.Roots())
	if _, err := w.create(csr, 0); err != nil {
		t.Errorf("with root b: %v", err)
	}
}

// TestFaults has every way in which it breaks, once, and the mended call after it.
func TestFaults(t *testing.T) {
	w := newWorld(t, ca.Config{})
	csr, key := request(t, ca.ECDSA, &x509.CertificateRequest{})
	code := map[signing.Fault]codes.Code{signing.Refuse: codes.Unauthenticated, signing.Unavailable: codes.Unavailable}
	for _, f := range []signing.Fault{
		signing.Refuse, signing.Unavailable, signing.WrongKey, signing.WrongName, signing.Expired,
		signing.Stranger, signing.Garbage, signing.NoRoots, signing.RootTwice,
	} {
		t.Run(string(f), func(t *testing.T) {
			w.Break(f, 1)
			answer, err := w.create(csr, 0)
			if status.Code(err) != code[f] {
				t.Fatalf("%v, want %s", err, code[f])
			}
			if err == nil && sound(t, w, answer, key) {
				t.Error("the answer is sound")
			}
			if answer, err = w.create(csr, 0); err != nil || !sound(t, w, answer, key) {
				t.Errorf("after the fault: %v", err)
			}
		})
	}
	w.Break(signing.Hang, 0)
	ctx, cancel := context.WithTimeout(w.as(w.tokens.Mint(account, Audience)), 20*time.Millisecond)
	defer cancel()
	if _, err := w.client.CreateCertificate(ctx, &pb.IstioCertificateRequest{Csr: csr}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("Hang: %v", err)
	}
}

// sound is what a careful client checks.
func sound(t *testing.T, w *world, answer *pb.IstioCertificateResponse, key crypto.Signer) bool {
	t.Helper()
	chain := answer.GetCertChain()
	block, _ := pem.Decode([]byte(chain[0]))
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil || len(chain) != 2 {
		return false
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: ca.Pool(w.ca.Roots()...)})
	return err == nil && inbound.Identity(leaf) == id && key.Public().(interface{ Equal(crypto.PublicKey) bool }).Equal(leaf.PublicKey)
}
