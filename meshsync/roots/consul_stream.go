package roots

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/hashicorp/consul/proto-public/pbconnectca"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
)

// ConsulStream is a Consul's CA roots over gRPC: ConnectCAService.WatchRoots, which
// tells of changes. All roots count, those too that sign no more.
type ConsulStream struct {
	Addr        string // host:port; the port is 8503 with TLS and 8502 without
	TrustDomain string // the one that is expected, "<uuid>.consul"; "" is any
	Token       Secret // any valid one will do; "" is anonymous
	// ServerRoots and ServerName are as a Consul's.
	ServerRoots, ServerName string
	Plain                   bool // without TLS: of a Consul on this host alone
}

// Where implements Source.
func (c ConsulStream) Where() string { return "Consul at " + c.Addr }

// Watch implements Source.
func (c ConsulStream) Watch(ctx context.Context, s Start, tell func([]Bundle)) {
	l := newLedger(c.TrustDomain, s.Last)
	creds, err := c.credentials(s)
	if err != nil {
		refuse(ctx, s, l, err, tell)
		return
	}
	stream{secret: c.Token, open: c.open, unproved: func() bool {
		p, is := creds.(proof)
		return is && p.failed.Load()
	}, dial: func() (*grpc.ClientConn, error) {
		return grpc.NewClient(c.Addr, grpc.WithTransportCredentials(creds),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)), grpc.WithDisableServiceConfig(),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: alive, Timeout: patience}))
	}}.follow(ctx, s, l, tell)
}

func (c ConsulStream) credentials(s Start) (credentials.TransportCredentials, error) {
	host, _, err := net.SplitHostPort(c.Addr)
	switch {
	case err != nil || host == "":
		return nil, fmt.Errorf("%q is not host:port", c.Addr)
	case c.Plain && !loopback(host):
		return nil, fmt.Errorf("%s: %w", c.Addr, errPlain)
	case c.Plain:
		return insecure.NewCredentials(), nil
	}
	pool, err := poolOf(c.ServerRoots)
	if err != nil {
		return nil, err
	}
	return newProof(&tls.Config{RootCAs: pool, ServerName: c.ServerName, MinVersion: tls.VersionTLS12, Time: s.Clock.Now}), nil
}

func (c ConsulStream) open(ctx context.Context, conn *grpc.ClientConn) (func() ([]Bundle, error, error), error) {
	if c.Token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-consul-token", string(c.Token))
	}
	roots, err := pbconnectca.NewConnectCAServiceClient(conn).WatchRoots(ctx, &pbconnectca.WatchRootsRequest{})
	if err != nil {
		return nil, err
	}
	return func() ([]Bundle, error, error) {
		answer, err := roots.Recv()
		if err != nil {
			return nil, nil, err
		}
		var texts []string
		for _, r := range answer.GetRoots() {
			texts = append(texts, r.GetRootCert())
		}
		found, bad := consulBundle(c.TrustDomain, answer.GetTrustDomain(), texts)
		return []Bundle{found}, bad, nil
	}, nil
}
