package roots

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/go-retryablehttp"

	"gatehouse.dev/lbmodel"
)

// The bounds of one request.
const (
	patience    = 30 * time.Second // unless settings say otherwise
	maxBody     = lbmodel.MaxRootsText
	maxHeader   = 64 << 10
	maxRedirect = 5
	maxSaid     = 200 // bytes of what a server says in its own words
)

// web makes requests by GET. Each is tried once more when the server could not be
// reached; whatever a server answers is an answer, and next time is soon enough
// (SPIFFE Federation, 5.2.3).
type web struct {
	client *retryablehttp.Client
	now    func() time.Time
}

// newWeb makes requests over its own connections, one for each: who answers is
// verified by what is trusted then.
func newWeb(s Start, config *tls.Config, timeout time.Duration, redirect func(*http.Request, []*http.Request) error) web {
	config.MinVersion, config.Time = tls.VersionTLS12, s.Clock.Now
	client := &http.Client{Timeout: timeout, CheckRedirect: redirect, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true,
		DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader,
	}}
	return web{now: s.Clock.Now, client: &retryablehttp.Client{
		HTTPClient: client, RetryMax: 1, CheckRetry: unreached, ErrorHandler: lastAnswer,
		Backoff: func(_, _ time.Duration, _ int, _ *http.Response) time.Duration {
			return 100*time.Millisecond + rand.N(300*time.Millisecond)
		},
	}}
}

// unreached is a retryablehttp.CheckRetry: no connection, so that no request was
// made.
func unreached(ctx context.Context, _ *http.Response, err error) (bool, error) {
	var op *net.OpError
	return ctx.Err() == nil && errors.As(err, &op) && op.Op == "dial" && !op.Timeout(), nil
}

// lastAnswer is a retryablehttp.ErrorHandler that keeps to http.Client's contract.
func lastAnswer(answer *http.Response, err error, _ int) (*http.Response, error) {
	if err != nil && answer != nil {
		answer.Body.Close()
		answer = nil
	}
	return answer, err
}

// answer is one that was read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// get makes a request. Errors name host and path.
func (w web) get(ctx context.Context, at *url.URL, header http.Header) (answer, error) {
	r, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return answer{}, fmt.Errorf("%s: the URL cannot be asked", place(at))
	}
	r.Header = header
	response, err := w.client.Do(r)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", place(at), notProved(withoutURL(err)))
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	if a.body, err = io.ReadAll(io.LimitReader(response.Body, maxBody+1)); err != nil {
		return a, fmt.Errorf("%s: the answer broke off: %w", place(at), withoutURL(err))
	}
	if len(a.body) > maxBody {
		return a, refusal{fmt.Errorf("%s: the answer has more than the %d bytes that a bundle of roots may have", place(at), maxBody)}
	}
	return a, w.refusal(at, a)
}

// refusal is the error of an answer that is not one to the question.
func (w web) refusal(at *url.URL, a answer) error {
	if a.status == http.StatusOK || a.status == http.StatusNotModified {
		return nil
	}
	err := fmt.Errorf("%s: status %d", place(at), a.status)
	if forGood(a.status) {
		return refusal{err}
	}
	if a.status != http.StatusTooManyRequests && a.status != http.StatusServiceUnavailable {
		return err
	}
	if after := retryAfter(a.header.Get("Retry-After"), w.now()); after > 0 {
		return laterError{err, after}
	}
	return err
}

// forGood says that a status blames the question: it is answered alike next time
// (RFC 9110, 15.5).
func forGood(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	default:
		return status >= 400 && status < 500
	}
}

// notProved marks that the server could not prove to be who it should be.
func notProved(err error) error {
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return refusal{err}
	}
	return err
}

// retryAfter reads a Retry-After header (RFC 9110, 10.2.3); zero is none.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// place is a URL without what may be secret.
func place(u *url.URL) string { return u.Host + u.EscapedPath() }

// withoutURL is the reason in a url.Error, whose own text has the whole URL.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		if u.Timeout() {
			return errors.New("no answer in time")
		}
		return u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	return err
}

// httpsURL reads a URL that may be asked for roots.
func httpsURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("the URL cannot be read") // the error would quote it
	case u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		return nil, fmt.Errorf("%s: the URL is not one of https", place(u))
	case u.User != nil:
		return nil, fmt.Errorf("%s: the URL has a user in it", place(u))
	}
	return u, nil
}

// redirectHTTPS follows to where a bundle may be; the next reading begins at the URL
// of the settings again.
func redirectHTTPS(r *http.Request, via []*http.Request) error {
	if _, err := httpsURL(r.URL.String()); err != nil {
		return refusal{fmt.Errorf("redirected to where no bundle is read: %w", err)}
	}
	if len(via) >= maxRedirect {
		return refusal{fmt.Errorf("redirected more than %d times", maxRedirect)}
	}
	return nil
}

// noRedirect is for requests with a token: it is for nobody else.
func noRedirect(r *http.Request, _ []*http.Request) error {
	return refusal{fmt.Errorf("redirected to %s, which is not followed", place(r.URL))}
}

// poolOf reads the roots that a server is verified by; of an empty text nil, the
// system's.
func poolOf(text string) (*x509.CertPool, error) {
	if text == "" {
		return nil, nil
	}
	found, err := lbmodel.ParseRoots([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the roots for the server itself: %w", err)
	}
	pool := x509.NewCertPool()
	for _, c := range certificates(found) {
		pool.AddCert(c)
	}
	return pool, nil
}

// loopback says whether a host is this one.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// fromPort is our own end of a connection in an error of the net package. It is
// another each time, and would make every failure look like a new one.
var fromPort = regexp.MustCompile(`\S+->`)

// steady is an error's text without that.
func steady(text string) string { return fromPort.ReplaceAllString(text, "") }

// said is what a server says, fit for a message: short, printable, in one line and
// without the secret that it was told.
func said(text string, secret Secret) string {
	if secret != "" {
		text = strings.ReplaceAll(text, string(secret), redacted)
	}
	text = steady(text)
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(text) > maxSaid {
		text = text[:maxSaid] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
