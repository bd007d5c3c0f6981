package linkerdid

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/identity"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/inbound"
	"gatehouse.dev/fake/mesh/signing"
	"gatehouse.dev/fake/mesh/tokens"
)

// Audience is what tokens must be for.
const Audience = "identity.l5d.io"

// ServerName is the identity of the service's own proxy in a default installation.
const ServerName = "linkerd-identity.linkerd.serviceaccount.identity.linkerd.cluster.local"

// Config says what an identity service is like.
type Config struct {
	CA          *ca.CA
	Tokens      tokens.Check
	Namespace   string        // of the control plane; "" is linkerd
	TrustDomain string        // "" is cluster.local
	Life        time.Duration // of all leaves; zero is 24 hours
	Listen      netip.AddrPort
}

// Server is a running identity service. Break, Mend and Calls are those of its Desk.
type Server struct {
	pb.UnimplementedIdentityServer
	*signing.Desk
	config  Config
	pod     *inbound.Pod
	grpc    *grpc.Server
	running sync.WaitGroup
}

// Name is the identity that Linkerd gives an account.
func (c Config) Name(a tokens.Account) string {
	return fmt.Sprintf("%s.%s.serviceaccount.identity.%s.%s", a.Name, a.Namespace, c.Namespace, c.TrustDomain)
}

// Start serves until Close.
func Start(c Config) (*Server, error) {
	if c.Namespace == "" {
		c.Namespace = "linkerd"
	}
	if c.TrustDomain == "" {
		c.TrustDomain = "cluster.local"
	}
	if c.Life == 0 {
		c.Life = 24 * time.Hour
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{config: c, Desk: &signing.Desk{CA: c.CA}, grpc: grpc.NewServer(grpc.WaitForHandlers(true))}
	pb.RegisterIdentityServer(s.grpc, s)
	s.running.Go(func() { _ = s.grpc.Serve(l) })
	if err := s.front(l.Addr().String()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// front puts the service's own proxy before it.
func (s *Server) front(app string) error {
	name := s.config.Name(tokens.Account{Namespace: s.config.Namespace, Name: "linkerd-identity"})
	leaf, err := s.CA.Issue(ca.Request{DNSNames: []string{name}, Life: 30 * 24 * time.Hour})
	if err != nil {
		return err
	}
	s.pod, err = inbound.Start(inbound.Config{
		Proxy: inbound.Linkerd{Identity: name}, Leaf: leaf, Roots: s.CA.Roots(),
		App: inbound.App{At: app}, Listen: s.config.Listen, Now: s.CA.Now,
	})
	return err
}

// Addr is where it serves.
func (s *Server) Addr() string { return s.pod.Addr() }

// Proxy is the proxy before it: its certificate and roots change by hand, as those
// of a Linkerd proxy do.
func (s *Server) Proxy() *inbound.Pod { return s.pod }

// Close ends it, and the calls that wait.
func (s *Server) Close() error {
	var err error
	if s.pod != nil {
		err = s.pod.Close()
	}
	s.grpc.Stop()
	s.running.Wait()
	return err
}

// Certify implements the service.
func (s *Server) Certify(ctx context.Context, r *pb.CertifyRequest) (*pb.CertifyResponse, error) {
	var call signing.Call
	answer, err := s.certify(ctx, r, &call)
	call.Code = status.Code(err).String()
	s.Note(call)
	return answer, err
}

func (s *Server) certify(ctx context.Context, r *pb.CertifyRequest, call *signing.Call) (*pb.CertifyResponse, error) {
	fault, err := s.Gate(ctx)
	switch {
	case errors.Is(err, signing.ErrRefused):
		return nil, errNotAuthenticated
	case errors.Is(err, signing.ErrUnavailable):
		return nil, status.Error(codes.Unavailable, "cert issuer not ready yet")
	case err != nil:
		return nil, status.FromContextError(err).Err()
	}
	csr, err := checkRequest(r)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if err := checkCSR(csr, r.GetIdentity()); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	account, err := s.config.Tokens(ctx, string(r.GetToken()), Audience)
	if err != nil {
		return nil, errNotAuthenticated
	}
	call.Account = account
	if err := s.checkName(account, r.GetIdentity()); err != nil {
		return nil, err
	}
	if _, ok := csr.PublicKey.(*ecdsa.PublicKey); !ok {
		return nil, status.Error(codes.Internal, "CSR must contain an ECDSA public key")
	}
	return s.sign(fault, csr, call)
}

var errNotAuthenticated = status.Error(codes.FailedPrecondition, "authentication token could not be authenticated")

// checkName compares the name asked for with the token's. Linkerd's names have no
// place for an account with dots.
func (s *Server) checkName(a tokens.Account, asked string) error {
	if strings.Contains(a.Name, ".") {
		return status.Errorf(codes.Internal, "error validating token for %s: not a DNS label: %s", asked, a.Name)
	}
	if found := s.config.Name(a); found != asked {
		return status.Errorf(codes.FailedPrecondition,
			"requested identity did not match provided token: requested=%s; found=%s", asked, found)
	}
	return nil
}

func (s *Server) sign(fault signing.Fault, csr *x509.CertificateRequest, call *signing.Call) (*pb.CertifyResponse, error) {
	request := ca.Request{DNSNames: csr.DNSNames, CommonName: csr.Subject.CommonName, Life: s.config.Life}
	chain, err := s.Sign(fault, request, csr.PublicKey)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	call.Names, call.Key, call.Until = request.DNSNames, csr.PublicKeyAlgorithm, chain[0].NotAfter
	answer := &pb.CertifyResponse{LeafCertificate: chain[0].Raw, ValidUntil: timestamppb.New(chain[0].NotAfter)}
	for _, c := range chain[1:] {
		answer.IntermediateCertificates = append(answer.IntermediateCertificates, c.Raw)
	}
	if fault == signing.Garbage {
		answer.LeafCertificate = []byte("not a certificate")
	}
	return answer, nil
}

func checkRequest(r *pb.CertifyRequest) (*x509.CertificateRequest, error) {
	switch {
	case r.GetIdentity() == "":
		return nil, errors.New("missing identity")
	case len(r.GetToken()) == 0:
		return nil, errors.New("missing token")
	case len(r.GetCertificateSigningRequest()) == 0:
		return nil, errors.New("missing certificate signing request")
	}
	return x509.ParseCertificateRequest(r.GetCertificateSigningRequest())
}

func checkCSR(csr *x509.CertificateRequest, identity string) error {
	switch {
	case len(csr.DNSNames) != 1:
		return errors.New("CSR must have exactly one DNSName")
	case csr.DNSNames[0] != identity:
		return fmt.Errorf("CSR name does not match requested identity: csr=%s; req=%s", csr.DNSNames[0], identity)
	case csr.Subject.CommonName != "" && csr.Subject.CommonName != identity:
		return fmt.Errorf("invalid CommonName: %s", csr.Subject.CommonName)
	case len(csr.EmailAddresses) > 0:
		return errors.New("cannot validate email addresses")
	case len(csr.IPAddresses) > 0:
		return errors.New("cannot validate IP addresses")
	case len(csr.URIs) > 0:
		return errors.New("cannot validate URIs")
	}
	return nil
}
