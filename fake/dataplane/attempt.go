package dataplane

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"gatehouse.dev/lbmodel"
)

// RoundTrip implements http.RoundTripper: it sends the request to an endpoint,
// and to another when that one does not accept it or the rule says to retry.
func (x *exchange) RoundTrip(out *http.Request) (*http.Response, error) {
	var tried []*link
	failed := errNoEndpoint
	for {
		l := x.pick(tried)
		if l == nil {
			return nil, failed
		}
		res, err := x.attempt(out, l)
		if !x.retries(out.Context(), res, err) {
			return res, err
		}
		x.socket.plane.tallies.fail(RepeatedAttempt)
		if err == nil {
			discard(res)
		} else {
			failed = err
		}
		x.release()
		tried = x.spare(append(tried, l))
	}
}

// pick prefers the endpoint that the session belongs to, while it is there.
func (x *exchange) pick(tried []*link) *link {
	if l := x.session.link; l != nil && !slices.Contains(tried, l) {
		return l
	}
	if x.bySource() {
		return x.backend.pool.bySource(clientOf(x.in), tried)
	}
	if x.backend.pool.families == nil { // as nearly always: the client's address is not needed
		return x.backend.pool.pick(netip.Addr{}, tried)
	}
	return x.backend.pool.pick(clientOf(x.in), tried)
}

func (x *exchange) bySource() bool {
	p := x.route.rule.Action.Persistence
	if p == nil {
		p = x.backend.pool.persistence
	}
	return p != nil && p.Kind == lbmodel.PersistSource
}

// spare forgets which endpoints were tried once all were, so that a repetition
// may come back to them.
func (x *exchange) spare(tried []*link) []*link {
	if len(tried) >= len(x.backend.pool.links) {
		return nil
	}
	return tried
}

// attempt sends the request once.
func (x *exchange) attempt(out *http.Request, l *link) (*http.Response, error) {
	x.attempts++
	l.begin()
	x.link = l
	req := x.addressed(out, l)
	res, err := l.transport.RoundTrip(req)
	var unreached *connectError
	switch {
	case err == nil:
		l.worked()
		x.socket.plane.relent(l)
	case errors.As(err, &unreached) && x.in.Context().Err() == nil:
		l.failed()
		x.socket.plane.tallies.fail(FailedConnect)
		x.socket.plane.config.Log.Debug("endpoint did not accept", slog.String("pool", x.backend.pool.ref.Pool),
			slog.String("endpoint", string(l.key.target)), slog.Any("error", err))
		x.socket.plane.complain(l, err)
	}
	return res, err
}

// addressed is the request for one endpoint. Attempts share nothing that the
// transport writes to.
func (x *exchange) addressed(out *http.Request, l *link) *http.Request {
	ctx := out.Context()
	if limit := time.Duration(x.route.rule.Action.Timeouts.Backend); limit > 0 {
		ctx, x.cancel = context.WithTimeoutCause(ctx, limit, errBackendTimeout)
	}
	req := out
	if x.attempts > 1 || x.cancel != nil {
		req = out.WithContext(ctx)
		u := *out.URL
		req.URL = &u
	}
	req.URL.Scheme, req.URL.Host = l.scheme, string(l.key.target)
	if x.body != nil {
		req.Body = x.body.open()
		req.GetBody = x.reopen
	}
	return req
}

// reopen lets net/http itself repeat a request that a kept connection lost.
func (x *exchange) reopen() (io.ReadCloser, error) {
	if !x.body.again() {
		return nil, errSpent
	}
	return x.body.open(), nil
}

// retries decides whether to try again, and waits before it does. Failing to
// connect is harmless to repeat; anything else only where the rule says so.
func (x *exchange) retries(ctx context.Context, res *http.Response, err error) bool {
	if ctx.Err() != nil || !x.body.again() {
		return false
	}
	var unreached *connectError
	retry := x.route.rule.Action.Retry
	switch {
	case errors.As(err, &unreached) && x.attempts < min(x.limits().ConnectAttempts, len(x.backend.pool.links)):
		return true // somebody else is there
	case err != nil && x.repeats(err):
		return true
	case retry == nil || x.attempts > retry.Attempts:
		return false
	case err == nil && !retry.RetriesStatus(res.StatusCode):
		return false
	default:
		return pause(ctx, backoff(time.Duration(retry.Backoff), x.attempts))
	}
}

// repeats once, without being told to, what a broken connection lost: most
// likely the backend closed it just before the request came, and net/http finds
// that out in more ways than it repeats by itself. Only requests that mean the
// same twice qualify (RFC 9110 §9.2.2), and idle connections of the same age are
// not trusted either.
func (x *exchange) repeats(err error) bool {
	if status, _, _ := x.classify(err); x.repeated || status != http.StatusBadGateway || !idempotent(x.in.Method) {
		return false
	}
	x.repeated = true
	x.link.transport.CloseIdleConnections()
	return true
}

func idempotent(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	default:
		return false
	}
}

// The bounds of the wait between two attempts.
const (
	firstBackoff = 25 * time.Millisecond // where the rule gives none
	maxBackoff   = 10 * time.Second
)

// backoff doubles from the rule's own minimum, with up to as much again at
// random, so that clients of a failed backend do not come back together.
func backoff(base time.Duration, attempts int) time.Duration {
	if base <= 0 {
		base = firstBackoff
	}
	wait := min(base<<min(attempts-1, 16), maxBackoff)
	return wait + rand.N(wait)
}

func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// discard frees a response's connection when little is left to read.
func discard(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, 16<<10)
	res.Body.Close()
}

// answerBody passes a backend's body on, counts it, and bounds each write of it.
type answerBody struct {
	io.ReadCloser
	x *exchange
}

// Read implements io.Reader. Between its return and the next call the server
// writes to the client.
func (b *answerBody) Read(p []byte) (int, error) {
	b.x.stall.disarm()
	n, err := b.ReadCloser.Read(p)
	b.x.bytes += int64(n)
	if err != nil {
		b.x.lastWrite()
	} else {
		b.x.writing()
	}
	return n, err
}

// writing bounds the write that follows. HTTP/1.1 has a connection to itself and
// a deadline is cheap; a deadline of an HTTP/2 stream would also end it while
// nothing is written, so there a guard is armed.
func (x *exchange) writing() {
	if x.in.ProtoMajor == 1 {
		x.extend()
		return
	}
	if x.stall == nil {
		control := http.NewResponseController(x.w)
		x.stall = newGuard(x.limits().BodyIdle, func() { control.SetWriteDeadline(time.Unix(1, 0)) })
	}
	x.stall.arm()
}

// lastWrite bounds what the server still writes when the exchange is over.
func (x *exchange) lastWrite() {
	if x.in.ProtoMajor == 1 {
		x.extend()
		return
	}
	http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(x.limits().BodyIdle))
}

// extend moves the deadline only when a good part of it has passed.
func (x *exchange) extend() {
	now, limit := time.Now(), x.limits().BodyIdle
	if now.Add(limit / 2).Before(x.deadline) {
		return
	}
	x.deadline = now.Add(limit)
	http.NewResponseController(x.w).SetWriteDeadline(x.deadline)
}
