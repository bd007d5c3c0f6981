package istioca

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	pb "istio.io/api/security/v1alpha1"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
)

// answers is a CA that answers what it is told.
type answers struct {
	pb.UnimplementedIstioCertificateServiceServer
	answer func(context.Context) ([]string, error)
}

func (a *answers) CreateCertificate(ctx context.Context, _ *pb.IstioCertificateRequest) (*pb.IstioCertificateResponse, error) {
	chain, err := a.answer(ctx)
	return &pb.IstioCertificateResponse{CertChain: chain}, err
}

// answering puts such a CA, with a name of its own, in istiod's place.
func (w *world) answering(answer func(context.Context) ([]string, error)) {
	w.Helper()
	leaf, err := w.ca.Issue(ca.Request{DNSNames: []string{"csr.test"}})
	w.do(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.do(err)
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{leaf}})))
	pb.RegisterIstioCertificateServiceServer(s, &answers{answer: answer})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	w.Cleanup(func() {
		s.Stop()
		<-done
	})
	w.config.Address, w.config.ServerName = l.Addr().String(), "csr.test"
}

// TestThrottled: the CA's time to wait is kept.
func TestThrottled(t *testing.T) {
	w := newWorld(t)
	w.answering(func(context.Context) ([]string, error) {
		s, err := status.New(codes.ResourceExhausted, "slow down").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(42 * time.Second)})
		if err != nil {
			t.Error(err)
		}
		return nil, s.Err()
	})
	if e := w.refused(lbmodel.CodeThrottled); e.RetryAfter != 42*time.Second || !strings.Contains(e.Error(), "slow down") {
		t.Errorf("%v after %s", e, e.RetryAfter)
	}
}

// TestTokenIsNotRepeated: a CA that repeats what it was shown does not bring the
// token into an error. The cluster is told beside it.
func TestTokenIsNotRepeated(t *testing.T) {
	w := newWorld(t)
	w.config.ClusterID = "east"
	var token string
	w.answering(func(ctx context.Context) ([]string, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		token = strings.TrimPrefix(strings.Join(md.Get("authorization"), ""), "Bearer ")
		return nil, status.Errorf(codes.PermissionDenied, "%v may not, in %v%s", md.Get("authorization"), md.Get("clusterid"), strings.Repeat(".", 1000))
	})
	e := w.refused(lbmodel.CodeDenied)
	if token == "" || strings.Contains(e.Error(), token) || !strings.Contains(e.Error(), "[Bearer (token)] may not, in [east]") || len(e.Error()) > 500 {
		t.Error(e)
	}
}

// TestRead: chains as CAs send them.
func TestRead(t *testing.T) {
	m, err := ca.New(ca.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{m.Intermediate("a", 0), m.Add(ca.Root{Name: "b"})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := ca.NewKey(ca.ECDSA)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := m.Sign(ca.Request{URIs: []string{"spiffe://x/y"}}, key.Public())
	if err != nil {
		t.Fatal(err)
	}
	leaf, middle, roots := string(ca.PEM(chain[0])), string(ca.PEM(chain[1])), string(m.Bundle())
	for _, tc := range []struct {
		name, why, fails string
		elements         []string
		chain, roots     int
	}{
		{name: "usual", why: "one element each, and all roots", elements: []string{leaf, middle, roots}, chain: 2, roots: 2},
		{name: "in one", why: "istio-csr and old istiods", elements: []string{leaf + middle, roots}, chain: 2, roots: 2},
		{name: "text around", why: "openssl x509 -text", elements: []string{"subject=\n" + leaf, middle + "\n\n", roots}, chain: 2, roots: 2},
		{name: "leaf alone", why: "no roots are told", elements: []string{leaf}, chain: 1},
		{name: "the root again", why: "istio #39001", elements: []string{leaf, middle, string(ca.PEM(m.Root("a"))), roots}, chain: 2, roots: 2},
		{name: "nothing", why: "an empty answer", fails: "no certificates"},
		{name: "empty element", why: "a broken CA", elements: []string{"", roots}, fails: "element 1: it holds no certificate"},
		{name: "a key", why: "no text is repeated that may be one", elements: []string{"-----BEGIN " + "PRIVATE KEY-----\nAAAA\n-----END " + "PRIVATE KEY-----\n", roots}, fails: "something else"},
		{name: "broken roots", why: "half an answer is none", elements: []string{leaf, "x"}, fails: "its roots"},
		{name: "endless", why: "an answer is bounded", elements: []string{strings.Repeat(leaf, 65), roots}, fails: "too many"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := read(tc.elements)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) || strings.Contains(err.Error(), "AAAA") {
					t.Errorf("got %v, want %q: %s", err, tc.fails, tc.why)
				}
				return
			}
			if err != nil || len(got.Chain) != tc.chain || len(got.Roots) != tc.roots || !got.Chain[0].Equal(chain[0]) {
				t.Errorf("%d and %d roots, %v, want %d and %d: %s", len(got.Chain), len(got.Roots), err, tc.chain, tc.roots, tc.why)
			}
		})
	}
}
