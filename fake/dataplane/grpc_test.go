package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"gatehouse.dev/lbmodel"
)

// grpcBackend answers the four kinds of call.
type grpcBackend struct {
	testgrpc.UnimplementedTestServiceServer
}

func (grpcBackend) UnaryCall(ctx context.Context, r *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
	grpc.SetHeader(ctx, metadata.Pairs("x-head", "h"))
	grpc.SetTrailer(ctx, metadata.Pairs("x-tail", "t"))
	if r.ResponseStatus != nil {
		return nil, status.Error(codes.Code(r.ResponseStatus.Code), r.ResponseStatus.Message)
	}
	return &testgrpc.SimpleResponse{Payload: r.Payload}, nil
}

func (grpcBackend) StreamingOutputCall(r *testgrpc.StreamingOutputCallRequest, s grpc.ServerStreamingServer[testgrpc.StreamingOutputCallResponse]) error {
	for _, p := range r.ResponseParameters {
		if err := s.Send(&testgrpc.StreamingOutputCallResponse{Payload: &testgrpc.Payload{Body: make([]byte, p.Size)}}); err != nil {
			return err
		}
	}
	return nil
}

func (grpcBackend) StreamingInputCall(s grpc.ClientStreamingServer[testgrpc.StreamingInputCallRequest, testgrpc.StreamingInputCallResponse]) error {
	var size int32
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return s.SendAndClose(&testgrpc.StreamingInputCallResponse{AggregatedPayloadSize: size})
		}
		if err != nil {
			return err
		}
		size += int32(len(r.Payload.GetBody()))
	}
}

func (grpcBackend) FullDuplexCall(s grpc.BidiStreamingServer[testgrpc.StreamingOutputCallRequest, testgrpc.StreamingOutputCallResponse]) error {
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Send(&testgrpc.StreamingOutputCallResponse{Payload: r.Payload}); err != nil {
			return err
		}
	}
}

func serveGRPC(t *testing.T, options ...grpc.ServerOption) string {
	t.Helper()
	server := grpc.NewServer(options...)
	testgrpc.RegisterTestServiceServer(server, grpcBackend{})
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() { server.Stop(); <-done })
	return l.Addr().String()
}

func grpcRule(service string, backends ...lbmodel.Backend) lbmodel.Rule {
	return lbmodel.Rule{
		Source: lbmodel.Source{Kind: "GRPCRoute", Namespace: "apps", Name: "g", Section: service},
		Match:  lbmodel.Match{GRPC: &lbmodel.GRPCMatch{Kind: lbmodel.MatchExact, Service: service}},
		Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: backends}},
	}
}

func grpcClient(t *testing.T, target string, creds credentials.TransportCredentials) testgrpc.TestServiceClient {
	t.Helper()
	conn := must(grpc.NewClient("passthrough:///"+target, grpc.WithTransportCredentials(creds), grpc.WithAuthority("grpc.test")))
	t.Cleanup(func() { conn.Close() })
	return testgrpc.NewTestServiceClient(conn)
}

// TestGRPC makes every kind of call through h2c and through TLS on both sides,
// with trailers, status and metadata intact (C27 for h2c).
func TestGRPC(t *testing.T) {
	ca := newAuthority(t, "ca")
	leaf := ca.issue("grpc.test")
	plain, secure := serveGRPC(t), serveGRPC(t, grpc.Creds(credentials.NewServerTLSFromCert(&leaf)))
	tlsPool := poolOf("secure", lbmodel.PoolGRPC, secure)
	tlsPool.TLS = &lbmodel.BackendTLS{SNI: "grpc.test", Trust: "ca"}
	const service = "grpc.testing.TestService"
	gw := gatewayOf("edge", []lbmodel.Listener{httpListener(80, grpcRule(service, to("plain"))),
		httpsListener("tls", "", []string{"own"}, grpcRule(service, to("secure")))},
		poolOf("plain", lbmodel.PoolGRPC, plain), tlsPool)
	gw.Model.Trust = []lbmodel.Trust{trustOf("ca", ca)}
	gw.Keys = map[string]tls.Certificate{"own": ca.issue("grpc.test")}
	p := newPlane(t, Config{}, gw)
	for name, client := range map[string]testgrpc.TestServiceClient{
		"h2c": grpcClient(t, p.at(80), insecure.NewCredentials()),
		"tls": grpcClient(t, p.at(443), credentials.NewTLS(&tls.Config{ServerName: "grpc.test", RootCAs: ca.pool()})),
	} {
		t.Run(name, func(t *testing.T) { callAll(t, client) })
	}
}

