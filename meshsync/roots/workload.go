package roots

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/spiffe/go-spiffe/v2/proto/spiffe/workload"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"github.com/spiffe/go-spiffe/v2/workloadapi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// Workload is a SPIFFE agent's Workload API (FetchX509Bundles): the bundles of its
// own trust domain and of those that are federated with it, each on its own. The
// agent knows us by our process; where it knows no entry for that, it gives nothing.
//
// It uses the API itself and not go-spiffe's client: that gives up all bundles when
// one of them is broken, and has a clock of its own.
type Workload struct {
	Socket      string // "unix:///run/spire/agent.sock", as SPIFFE_ENDPOINT_SOCKET has it
	TrustDomain string // the only one that is wanted; "" is all
}

// maxDomains bounds how many trust domains an agent may know.
const maxDomains = 256

// Where implements Source.
func (w Workload) Where() string { return "SPIFFE agent at " + w.Socket }

// Watch implements Source.
func (w Workload) Watch(ctx context.Context, s Start, tell func([]Bundle)) {
	l := newLedger(w.TrustDomain, s.Last)
	target, err := w.target()
	if err != nil {
		refuse(ctx, s, l, err, tell)
		return
	}
	stream{open: w.open, dial: func() (*grpc.ClientConn, error) {
		return grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)), grpc.WithDisableServiceConfig(), grpc.WithNoProxy())
	}}.follow(ctx, s, l, tell)
}

var errFarAgent = errors.New("an agent is asked in clear text: at a socket, or by tcp on this host alone")

// target is where gRPC finds the agent.
func (w Workload) target() (string, error) {
	target, err := workloadapi.TargetFromAddress(w.Socket)
	if err != nil {
		return "", err
	}
	if u, err := url.Parse(w.Socket); err == nil && u.Scheme == "tcp" && !loopback(u.Hostname()) {
		return "", fmt.Errorf("%s: %w", u.Host, errFarAgent)
	}
	return target, nil
}

func (w Workload) open(ctx context.Context, conn *grpc.ClientConn) (func() ([]Bundle, error, error), error) {
	// The header is the API's proof that no browser was led here (SPIFFE Workload
	// Endpoint, 3).
	ctx = metadata.AppendToOutgoingContext(ctx, "workload.spiffe.io", "true")
	bundles, err := workload.NewSpiffeWorkloadAPIClient(conn).FetchX509Bundles(ctx, &workload.X509BundlesRequest{})
	if err != nil {
		return nil, err
	}
	return func() ([]Bundle, error, error) {
		answer, err := bundles.Recv()
		if err != nil {
			return nil, nil, err
		}
		found, bad := w.parse(answer.GetBundles())
		return found, bad, nil
	}, nil
}

// parse reads an answer. A bundle that is broken is the trouble of its own trust
// domain.
func (w Workload) parse(all map[string][]byte) ([]Bundle, error) {
	if len(all) > maxDomains {
		return nil, fmt.Errorf("the agent has %d bundles, more than the %d that are read", len(all), maxDomains)
	}
	var out []Bundle
	for id, der := range all {
		domain, err := spiffeid.TrustDomainFromString(id)
		if err != nil {
			return nil, fmt.Errorf("the agent has a bundle of %q, which is no trust domain", said(id, ""))
		}
		if w.TrustDomain == "" || w.TrustDomain == domain.Name() {
			out = append(out, parseBundle(domain.Name(), der))
		}
	}
	slices.SortFunc(out, func(a, b Bundle) int { return cmp.Compare(a.Name, b.Name) })
	if len(out) == 0 {
		return nil, errors.New("the agent has no such bundle")
	}
	return out, nil
}

// parseBundle reads certificates in DER, one after the other.
func parseBundle(name string, der []byte) Bundle {
	certs, err := x509.ParseCertificates(der)
	if err != nil {
		return Bundle{Name: name, Problem: "the bundle cannot be parsed: " + said(err.Error(), "")}
	}
	if len(certs) == 0 {
		return Bundle{Name: name}
	}
	found, err := normal(certs)
	if err != nil {
		return Bundle{Name: name, Problem: said(err.Error(), "")}
	}
	return Bundle{Name: name, Roots: found}
}
