package gcpcalls

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Transport says how requests are sent.
type Transport struct {
	// Base sends one attempt; required.
	Base http.RoundTripper
	// Sign gives an attempt its headers, such as a token; nil is for none. Where it fails
	// nothing is sent.
	Sign func(*http.Request) error
	// Before is asked before every attempt, with the request's name (see [Name]); nil
	// holds nothing back.
	Before func(ctx context.Context, name string) error
	// Throttled is told of every attempt that was refused as one too many; nil is for
	// nobody who cares.
	Throttled func(name string)
}

// Attempts and the waits between them. An attempt that was one too many has stood in
// Before's queue, so waits need not reach the next minute: they are for quotas that
// others use up.
const (
	maxAttempts  = 5
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 8 * time.Second
	maxAsked     = 30 * time.Second // of what a Retry-After asks for
)

// NewTransport makes the one layer that tries requests again: reads, and changes that
// carry a requestId, when the connection broke or the server failed; and any request
// that was refused as one too many, since nothing was done. Each attempt is asked for
// and gets its token by itself. What is not tried again is answered as it was.
func NewTransport(t Transport) http.RoundTripper {
	return &sender{transport: t}
}

type sender struct{ transport Transport }

// RoundTrip implements http.RoundTripper.
func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	again := &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: paced{s.transport}, CheckRedirect: asAnswered},
		RetryMax:     maxAttempts - 1,
		CheckRetry:   s.check(repeatable(r), Name(r)),
		Backoff:      backoff,
		RetryWaitMin: firstBackoff, RetryWaitMax: maxBackoff,
		ErrorHandler: lastAnswer,
	}
	request, err := retryablehttp.FromRequest(r)
	if err != nil {
		return nil, err
	}
	return again.Do(request)
}

// asAnswered follows no redirects: APIs have none.
func asAnswered(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// lastAnswer is what comes of a request when no attempt is left.
func lastAnswer(answer *http.Response, err error, _ int) (*http.Response, error) {
	if answer != nil {
		return answer, nil
	}
	return nil, err
}

// repeatable says whether a request may be done twice.
func repeatable(r *http.Request) bool {
	return r.Method == http.MethodGet || r.URL.Query().Has("requestId") || reading(r.URL.Path)
}

// reading says whether a POST changes nothing.
func reading(path string) bool {
	verb := path[strings.LastIndexByte(path, '/')+1:]
	return verb == "getHealth" || verb == "listNetworkEndpoints" || verb == "wait"
}

// check decides about one request.
func (s *sender) check(repeatable bool, name string) retryablehttp.CheckRetry {
	return func(ctx context.Context, answer *http.Response, err error) (bool, error) {
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			if held, ok := errors.AsType[notSent](err); ok {
				return false, held.error
			}
			again, _ := retryablehttp.DefaultRetryPolicy(ctx, nil, err) // not for wrong certificates
			return again && repeatable, nil
		case throttled(answer):
			if s.transport.Throttled != nil {
				s.transport.Throttled(name)
			}
			return true, nil
		default:
			return repeatable && answer.StatusCode >= 500 && answer.StatusCode != http.StatusNotImplemented, nil
		}
	}
}

// mostRead is how much of a refusal is read to know what it is.
const mostRead = 64 << 10

// throttled says whether a request was refused because there were too many. Compute
// says 403 to that, as it does to who may not, and to who has too much.
func throttled(answer *http.Response) bool {
	switch answer.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
		text, err := io.ReadAll(io.LimitReader(answer.Body, mostRead))
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(text), answer.Body), answer.Body}
		return err == nil && (bytes.Contains(text, []byte("rateLimitExceeded")) || bytes.Contains(text, []byte("RATE_LIMIT_EXCEEDED")) ||
			bytes.Contains(text, []byte("CONCURRENT_OPERATIONS_QUOTA_EXCEEDED")))
	default:
		return false
	}
}

// backoff is the wait before an attempt: what was asked for, within reason, or jittered
// and doubled each time.
func backoff(low, high time.Duration, attempt int, answer *http.Response) time.Duration {
	if answer != nil {
		if asked, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && asked > 0 {
			return min(time.Duration(asked)*time.Second, maxAsked)
		}
	}
	full := min(high, low<<min(attempt, 8))
	return full/2 + rand.N(full/2)
}

// notSent is an attempt that was not made.
type notSent struct{ error }

// Unwrap implements errors.Unwrap.
func (n notSent) Unwrap() error { return n.error }

// paced stands in front of every attempt.
type paced struct{ Transport }

// RoundTrip implements http.RoundTripper.
func (p paced) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.Before != nil {
		if err := p.Before(r.Context(), Name(r)); err != nil {
			return nil, notSent{err}
		}
	}
	if p.Sign != nil {
		r = r.Clone(r.Context())
		if err := p.Sign(r); err != nil {
			return nil, notSent{err}
		}
	}
	return p.Base.RoundTrip(r)
}