func callAll(t *testing.T, client testgrpc.TestServiceClient) {
	ctx := t.Context()
	var head, tail metadata.MD
	payload := &testgrpc.Payload{Body: make([]byte, 100<<10)}
	one, err := client.UnaryCall(ctx, &testgrpc.SimpleRequest{Payload: payload}, grpc.Header(&head), grpc.Trailer(&tail))
	if err != nil || len(one.GetPayload().GetBody()) != 100<<10 || head.Get("x-head") == nil || tail.Get("x-tail") == nil {
		t.Errorf("unary: %v, header %v, trailer %v", err, head, tail)
	}
	_, err = client.UnaryCall(ctx, &testgrpc.SimpleRequest{ResponseStatus: &testgrpc.EchoStatus{Code: 9, Message: "not now"}})
	if s := status.Convert(err); s.Code() != codes.FailedPrecondition || s.Message() != "not now" {
		t.Errorf("unary with a status: %v", err)
	}
	out := must(client.StreamingOutputCall(ctx, &testgrpc.StreamingOutputCallRequest{ResponseParameters: []*testgrpc.ResponseParameters{{Size: 10}, {Size: 70000}}}))
	for _, size := range []int{10, 70000} {
		if m, err := out.Recv(); err != nil || len(m.Payload.Body) != size {
			t.Errorf("server stream: %v, want a message of %d", err, size)
		}
	}
	in := must(client.StreamingInputCall(ctx))
	for range 3 {
		in.Send(&testgrpc.StreamingInputCallRequest{Payload: payload})
	}
	if sum, err := in.CloseAndRecv(); err != nil || sum.AggregatedPayloadSize != 300<<10 {
		t.Errorf("client stream: %v %v", sum, err)
	}
	both := must(client.FullDuplexCall(ctx))
	for i := range 3 { // each answer comes before the next question: nothing waits for a body's end
		both.Send(&testgrpc.StreamingOutputCallRequest{Payload: &testgrpc.Payload{Body: fmt.Append(nil, i)}})
		if m, err := both.Recv(); err != nil || string(m.Payload.Body) != fmt.Sprint(i) {
			t.Errorf("duplex stream: %v %v", m, err)
		}
	}
	both.CloseSend()
	if _, err := both.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("duplex stream ended with %v", err)
	}
}

// TestGRPCFailures are the gateway's own answers to gRPC clients.
func TestGRPCFailures(t *testing.T) {
	for _, c := range []struct {
		name, why string
		rule      lbmodel.Rule
		want      codes.Code
	}{
		{"no rule", "no match is UNIMPLEMENTED", grpcRule("other.Service", to("empty")), codes.Unimplemented},
		{"no endpoint", "503 is UNAVAILABLE", grpcRule("grpc.testing.TestService", to("empty")), codes.Unavailable},
		{"broken reference", "GRPCRoute backendRefs: UNAVAILABLE", grpcRule("grpc.testing.TestService", lbmodel.Backend{Weight: 1, Fixed: &lbmodel.Fixed{Status: 500}}), codes.Unavailable},
		{"nobody listens", "502 is UNAVAILABLE", grpcRule("grpc.testing.TestService", to("closed")), codes.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlane(t, Config{}, gatewayOf("edge", []lbmodel.Listener{httpListener(80, c.rule)},
				poolOf("empty", lbmodel.PoolGRPC), poolOf("closed", lbmodel.PoolGRPC, closedPort(t))))
			client := grpcClient(t, p.at(80), insecure.NewCredentials())
			if _, err := client.UnaryCall(t.Context(), &testgrpc.SimpleRequest{}); status.Code(err) != c.want {
				t.Errorf("%v, want %v: %s", err, c.want, c.why)
			}
		})
	}
}

// TestC27H2CBackend speaks HTTP/2 without TLS to a backend that knows no other.
func TestC27H2CBackend(t *testing.T) {
	b := h2cOnly(t)
	p := newPlane(t, Config{}, gatewayOf("edge", []lbmodel.Listener{httpListener(80, prefixRule("/", to("b")))}, poolOf("b", lbmodel.PoolH2C, b.addr())))
	for _, protocol := range []string{"http1", "h2c"} {
		if res, body := answerOf(t, p.client(80, nil, protocol), get(t, "http://any.test/")); res.StatusCode != 200 || body != "HTTP/2.0" {
			t.Errorf("client %s: %d %q, want the backend to see HTTP/2.0", protocol, res.StatusCode, body)
		}
	}
}
