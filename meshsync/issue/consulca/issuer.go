package consulca

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"time"

	"github.com/hashicorp/consul/proto-public/pbconnectca"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/issue"
	"gatehouse.dev/meshsync/issue/rpc"
)

// What Consul's chart installs.
const (
	Address    = "consul-server.consul.svc:8503"
	ServerName = "server.dc1.consul"
)

const op = "Sign"

// Config says where Consul is. Roots is required.
type Config struct {
	Address    string                // host:port of gRPC over TLS; "" is the chart's
	ServerName string                // that its certificate must have; "" is that of dc1
	Roots      func() *x509.CertPool // of the agents' TLS (Secret consul-ca-cert), asked at every call
	// Token is an ACL token with service:write on the identity's service; nil sends
	// none, for a Consul without ACLs. Its errors have a code.
	Token func(ctx context.Context, account meshsync.Account) (string, error)
	// Login gets such a token for each certificate, in place of Token, and gives it
	// back.
	Login *Login
	Now   func() time.Time // nil is time.Now
}

// Issuer is a meshsync.Issuer. It may be used by many goroutines.
type Issuer struct{ config Config }

// New makes an Issuer. It calls nobody yet.
func New(c Config) *Issuer {
	c.Address = cmp.Or(c.Address, Address)
	c.ServerName = cmp.Or(c.ServerName, ServerName)
	return &Issuer{c}
}

// Issue implements meshsync.Issuer. The request's lifetime is not looked at.
func (i *Issuer) Issue(ctx context.Context, r meshsync.Request) (meshsync.Issued, error) {
	csr := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: r.CSR})
	var answer *pbconnectca.SignResponse
	err := i.server().Call(ctx, func(ctx context.Context, conn grpc.ClientConnInterface) error {
		token, back, err := i.token(ctx, conn, r.Account)
		if err != nil {
			return err
		}
		defer back()
		answer, err = i.sign(ctx, conn, string(csr), token)
		return rpc.Error(op, err, token)
	})
	if err != nil {
		return meshsync.Issued{}, rpc.Error(op, err, "")
	}
	chain, err := issue.ParseChain([]byte(answer.GetCertPem()))
	if err != nil {
		return meshsync.Issued{}, lbmodel.Errorf(lbmodel.CodeDenied, op, lbmodel.ID{}, "the answer of %s: %w", i.config.ServerName, err)
	}
	return meshsync.Issued{Chain: chain}, nil
}

func (i *Issuer) sign(ctx context.Context, conn grpc.ClientConnInterface, csr, token string) (answer *pbconnectca.SignResponse, err error) {
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-consul-token", token)
	}
	ask := func() error {
		answer, err = pbconnectca.NewConnectCAServiceClient(conn).Sign(ctx, &pbconnectca.SignRequest{Csr: csr})
		return err
	}
	if i.config.Login == nil {
		return answer, ask()
	}
	return answer, settle(ctx, ask)
}

func (i *Issuer) server() rpc.Server {
	return rpc.Server{
		Address: i.config.Address, Name: i.config.ServerName, Roots: i.config.Roots,
		Protocols: []string{"h2"}, MinVersion: tls.VersionTLS12, Now: i.config.Now,
	}
}
