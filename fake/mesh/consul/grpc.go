package consul

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"

	"github.com/hashicorp/consul/proto-public/pbconnectca"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/signing"
)

func tokenOf(ctx context.Context) string {
	for _, v := range metadata.ValueFromIncomingContext(ctx, "x-consul-token") {
		return v
	}
	return ""
}

// WatchRoots implements the service: the roots, and again whenever they change.
// Any token will do.
func (s *Server) WatchRoots(_ *pbconnectca.WatchRootsRequest, stream grpc.ServerStreamingServer[pbconnectca.WatchRootsResponse]) error {
	for {
		_, changed := s.now()
		if err := stream.Send(s.list().proto()); err != nil {
			return err
		}
		select {
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		case <-changed:
		}
	}
}

// now is the index, and what is closed when it has passed.
func (s *Server) now() (uint64, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.index, s.changed
}

// Sign implements the service. It returns the leaf and its intermediates in PEM.
func (s *Server) Sign(ctx context.Context, r *pbconnectca.SignRequest) (*pbconnectca.SignResponse, error) {
	var call signing.Call
	text, err := s.sign(ctx, r.GetCsr(), &call)
	call.Code = status.Code(err).String()
	s.Note(call)
	if err != nil {
		return nil, err
	}
	return &pbconnectca.SignResponse{CertPem: text}, nil
}

func (s *Server) sign(ctx context.Context, text string, call *signing.Call) (string, error) {
	fault, err := s.Gate(ctx)
	switch {
	case errors.Is(err, signing.ErrRefused):
		return "", status.Error(codes.Unauthenticated, "ACL not found")
	case errors.Is(err, signing.ErrUnavailable):
		return "", status.Error(codes.Unavailable, "no cluster leader")
	case err != nil:
		return "", status.FromContextError(err).Err()
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return "", status.Error(codes.InvalidArgument, "CSR is required")
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err == nil {
		err = csr.CheckSignature()
	}
	if err != nil {
		return "", status.Error(codes.InvalidArgument, err.Error())
	}
	service, err := s.serviceOf(csr)
	if err != nil {
		return "", status.Error(codes.InvalidArgument, err.Error())
	}
	switch s.mayWrite(tokenOf(ctx), service) {
	case codes.OK:
	case codes.Unauthenticated:
		return "", status.Error(codes.Unauthenticated, "ACL not found")
	default:
		return "", status.Errorf(codes.PermissionDenied, "Permission denied: token lacks permission 'service:write' on %q", service)
	}
	request := ca.Request{URIs: []string{s.config.ID(service)}, Life: s.config.Life}
	chain, err := s.Desk.Sign(fault, request, csr.PublicKey)
	if err != nil {
		return "", status.Error(codes.Internal, err.Error())
	}
	call.Names, call.Key, call.Until = request.URIs, csr.PublicKeyAlgorithm, chain[0].NotAfter
	if fault == signing.Garbage {
		return "not a certificate", nil
	}
	return string(ca.PEM(chain...)), nil
}
