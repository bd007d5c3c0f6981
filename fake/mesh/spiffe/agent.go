package spiffe

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/spiffe/go-spiffe/v2/proto/spiffe/workload"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/fake/mesh/signing"
)

// AgentConfig says what an agent is like.
type AgentConfig struct {
	CA          *ca.CA
	TrustDomain string        // "" is example.org
	Entries     []Entry       // whom the caller may be; none: the caller has no identity
	Life        time.Duration // of SVIDs; zero is an hour
	Socket      string        // path of the Unix socket, which must not exist
}

// Entry is an identity that the caller may have.
type Entry struct {
	Path     string // of the SPIFFE ID, with its slash
	DNSNames []string
	Hint     string
}

// Agent is a running agent. Break and Mend are those of its Desk: a call that is
// refused has no identity.
type Agent struct {
	workload.UnimplementedSpiffeWorkloadAPIServer
	*signing.Desk
	config  AgentConfig
	grpc    *grpc.Server
	running sync.WaitGroup

	mu        sync.Mutex
	svids     []*workload.X509SVID
	federated map[string][]byte
	changed   chan struct{}
}

// StartAgent serves until Close.
func StartAgent(c AgentConfig) (*Agent, error) {
	if c.TrustDomain == "" {
		c.TrustDomain = "example.org"
	}
	if c.Life == 0 {
		c.Life = time.Hour
	}
	a := &Agent{
		Desk: &signing.Desk{CA: c.CA}, config: c, grpc: grpc.NewServer(grpc.WaitForHandlers(true)),
		federated: map[string][]byte{}, changed: make(chan struct{}),
	}
	if err := a.Rotate(); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", c.Socket)
	if err != nil {
		return nil, err
	}
	workload.RegisterSpiffeWorkloadAPIServer(a.grpc, a)
	a.running.Go(func() { _ = a.grpc.Serve(l) })
	return a, nil
}

// Addr is where it serves, as SPIFFE_ENDPOINT_SOCKET has it.
func (a *Agent) Addr() string { return "unix://" + a.config.Socket }

// Close ends it and its streams.
func (a *Agent) Close() error {
	a.grpc.Stop()
	a.running.Wait()
	return nil
}

// Rotate renews all SVIDs and pushes them.
func (a *Agent) Rotate() error {
	var next []*workload.X509SVID
	for _, e := range a.config.Entries {
		svid, err := a.issue(e)
		if err != nil {
			return err
		}
		next = append(next, svid)
	}
	a.push(func() { a.svids = next })
	return nil
}

// Federate has the agent know another trust domain's bundle.
func (a *Agent) Federate(trustDomain string, roots []*x509.Certificate) {
	a.push(func() { a.federated["spiffe://"+trustDomain] = concat(roots) })
}

func (a *Agent) push(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *Agent) issue(e Entry) (*workload.X509SVID, error) {
	id := "spiffe://" + a.config.TrustDomain + e.Path
	leaf, err := a.CA.Issue(ca.Request{URIs: []string{id}, DNSNames: e.DNSNames, Life: a.config.Life})
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		return nil, err
	}
	return &workload.X509SVID{SpiffeId: id, X509Svid: chainOf(leaf), X509SvidKey: key, Hint: e.Hint}, nil
}

func chainOf(leaf tls.Certificate) []byte { return bytes.Join(leaf.Certificate, nil) }

func concat(certs []*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, c.Raw...)
	}
	return out
}

// FetchX509SVID implements the API.
func (a *Agent) FetchX509SVID(_ *workload.X509SVIDRequest, stream grpc.ServerStreamingServer[workload.X509SVIDResponse]) error {
	return a.follow(stream.Context(), func() error {
		a.mu.Lock()
		answer := &workload.X509SVIDResponse{FederatedBundles: maps.Clone(a.federated)}
		bundle := concat(a.CA.Roots())
		for _, s := range a.svids {
			answer.Svids = append(answer.Svids, &workload.X509SVID{
				SpiffeId: s.SpiffeId, X509Svid: s.X509Svid, X509SvidKey: s.X509SvidKey, Hint: s.Hint, Bundle: bundle,
			})
		}
		a.mu.Unlock()
		return stream.Send(answer)
	})
}

// FetchX509Bundles implements the API.
func (a *Agent) FetchX509Bundles(_ *workload.X509BundlesRequest, stream grpc.ServerStreamingServer[workload.X509BundlesResponse]) error {
	return a.follow(stream.Context(), func() error {
		a.mu.Lock()
		all := maps.Clone(a.federated)
		a.mu.Unlock()
		all["spiffe://"+a.config.TrustDomain] = concat(a.CA.Roots())
		return stream.Send(&workload.X509BundlesResponse{Bundles: all})
	})
}

// follow sends what there is, and again whenever that changes.
func (a *Agent) follow(ctx context.Context, send func() error) error {
	if len(metadata.ValueFromIncomingContext(ctx, "workload.spiffe.io")) == 0 {
		return status.Error(codes.InvalidArgument, "security header missing from request")
	}
	_, err := a.Gate(ctx)
	switch {
	case errors.Is(err, signing.ErrRefused), err == nil && len(a.config.Entries) == 0:
		return status.Error(codes.PermissionDenied, "no identity issued")
	case err != nil:
		return status.Error(codes.Unavailable, "agent is not there")
	}
	for {
		a.mu.Lock()
		ours := a.changed
		a.mu.Unlock()
		roots := a.CA.Changed()
		if err := send(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-ours:
		case <-roots:
		}
	}
}
