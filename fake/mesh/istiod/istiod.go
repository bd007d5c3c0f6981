package istiod

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	pb "istio.io/api/security/v1alpha1"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/signing"
	"gatehouse.dev/fake/mesh/tokens"
)

// ServerName is what istiod's certificate names.
const ServerName = "istiod.istio-system.svc"

// Audience is what tokens must be for.
const Audience = "istio-ca"

// Config says what an istiod is like.
type Config struct {
	CA          *ca.CA
	Tokens      tokens.Check
	TrustDomain string        // "" is cluster.local
	DefaultLife time.Duration // of leaves that ask for none; zero is 24 hours
	MaxLife     time.Duration // above it is refused; zero is 90 days
	Listen      string        // host:port; "" is any port of 127.0.0.1
	Names       []string      // of its own certificate; nil are istiod's, and istio-csr has others
}

// Server is a running istiod. Break, Mend and Calls are those of its Desk.
type Server struct {
	pb.UnimplementedIstioCertificateServiceServer
	*signing.Desk
	config  Config
	listen  net.Listener
	grpc    *grpc.Server
	running sync.WaitGroup
}

// Start serves until Close.
func Start(c Config) (*Server, error) {
	if c.TrustDomain == "" {
		c.TrustDomain = "cluster.local"
	}
	if c.DefaultLife == 0 {
		c.DefaultLife = 24 * time.Hour
	}
	if c.MaxLife == 0 {
		c.MaxLife = 90 * 24 * time.Hour
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	if c.Names == nil {
		c.Names = []string{ServerName, "istiod.istio-system"}
	}
	serving := &signing.Serving{CA: c.CA, Request: ca.Request{DNSNames: c.Names}}
	s := &Server{config: c, listen: l, Desk: &signing.Desk{CA: c.CA}}
	s.grpc = grpc.NewServer(grpc.WaitForHandlers(true), grpc.Creds(credentials.NewTLS(&tls.Config{
		GetCertificate: serving.Certificate, MinVersion: tls.VersionTLS12, Time: c.CA.Now,
	})))
	pb.RegisterIstioCertificateServiceServer(s.grpc, s)
	s.running.Go(func() { _ = s.grpc.Serve(l) })
	return s, nil
}

// Addr is where it serves.
func (s *Server) Addr() string { return s.listen.Addr().String() }

// Close ends it, and the calls that wait.
func (s *Server) Close() error {
	s.grpc.Stop()
	s.running.Wait()
	return nil
}

// CreateCertificate implements the service.
func (s *Server) CreateCertificate(ctx context.Context, r *pb.IstioCertificateRequest) (*pb.IstioCertificateResponse, error) {
	call := signing.Call{Life: time.Duration(r.GetValidityDuration()) * time.Second}
	chain, err := s.create(ctx, r, &call)
	call.Code = status.Code(err).String()
	s.Note(call)
	if err != nil {
		return nil, err
	}
	return &pb.IstioCertificateResponse{CertChain: chain}, nil
}

func (s *Server) create(ctx context.Context, r *pb.IstioCertificateRequest, call *signing.Call) ([]string, error) {
	fault, err := s.Gate(ctx)
	switch {
	case errors.Is(err, signing.ErrRefused):
		return nil, status.Error(codes.Unauthenticated, "request authenticate failure")
	case errors.Is(err, signing.ErrUnavailable):
		return nil, status.Error(codes.Unavailable, "istiod is not there")
	case err != nil:
		return nil, status.FromContextError(err).Err()
	}
	account, err := s.config.Tokens(ctx, bearer(ctx), Audience)
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, "request authenticate failure")
	}
	call.Account = account
	if r.GetMetadata().GetFields()["ImpersonatedIdentity"].GetStringValue() != "" {
		return nil, status.Error(codes.Unauthenticated, "request impersonation authentication failure")
	}
	csr, err := parse(r.GetCsr())
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "CSR signing error (%v)", err)
	}
	return s.sign(fault, csr, call)
}

// sign ignores all names of the CSR, as istiod does, but for whether it has a
// common name.
func (s *Server) sign(fault signing.Fault, csr *x509.CertificateRequest, call *signing.Call) ([]string, error) {
	life := call.Life
	switch {
	case life <= 0:
		life = s.config.DefaultLife
	case life > s.config.MaxLife:
		return nil, status.Errorf(codes.InvalidArgument,
			"CSR signing error (requested TTL %s is greater than the max allowed TTL %s)", life, s.config.MaxLife)
	}
	id := "spiffe://" + s.config.TrustDomain + "/ns/" + call.Account.Namespace + "/sa/" + call.Account.Name
	request := ca.Request{URIs: []string{id}, Life: life}
	if csr.Subject.CommonName != "" && len(id) <= 64 {
		request.CommonName = id
	}
	chain, err := s.Sign(fault, request, csr.PublicKey)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "CSR signing error (%v)", err)
	}
	call.Names, call.Key, call.Until = request.URIs, csr.PublicKeyAlgorithm, chain[0].NotAfter
	return s.answer(fault, chain), nil
}

func (s *Server) answer(fault signing.Fault, chain []*x509.Certificate) []string {
	var out []string
	for _, c := range chain {
		out = append(out, string(ca.PEM(c)))
	}
	if fault == signing.Garbage {
		out[0] = "-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n"
	}
	if fault == signing.NoRoots {
		return out
	}
	return append(out, string(s.CA.Bundle()))
}

// bearer is the token of a call; "" where it has none.
func bearer(ctx context.Context) string {
	for _, value := range metadata.ValueFromIncomingContext(ctx, "authorization") {
		if token, ok := strings.CutPrefix(value, "Bearer "); ok {
			return token
		}
	}
	return ""
}

var errNoCSR = errors.New("certificate signing request is not properly encoded")

func parse(text string) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errNoCSR
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	return csr, csr.CheckSignature()
}
