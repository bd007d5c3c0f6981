package roots

import (
	"context"
	"fmt"
	"io"
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

// At is the source for a place where a mesh publishes its roots outside the cluster.
// It is false for one inside, which translation reads.
func At(at meshsync.RootsAt) (Source, bool) {
	if at.URL == "" {
		return nil, false
	}
	return Endpoint{TrustDomain: at.Name, URL: at.URL, Profile: Web}, true
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
	l.failed(s.Clock.Now(), time.Time{}, err.Error())
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
