package rpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"gatehouse.dev/lbmodel"
)

// Server is where a CA is and how it proves who it is.
type Server struct {
	Address    string                // host:port
	Name       string                // that its certificate must have; it is sent as SNI too
	Roots      func() *x509.CertPool // asked at every call; nil or an empty pool believes nobody
	Protocols  []string              // ALPN; nil offers none
	MinVersion uint16                // of TLS
	Now        func() time.Time      // nil is time.Now
}

// Call opens a connection for one call. Each gets its own: certificates are renewed
// once in days, and so roots that changed hold from the next call on.
//
// TLS is ended here and not by gRPC, whose own insists upon an ALPN protocol that
// not every CA's proxy selects; what gRPC is told to be insecure is a connection
// that has been verified. An error has a code, and says of a server that did not
// prove who it is that nothing was sent to it.
func (s Server) Call(ctx context.Context, call func(context.Context, grpc.ClientConnInterface) error) error {
	roots := s.Roots()
	if roots == nil {
		return lbmodel.Errorf(lbmodel.CodeUnresolved, "Connect", lbmodel.ID{}, "no roots are known by which %s could be verified", s.Name)
	}
	var d dialer
	conn, err := grpc.NewClient("passthrough:///"+s.Address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return d.dial(ctx, address, s.config(roots))
		}),
		grpc.WithAuthority(s.Name), grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(), grpc.WithUserAgent("gatehouse"))
	if err != nil {
		return lbmodel.Errorf(lbmodel.CodeInvalid, "Connect", lbmodel.ID{}, "address %q: %w", s.Address, err)
	}
	err = call(ctx, conn)
	if closed := conn.Close(); err == nil {
		err = closed
	}
	if failed := d.failure(); err != nil && failed != nil {
		return lbmodel.Errorf(lbmodel.CodeUnavailable, "Connect", lbmodel.ID{},
			"%s at %s, to whom nothing was sent: %w", s.Name, s.Address, failed)
	}
	return err
}

func (s Server) config(roots *x509.CertPool) *tls.Config {
	return &tls.Config{
		ServerName: s.Name, RootCAs: roots, NextProtos: s.Protocols,
		MinVersion: max(s.MinVersion, tls.VersionTLS12), Time: s.Now,
	}
}

// dialer remembers why it never succeeded, for gRPC tells only that it did not.
type dialer struct {
	mu        sync.Mutex
	connected bool
	err       error
}

func (d *dialer) dial(ctx context.Context, address string, c *tls.Config) (net.Conn, error) {
	conn, err := handshake(ctx, address, c)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err, d.connected = err, d.connected || err == nil
	return conn, err
}

func (d *dialer) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.connected || errors.Is(d.err, context.Canceled) { // by the end of the call, which says more
		return nil
	}
	return d.err
}

func handshake(ctx context.Context, address string, c *tls.Config) (net.Conn, error) {
	conn, err := (&tls.Dialer{Config: c}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if got := conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; len(c.NextProtos) > 0 && got != c.NextProtos[0] {
		conn.Close()
		return nil, fmt.Errorf("it does not speak %s", c.NextProtos[0])
	}
	return conn, nil
}
