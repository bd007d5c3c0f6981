package live

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"gatehouse.dev/fake/gcpapi/serve"
)

// flight is a request's way to the endpoints of a service, with its retries. It is an
// http.RoundTripper.
type flight struct {
	service *service
	retry   serve.Retry
	key     string // of affinity
	tried   []*member
	body    *replay
}

// errNoBackend: nobody is there, or nobody is healthy.
var errNoBackend = errors.New("no healthy backend")

// RoundTrip implements http.RoundTripper.
func (f *flight) RoundTrip(r *http.Request) (*http.Response, error) {
	for attempt := 0; ; attempt++ {
		m := f.service.pick(f.key, f.tried)
		if m == nil {
			return nil, &hopError{failedToPick, errNoBackend}
		}
		f.tried = append(f.tried, m)
		response, err := f.send(m, r)
		if !f.again(attempt, r, response, err) {
			return response, err
		}
		if response != nil {
			response.Body.Close()
		}
	}
}

// send makes one attempt. Its load ends with the answer's body.
func (f *flight) send(m *member, r *http.Request) (*http.Response, error) {
	k := m.link
	k.load.Add(1)
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(k.gone, func() { cancel(&hopError{closedBefore, errors.New("the endpoint's draining is over")}) })
	inTime := func() bool { return true }
	if f.retry.PerTry > 0 {
		inTime = time.AfterFunc(f.retry.PerTry, func() { cancel(&hopError{timedOut, context.DeadlineExceeded}) }).Stop
	}
	over := func() {
		stop()
		cancel(nil)
		k.load.Add(-1)
	}
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host = k.scheme(), "backend"
	if f.body != nil {
		out.Body = f.body.again()
	}
	response, err := k.transport.RoundTrip(out)
	inTime()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		over()
		return nil, named(err)
	}
	response.Body = withEnd(response.Body, over)
	return response, nil
}

// named gives a transport's error Google's name.
func named(err error) error {
	var known *hopError
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return &hopError{timedOut, err}
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, new(*net.OpError)):
		return &hopError{closedBefore, err}
	}
	return &hopError{badResponse, err}
}

// again says whether an attempt is made once more.
func (f *flight) again(attempt int, r *http.Request, response *http.Response, err error) bool {
	if r.Context().Err() != nil || !f.replayable(r) {
		return false
	}
	code := 0
	if response != nil {
		code = response.StatusCode
	}
	if attempt < f.retry.Attempts && slices.ContainsFunc(f.retry.On, func(on string) bool { return holds(on, code, response, err) }) {
		return true
	}
	bodyless := r.Body == nil || r.Body == http.NoBody
	return f.retry.Default && bodyless && attempt < 1 && holds("gateway-error", code, response, err)
}

func (f *flight) replayable(r *http.Request) bool {
	return r.Body == nil || r.Body == http.NoBody || f.body != nil
}

// holds says whether a retry condition does.
func holds(condition string, code int, response *http.Response, err error) bool {
	var hop *hopError
	connect := errors.As(err, &hop) && hop.details != closedBefore && hop.details != badResponse && hop.details != timedOut && hop.details != failedToPick
	switch condition {
	case "5xx":
		return err != nil || code >= http.StatusInternalServerError
	case "gateway-error":
		return err != nil || code >= http.StatusBadGateway && code <= http.StatusGatewayTimeout
	case "connect-failure":
		return connect
	case "retriable-4xx":
		return code == http.StatusConflict
	case "refused-stream":
		return err != nil && !connect
	}
	number, ok := map[string]string{"cancelled": "1", "deadline-exceeded": "4", "resource-exhausted": "8", "internal": "13", "unavailable": "14"}[condition]
	return ok && response != nil && response.Header.Get("Grpc-Status") == number
}

// replay is a request body that can be sent again.
type replay struct{ text []byte }

// mostReplay is the largest body that is kept for a retry or a copy, in bytes.
const mostReplay = 64 << 10

// keep reads a body that is small enough; nil for one that is not, or that there is not.
func keep(r *http.Request) (*replay, error) {
	if r.ContentLength <= 0 || r.ContentLength > mostReplay {
		return nil, nil
	}
	text, err := io.ReadAll(r.Body)
	return &replay{text}, err
}

func (b *replay) again() io.ReadCloser { return io.NopCloser(bytes.NewReader(b.text)) }

// ended calls a function when a body is closed, once: an upgraded connection may be
// closed from two sides.
type ended struct {
	io.ReadCloser
	over func()
	once sync.Once
}

// Close implements io.Closer.
func (e *ended) Close() error {
	err := e.ReadCloser.Close()
	e.once.Do(e.over)
	return err
}

// endedBoth is an upgraded connection, which is written to as well.
type endedBoth struct {
	*ended
	io.Writer
}

func withEnd(body io.ReadCloser, over func()) io.ReadCloser {
	e := &ended{ReadCloser: body, over: over}
	if w, ok := body.(io.Writer); ok {
		return &endedBoth{e, w}
	}
	return e
}
