package consul

import (
	"context"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/consul/proto-public/pbacl"
	"github.com/hashicorp/consul/proto-public/pbconnectca"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/signing"
)

// Config says what a Consul is like.
type Config struct {
	CA          *ca.CA
	TrustDomain string                           // "" is 11111111-2222-3333-4444-555555555555.consul
	Datacenter  string                           // "" is dc1
	Life        time.Duration                    // LeafCertTTL; zero is 72 hours
	Write       func(token, service string) bool // service:write; nil is everybody, as without ACLs
	Auth        *Auth                            // who may log in; nil is nobody
	Serving     *tls.Certificate                 // of gRPC over TLS (8503); nil is plain text (8502)
}

// Server is a running Consul. Break, Mend and Calls are those of its Desk, and
// count for Sign and the leaf endpoint.
type Server struct {
	pbconnectca.UnimplementedConnectCAServiceServer
	*signing.Desk
	config   Config
	grpc     *grpc.Server
	http     *http.Server
	gAt, hAt string
	done     <-chan struct{} // ends blocking queries
	end      context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	index   uint64
	changed chan struct{}
	frozen  Frozen
	roots   rootList // while frozen
	leaves  map[string]leaf
	logins  map[string]login // by token
}

// Frozen is what a Consul no longer keeps up to date.
type Frozen string

// What may freeze; "" is nothing.
const (
	Roots  Frozen = "Roots"
	Leaves Frozen = "Leaves" // where the query does not block
)

// Start serves until Close.
func Start(c Config) (*Server, error) {
	if c.TrustDomain == "" {
		c.TrustDomain = "11111111-2222-3333-4444-555555555555.consul"
	}
	if c.Datacenter == "" {
		c.Datacenter = "dc1"
	}
	if c.Life == 0 {
		c.Life = 72 * time.Hour
	}
	s := &Server{
		Desk: &signing.Desk{CA: c.CA}, config: c, grpc: grpc.NewServer(c.serving()...),
		index: 1, changed: make(chan struct{}), leaves: map[string]leaf{}, logins: map[string]login{},
	}
	ctx, end := context.WithCancel(context.Background())
	s.done, s.end = ctx.Done(), end
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/connect/ca/roots", s.serveRoots)
	mux.HandleFunc("GET /v1/agent/connect/ca/leaf/{service}", s.serveLeaf)
	s.http = &http.Server{Handler: mux, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second}
	pbconnectca.RegisterConnectCAServiceServer(s.grpc, s)
	pbacl.RegisterACLServiceServer(s.grpc, acl{server: s})
	return s, s.listen()
}

func (c Config) serving() []grpc.ServerOption {
	options := []grpc.ServerOption{grpc.WaitForHandlers(true)}
	if c.Serving != nil {
		options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(c.Serving)))
	}
	return options
}

func (s *Server) listen() error {
	g, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		g.Close()
		return err
	}
	s.gAt, s.hAt = g.Addr().String(), h.Addr().String()
	changed := s.CA.Changed()
	s.running.Go(func() { _ = s.grpc.Serve(g) })
	s.running.Go(func() { _ = s.http.Serve(h) })
	s.running.Go(func() { s.follow(changed) })
	return nil
}

// follow raises the index with every change of the CA.
func (s *Server) follow(changed <-chan struct{}) {
	for {
		select {
		case <-s.done:
			return
		case <-changed:
			changed = s.CA.Changed()
			s.mu.Lock()
			s.index++
			close(s.changed)
			s.changed = make(chan struct{})
			s.mu.Unlock()
		}
	}
}

// GRPCAddr is where ConnectCAService and ACLService are.
func (s *Server) GRPCAddr() string { return s.gAt }

// HTTPAddr is where the HTTP API is (8500).
func (s *Server) HTTPAddr() string { return s.hAt }

// Close ends it, with the streams and queries that wait.
func (s *Server) Close() error {
	s.end()
	s.grpc.Stop()
	err := s.http.Close()
	s.running.Wait()
	return err
}

// Freeze has it make one of Consul's mistakes from now on; "" ends that.
func (s *Server) Freeze(what Frozen) {
	now := s.list()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen, s.roots = what, now
}

// ID is the SPIFFE ID of a service of the default namespace.
func (c Config) ID(service string) string {
	return fmt.Sprintf("spiffe://%s/ns/default/dc/%s/svc/%s", c.TrustDomain, c.Datacenter, service)
}

// Config is the server's own, with its defaults.
func (s *Server) Config() Config { return s.config }

var (
	errID      = errors.New("the CSR must have one SPIFFE ID of a service")
	errForeign = errors.New("SPIFFE ID in CSR from a different trust domain or datacenter")
)

// serviceOf is the service that a CSR asks for.
func (s *Server) serviceOf(csr *x509.CertificateRequest) (string, error) {
	if len(csr.URIs) != 1 || csr.URIs[0].Scheme != "spiffe" {
		return "", errID
	}
	id := csr.URIs[0].String()
	_, service, ok := strings.Cut(id, "/svc/")
	switch {
	case !ok || service == "" || strings.Contains(service, "/"):
		return "", errID
	case id != s.config.ID(service):
		return "", fmt.Errorf("%w: %s", errForeign, id)
	}
	return service, nil
}

// mayWrite says what a token allows, by the code that Consul answers with.
func (s *Server) mayWrite(token, service string) codes.Code {
	may := true
	switch {
	case s.config.Write != nil:
		may = s.config.Write(token, service)
	case s.config.Auth != nil:
		own, known := s.loggedIn(token)
		if !known {
			return codes.Unauthenticated
		}
		may = own == service
	}
	if !may {
		return codes.PermissionDenied
	}
	return codes.OK
}

// fingerprint is how Consul names roots: SHA-1, as it does.
func fingerprint(c *x509.Certificate) string {
	sum := sha1.Sum(c.Raw)
	return strings.ReplaceAll(fmt.Sprintf("% x", sum[:]), " ", ":")
}
