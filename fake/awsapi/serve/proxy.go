package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

var proxyBuffers = &bufferPool{sync.Pool{New: func() any { return new([32 << 10]byte) }}}

type bufferPool struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *bufferPool) Get() []byte { return b.pool.Get().(*[32 << 10]byte)[:] }

// Put implements httputil.BufferPool.
func (b *bufferPool) Put(p []byte) { b.pool.Put((*[32 << 10]byte)(p)) }

// proxy runs the exchange with the target.
func (x *exchange) proxy() {
	ctx, cancel := context.WithCancelCause(x.in.Context())
	defer cancel(nil)
	x.cancel = cancel
	control := http.NewResponseController(x.w)
	if x.in.ContentLength != 0 && x.in.ProtoMajor == 1 {
		_ = control.EnableFullDuplex() // a target may answer before the body has come
	}
	if x.in.ContentLength != 0 {
		x.body = &clientBody{ReadCloser: x.in.Body}
	}
	x.idle = newIdle(x.front.balancer.alb.idle, func() {
		if x.body.reads() {
			cancel(errClient)
			_ = control.SetReadDeadline(time.Unix(1, 0))
			return
		}
		cancel(errIdle)
	})
	x.in = x.in.WithContext(ctx)
	if x.body != nil {
		x.body.idle, x.in.Body = x.idle, x.body
	}
	proxy := httputil.ReverseProxy{
		Rewrite:        x.rewrite,
		Transport:      x,
		ModifyResponse: x.modify,
		ErrorHandler:   x.broken,
		BufferPool:     proxyBuffers,
		FlushInterval:  -1,
		ErrorLog:       x.socket.server.ErrorLog,
	}
	proxy.ServeHTTP(x.w, x.in)
}

// rewrite makes the target's request of the client's.
func (x *exchange) rewrite(pr *httputil.ProxyRequest) {
	out := pr.Out
	out.Trailer = pr.In.Trailer // the server fills it when the body has ended
	out.Host = x.targetHost()
	out.URL = x.targetURL()
	x.targetHeaders(out.Header)
	if u := out.Header.Get("Upgrade"); u != "" && !strings.EqualFold(u, "websocket") {
		out.Header.Del("Upgrade")
		out.Header.Del("Connection")
	}
}

// targetURL keeps the path byte for byte wherever the standard library lets it.
func (x *exchange) targetURL() *url.URL {
	u := &url.URL{RawQuery: x.query, ForceQuery: strings.Contains(x.in.RequestURI, "?")}
	if strings.HasPrefix(x.path, "/") && !strings.HasPrefix(x.path, "//") {
		u.Opaque = x.path
		return u
	}
	plain, err := url.PathUnescape(x.path)
	if err != nil {
		plain = x.path
	}
	u.Path, u.RawPath = plain, x.path
	return u
}

// RoundTrip implements http.RoundTripper: once, or where the switch says so, again.
func (x *exchange) RoundTrip(out *http.Request) (*http.Response, error) {
	res, err := x.attempt(out)
	var unreached *connectError
	if x.front.u.Retries != Connect || !errors.As(err, &unreached) || x.body.touched() {
		return res, err
	}
	other := x.group.pick([]*member{x.member}, x.socket.plane.options.Rand)
	if other == nil || other == x.member || out.Context().Err() != nil {
		return res, err
	}
	x.member = other
	return x.attempt(out)
}

func (x *exchange) attempt(out *http.Request) (*http.Response, error) {
	l := x.member.link
	l.begin()
	stop := context.AfterFunc(l.gone, func() { x.cancel(errGone) })
	done := sync.OnceFunc(func() {
		stop()
		l.end()
	})
	req := out.WithContext(out.Context())
	u := *out.URL
	req.URL = &u
	req.URL.Scheme, req.URL.Host = l.scheme, l.key.address.String()
	if l.key.sni == Host && l.scheme == "https" && out.Host != "" {
		req.URL.Host = net.JoinHostPort(strings.Trim(hostOnly(out.Host), "[]"), "443")
	}
	if req.Body == nil && x.front.u.Retries != LostConnection && !l.http2() && lacksBody(req.Method) {
		req.Body = emptyBody{} // net/http repeats only requests without one
	}
	res, err := l.transport.RoundTrip(req)
	if err != nil {
		if cause := context.Cause(out.Context()); cause != nil {
			err = cause
		}
		done()
		return nil, err
	}
	res.Body = targetBody(res.Body, x.idle, done)
	return res, nil
}

// lacksBody lists the methods for which net/http looks whether a body of unknown
// length is empty, and then sends none; it repeats no others.
func lacksBody(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodOptions:
		return true
	default:
		return false
	}
}

// emptyBody has nothing in it, and net/http does not know.
type emptyBody struct{}

// Read implements io.Reader.
func (emptyBody) Read([]byte) (int, error) { return 0, io.EOF }

// Close implements io.Closer.
func (emptyBody) Close() error { return nil }

// modify edits a target's answer before it is sent.
func (x *exchange) modify(res *http.Response) error {
	x.idle.touch()
	x.status = res.StatusCode
	x.markApp(res)
	for _, c := range x.marks {
		res.Header.Add("Set-Cookie", c.String())
	}
	x.listenerHeaders(res.Header)
	if _, ok := res.Header["Content-Type"]; !ok {
		x.w.Header()["Content-Type"] = nil // else the server would guess one
	}
	if x.socket.draining.Load() && res.StatusCode != http.StatusSwitchingProtocols {
		res.Header.Set("Connection", "close")
	}
	return nil
}

// broken answers for a target that did not.
func (x *exchange) broken(_ http.ResponseWriter, _ *http.Request, err error) {
	status, why := x.classify(err)
	x.marks = nil
	if status == statusClientClosed {
		x.status, x.why = status, why
		return
	}
	if status == http.StatusBadRequest || status == http.StatusRequestTimeout {
		x.w.Header().Set("Connection", "close")
	}
	x.fail(status, why)
}

func (x *exchange) classify(err error) (status int, why string) {
	var unreached *connectError
	var timeout net.Error
	switch {
	case errors.Is(err, errClient), errors.Is(context.Cause(x.in.Context()), errClient):
		return http.StatusRequestTimeout, errClient.Error()
	case errors.Is(err, errIdle):
		return http.StatusGatewayTimeout, errIdle.Error()
	case errors.Is(err, errGone):
		return http.StatusBadGateway, errGone.Error()
	case x.body.failed() != nil && x.in.ProtoMajor == 1 && x.in.Context().Err() == nil:
		return http.StatusBadRequest, "the request's body is malformed or incomplete"
	case x.in.Context().Err() != nil:
		return statusClientClosed, "the client closed the connection"
	case errors.Is(err, errHandshake) && x.front.u.TargetTLSTimeout == BadGateway:
		return http.StatusBadGateway, err.Error()
	case errors.As(err, &unreached) && (errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)):
		return http.StatusGatewayTimeout, "the target did not accept in time"
	default:
		return http.StatusBadGateway, err.Error()
	}
}
