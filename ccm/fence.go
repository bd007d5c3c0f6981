package ccm

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"gatehouse.dev/lbmodel"
)

// fence is asked before every call to a cloud. A process that slept through its lease,
// since its machine or somebody stopped it, still believes that it leads when it wakes,
// until its next renewal fails; another one leads by then.
type fence struct {
	name  string        // of the lease
	lasts time.Duration // how long the lease is good after a renewal
	now   func() time.Time
	last  atomic.Pointer[time.Time] // when the last renewal that succeeded was sent; its clock is monotonic
}

// wrap is a transport.WrapperFunc that sees renewals.
func (f *fence) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		sent := f.now()
		response, err := next.RoundTrip(r)
		if err == nil && f.renews(r) && response.StatusCode < http.StatusMultipleChoices {
			f.last.Store(&sent)
		}
		return response, err
	})
}

func (f *fence) renews(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/leases/"+f.name) ||
		r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/leases")
}

// Wait implements providers.Pacer: it does not wait, and refuses what the lease does
// not cover any more.
func (f *fence) Wait(ctx context.Context, op string) error {
	last := f.last.Load()
	if last == nil {
		return ctx.Err() // the lease is taken in a way that is not seen here
	}
	if age := f.now().Sub(*last); age >= f.lasts {
		return lbmodel.Errorf(lbmodel.CodeUnavailable, op, lbmodel.ID{},
			"lease %s was renewed %s ago and lasts %s: another process may lead", f.name, age.Round(time.Millisecond), f.lasts)
	}
	return ctx.Err()
}
