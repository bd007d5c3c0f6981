package live

import (
	"context"
	"errors"
	"io"
	"log"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"gatehouse.dev/fake/gcpapi/serve"
)

// exchange is one request and its answer.
type exchange struct {
	live   *Live
	front  *front
	w      http.ResponseWriter
	in     *http.Request
	share  *serve.Share
	to     *service
	flight *flight
	cookie *http.Cookie
	entry  Entry
}

// serveHTTP meets the front as it is now.
func (l *Live) serveHTTP(f *front, w http.ResponseWriter, r *http.Request) {
	x := &exchange{live: l, front: f, w: w, in: r}
	x.entry = Entry{Rule: serve.Ref(f.key.rule.Path()), Method: r.Method, Host: r.Host, Path: r.URL.EscapedPath()}
	defer func() { l.config.Access(x.entry) }()
	if f.broken != "" || f.matcher == nil {
		x.fail(http.StatusNotFound, "config_not_found")
		return
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	if u, err := url.ParseRequestURI(r.RequestURI); err == nil && u.IsAbs() {
		path, query = u.EscapedPath(), u.RawQuery
	}
	a := f.matcher.Answer(serve.Request{Method: r.Method, Host: r.Host, Path: path, Query: query, Header: r.Header, Variables: f.variables(r)})
	x.entry.Decided = a.Rule
	if a.Own != nil {
		x.own(a.Own)
		return
	}
	x.forward(a.Forward)
}

// own answers for the load balancer itself.
func (x *exchange) own(o *serve.Own) {
	for name, values := range o.Header {
		x.w.Header()[name] = values
	}
	o.Response.Apply(x.w.Header())
	x.fail(o.Status, o.Cause)
}

func (x *exchange) fail(status int, details string) {
	x.entry.Status, x.entry.Details = status, details
	x.w.WriteHeader(status)
}

// forward sends the request to a backend service.
func (x *exchange) forward(f *serve.Forward) {
	if d := f.Delay; d != nil && mathrand.Float64()*100 < d.Percentage && !wait(x.in.Context(), d.FixedDelay.Time()) {
		return
	}
	if a := f.Abort; a != nil && mathrand.Float64()*100 < a.Percentage {
		x.fail(int(a.HTTPStatus), "fault_filter_abort")
		return
	}
	x.share = x.live.spread.choose(f.Shares, x.live.position("WeightSpread"))
	x.to = x.front.state.services[x.share.Service]
	if x.to == nil {
		x.fail(x.live.status("NoBackendStatus"), failedToPick)
		return
	}
	x.entry.Service = x.share.Service
	key, cookie := x.to.affinity(x.in)
	x.cookie = cookie
	x.flight = &flight{service: x.to, retry: f.Retry, key: key}
	if f.Retry.Attempts > 0 || f.Mirror != nil {
		body, err := keep(x.in)
		if err != nil {
			return // the client went away
		}
		x.flight.body = body
	}
	x.send(f)
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// send lets the standard library's proxy carry the request.
func (x *exchange) send(f *serve.Forward) {
	ctx, cancel := context.WithCancelCause(x.in.Context())
	defer cancel(nil)
	in := x.in.WithContext(ctx)
	if f.Timeout > 0 && x.in.Header.Get("Upgrade") == "" {
		in.Body = x.deadline(in, f.Timeout, cancel)
	}
	if f.Mirror != nil && mathrand.Float64()*100 < f.Mirror.Percent {
		x.mirror(f)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { x.outgoing(r.Out, f) }, Transport: x.flight, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ModifyResponse: func(r *http.Response) error { x.incoming(r, f); return nil },
		ErrorHandler:   func(_ http.ResponseWriter, _ *http.Request, err error) { x.failed(context.Cause(ctx), err) },
	}
	proxy.ServeHTTP(x.w, in)
}

// deadline ends an exchange a time after the end of its request.
func (x *exchange) deadline(r *http.Request, within time.Duration, cancel context.CancelCauseFunc) io.ReadCloser {
	start := func() {
		timer := time.AfterFunc(within, func() { cancel(&hopError{timedOut, context.DeadlineExceeded}) })
		context.AfterFunc(r.Context(), func() { timer.Stop() })
	}
	if r.Body == nil || r.Body == http.NoBody || x.flight.body != nil {
		start()
		return r.Body
	}
	return &untilEnd{ReadCloser: r.Body, end: start}
}

// untilEnd tells when a body was read to its end.
type untilEnd struct {
	io.ReadCloser
	end func()
}

// Read implements io.Reader.
func (u *untilEnd) Read(b []byte) (int, error) {
	n, err := u.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) && u.end != nil {
		u.end()
		u.end = nil
	}
	return n, err
}

// outgoing is the request as the backend gets it.
func (x *exchange) outgoing(out *http.Request, f *serve.Forward) {
	setPath(out.URL, f.Path)
	out.URL.RawQuery = f.Query
	out.Host = f.Host
	client, _, _ := net.SplitHostPort(x.in.RemoteAddr)
	forwarded := strings.Join(append(x.in.Header.Values("X-Forwarded-For"), client, x.front.ip), ",")
	out.Header.Set("X-Forwarded-For", forwarded)
	scheme := "http"
	if x.in.TLS != nil {
		scheme = "https"
	}
	if sent := x.in.Header.Get("X-Forwarded-Proto"); sent != "" && x.live.position("ForwardedProto") == serve.Kept {
		scheme = sent
	}
	out.Header.Set("X-Forwarded-Proto", scheme)
	out.Header.Add("Via", "1.1 google")
	if x.front.flavour == serve.GlobalExternal && out.Header.Get("X-Cloud-Trace-Context") == "" {
		out.Header.Set("X-Cloud-Trace-Context", traceID())
	}
	out.Header.Set("Host", f.Host)
	x.share.Request.Apply(out.Header)
	out.Host = out.Header.Get("Host")
	out.Header.Del("Host")
}

// setPath keeps a path as it was written.
func setPath(u *url.URL, path string) {
	plain, err := url.PathUnescape(path)
	if err != nil {
		u.Path, u.RawPath, u.Opaque = "", "", path
		return
	}
	u.Path, u.RawPath, u.Opaque = plain, path, ""
}

// incoming is the answer as the client gets it.
func (x *exchange) incoming(r *http.Response, f *serve.Forward) {
	x.entry.Status = r.StatusCode
	x.entry.Backend = x.backend()
	r.Header.Add("Via", "1.1 google")
	for name, values := range f.CORS {
		r.Header[name] = values
	}
	x.share.Response.Apply(r.Header)
	if x.cookie != nil {
		r.Header.Add("Set-Cookie", x.cookie.String())
	}
}

func (x *exchange) backend() string {
	if n := len(x.flight.tried); n > 0 {
		return x.flight.tried[n-1].shown
	}
	return ""
}

// failed answers for a backend that did not.
func (x *exchange) failed(cause, err error) {
	x.entry.Backend = x.backend()
	var hop *hopError
	if !errors.As(cause, &hop) && !errors.As(err, &hop) {
		x.entry.Details = "client_disconnected_before_any_response"
		return
	}
	x.fail(x.live.statusOf(hop.details), hop.details)
}

// statusOf is the status that the client sees for a failure.
func (l *Live) statusOf(details string) int {
	switch {
	case details == failedToPick:
		return l.status("NoBackendStatus")
	case details == timedOut:
		return l.status("TimeoutStatus")
	case strings.HasPrefix(details, "ssl_"), strings.HasPrefix(details, serverCertificate), details == failedHandshake:
		return l.status("TLSStatus")
	case details == badResponse, details == failedALPN:
		return http.StatusBadGateway
	}
	return l.status("ConnectStatus")
}

// mirror sends a copy that nobody waits for.
func (x *exchange) mirror(f *serve.Forward) {
	to := x.front.state.services[f.Mirror.Service]
	if to == nil || x.in.ContentLength != 0 && x.flight.body == nil {
		return // bodies that were not kept can't be sent twice
	}
	ctx := context.WithoutCancel(x.in.Context())
	copied := x.in.Clone(ctx)
	copied.RequestURI, copied.Body = "", nil
	x.outgoing(copied, f)
	copied.Host = f.Mirror.Host
	copied.Header.Del("Connection")
	way := &flight{service: to, body: x.flight.body}
	x.live.running.Go(func() {
		ctx, cancel := context.WithTimeout(x.live.life, 30*time.Second)
		defer cancel()
		if response, err := way.RoundTrip(copied.WithContext(ctx)); err == nil {
			_, _ = io.Copy(io.Discard, response.Body) // nobody reads it
			response.Body.Close()
		}
	})
}
