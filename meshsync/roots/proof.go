package roots

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// proof is credentials that remember whether the last server could prove to be who it
// should be: gRPC tells of that as of a server that is away.
type proof struct {
	credentials.TransportCredentials
	failed *atomic.Bool
}

func newProof(c *tls.Config) proof { return proof{credentials.NewTLS(c), new(atomic.Bool)} }

// ClientHandshake implements credentials.TransportCredentials.
func (p proof) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := p.TransportCredentials.ClientHandshake(ctx, authority, raw)
	p.failed.Store(errors.As(err, new(*tls.CertificateVerificationError)))
	return conn, info, err
}

// Clone implements credentials.TransportCredentials.
func (p proof) Clone() credentials.TransportCredentials {
	return proof{p.TransportCredentials.Clone(), p.failed}
}

// blamesUs says that a server which was reached refuses us, and will again: that is
// told at once, as forGood is of HTTP.
func blamesUs(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented, codes.NotFound:
		return true
	default:
		return false
	}
}
