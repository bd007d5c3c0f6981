package gcpcalls

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/googleapis/gax-go/v2/callctx"
)

// headerCall tells a request of whose call it is, on the way from Google's client to its
// transport. It is never sent.
const headerCall = "X-Gatehouse-Call"

// binder gives requests the context of their call. Google's REST clients leave it out of
// the requests for pages (compute/apiv1 v1.75), so that a list would hang as long as a
// server does.
type binder struct {
	base  http.RoundTripper
	last  atomic.Uint64
	mu    sync.Mutex
	calls map[string]context.Context
}

func bound(client *http.Client) (*http.Client, *binder) {
	b := &binder{base: client.Transport, calls: map[string]context.Context{}}
	if b.base == nil {
		b.base = http.DefaultTransport
	}
	out := *client
	out.Transport = b
	return &out, b
}

// begin is the context for a call; end is to be called after it.
func (b *binder) begin(ctx context.Context) (_ context.Context, end func()) {
	id := strconv.FormatUint(b.last.Add(1), 10)
	b.mu.Lock()
	b.calls[id] = ctx
	b.mu.Unlock()
	return callctx.SetHeaders(ctx, headerCall, id), func() {
		b.mu.Lock()
		delete(b.calls, id)
		b.mu.Unlock()
	}
}

// RoundTrip implements http.RoundTripper.
func (b *binder) RoundTrip(r *http.Request) (*http.Response, error) {
	id := r.Header.Get(headerCall)
	if id == "" {
		return b.base.RoundTrip(r)
	}
	b.mu.Lock()
	ctx := b.calls[id]
	b.mu.Unlock()
	if ctx == nil {
		ctx = r.Context()
	}
	r = r.Clone(ctx)
	r.Header.Del(headerCall)
	return b.base.RoundTrip(r)
}
