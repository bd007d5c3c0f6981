package roots

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"gatehouse.dev/meshsync"
)

// Source is a place outside the cluster's objects where roots are published. Its
// values are settings: two that are equal read the same (reflect.DeepEqual).
type Source interface {
	// Where is the place, fit for people and logs.
	Where() string
	// Watch reads until the context ends, and tells all that is known of the source
	// after every reading: one bundle for each trust domain, sorted by name. It
	// returns when the context has ended, and only then. What it told is not changed
	// afterwards.
	Watch(ctx context.Context, s Start, tell func([]Bundle))
}

// At is the source for a place where a mesh publishes its roots outside the cluster;
// token is what a Consul is told, and "" for all others. It is false for a place
// inside, which translation reads, and for one of which nobody said where it is.
func At(at meshsync.RootsAt, token Secret) (Source, bool) {
	switch {
	case at.URL == "":
		return nil, false
	case at.Kind == meshsync.RootsWorkload:
		return Workload{Socket: at.URL, TrustDomain: at.Name}, true
	case at.Kind == meshsync.RootsConsul:
		return consulAt(at, token), true
	case at.Kind == meshsync.RootsSPIFFE && Profile(at.Profile) == SPIFFE:
		return Endpoint{TrustDomain: at.Name, URL: at.URL, Profile: SPIFFE, ID: at.ID, Bootstrap: at.ServerRoots}, true
	case at.Kind == meshsync.RootsSPIFFE:
		return Endpoint{TrustDomain: at.Name, URL: at.URL, Profile: cmp.Or(Profile(at.Profile), Web), WebRoots: at.ServerRoots}, true
	default:
		return nil, false
	}
}

// consulAt is a Consul by the interface that the URL's scheme means.
func consulAt(at meshsync.RootsAt, token Secret) Source {
	u, err := url.Parse(at.URL)
	if err == nil && (u.Scheme == "grpc" || u.Scheme == "grpcs") {
		return ConsulStream{
			Addr: u.Host, TrustDomain: at.Name, Token: token,
			ServerRoots: at.ServerRoots, ServerName: at.ServerName, Plain: u.Scheme == "grpc",
		}
	}
	return Consul{URL: at.URL, TrustDomain: at.Name, Token: token, ServerRoots: at.ServerRoots, ServerName: at.ServerName}
}

// Start is what a Watch starts with.
type Start struct {
	// Last is what an earlier Watch told, as far as somebody kept it: roots that stay
	// until the first reading, and sequences that may not go back.
	Last   []Bundle
	Clock  Clock
	Random func() float64 // from 0 to below 1: spreads readings in time
}

// Clock is the time. Timeouts of single requests are real time in any case.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// sleep waits, and says whether the context still goes on.
func (s Start) sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-s.Clock.After(d):
		return ctx.Err() == nil
	}
}

// spread is a time somewhere in the last tenth of d: never later than d, so that
// what is published is not missed, and many readers do not come at once.
func (s Start) spread(d time.Duration) time.Duration {
	return d - time.Duration(s.Random()*float64(d)/10)
}

// refuse tells that settings cannot be used, and waits for others.
func refuse(ctx context.Context, s Start, l *ledger, err error, tell func([]Bundle)) {
	l.refused(s.Clock.Now(), time.Time{}, err.Error())
	tell(l.all())
	<-ctx.Done()
}

// Secret is a text that is never printed.
type Secret string

const redacted = "(secret)"

// Format implements fmt.Formatter, for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String implements fmt.Stringer.
func (Secret) String() string { return redacted }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
