package dataplane

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"gatehouse.dev/lbmodel"
)

// exchange is one request and its answer. It is the state that the standard
// library's reverse proxy has no room for: the proxy, the attempts and the
// limits all meet in it.
type exchange struct {
	socket  *tcpSocket
	port    *port
	w       http.ResponseWriter
	in      *http.Request
	request lbmodel.Request
	route   *route // nil without a rule
	prefix  string
	backend *backend
	session session
	proxy   httputil.ReverseProxy

	body     *replay // nil without a body
	link     *link   // of the last attempt, in use
	attempts int
	repeated bool               // a request that a broken connection lost
	cancel   context.CancelFunc // of the last attempt's timeout

	started  time.Time
	deadline time.Time // of writes, HTTP/1.1
	stall    *guard    // of writes, HTTP/2
	status   int
	bytes    int64
	cause    error // why the gateway answered itself
}

var proxyBuffers = &bufferPool{sync.Pool{New: func() any { return new([32 << 10]byte) }}}

type bufferPool struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *bufferPool) Get() []byte { return b.pool.Get().(*[32 << 10]byte)[:] }

// Put implements httputil.BufferPool.
func (b *bufferPool) Put(p []byte) { b.pool.Put((*[32 << 10]byte)(p)) }

func (x *exchange) limits() *Limits { return &x.socket.plane.config.Limits }

// proxyTo runs the exchange with a backend.
func (x *exchange) proxyTo(b *backend) {
	ctx := x.in.Context()
	if limit := time.Duration(x.route.rule.Action.Timeouts.Request); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, x.started.Add(limit), errRequestTimeout)
		defer cancel()
		x.in = x.in.WithContext(ctx)
	}
	if x.in.ContentLength != 0 {
		x.openBody()
	}
	x.proxy = httputil.ReverseProxy{
		Rewrite:        x.rewrite,
		Transport:      x,
		ModifyResponse: x.modify,
		ErrorHandler:   x.fail,
		BufferPool:     proxyBuffers,
		ErrorLog:       x.socket.server.ErrorLog,
	}
	x.proxy.ServeHTTP(x.w, x.in)
}

// openBody bounds the request's body and keeps its beginning for a repetition.
func (x *exchange) openBody() {
	limits := x.limits()
	control := http.NewResponseController(x.w)
	body := x.in.Body
	if limits.BodyBytes > 0 {
		body = http.MaxBytesReader(x.w, body, limits.BodyBytes)
	}
	interrupt := func() { control.SetReadDeadline(time.Unix(1, 0)) }
	x.body = &replay{source: body, limit: limits.ReplayBytes, interrupt: interrupt}
	if !isGRPC(x.in) {
		x.body.stall = newGuard(limits.BodyIdle, interrupt)
	}
	x.in = x.in.WithContext(x.in.Context()) // a copy: the request is the server's
	x.in.Body = x.body.open()               // closing it waits for nobody
}

// rewrite makes the backend's request of the client's.
func (x *exchange) rewrite(pr *httputil.ProxyRequest) {
	out := pr.Out
	out.URL.RawQuery = pr.In.URL.RawQuery // as it was sent: matching saw the same
	out.Trailer = pr.In.Trailer           // the server fills it when the body has ended
	x.forwarded(out)
	x.route.edits.request.apply(out.Header)
	x.backend.edits.request.apply(out.Header)
	x.editPath(out.URL)
	x.editHost(out)
	x.editUpgrade(out)
	x.startMirrors(out)
}

// forwarded replaces whatever a client said about itself. The reverse proxy has
// dropped the standard names; a mesh's proxies believe others.
func (x *exchange) forwarded(out *http.Request) {
	for name := range out.Header {
		if strings.HasPrefix(name, "X-Forwarded-") {
			delete(out.Header, name)
		}
	}
	client, _, err := net.SplitHostPort(x.in.RemoteAddr)
	if err == nil {
		out.Header["X-Forwarded-For"] = []string{client}
	}
	out.Header["X-Forwarded-Host"] = []string{x.in.Host}
	out.Header["X-Forwarded-Proto"] = []string{x.request.Scheme}
}

func (x *exchange) editPath(u *url.URL) {
	rule, backend := x.route.edits.rewrite, x.backend.edits.rewrite
	if rule == nil && backend == nil {
		return
	}
	path := lbmodel.BackendPath(rule, backend, x.request.Path, x.prefix)
	if plain, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = plain, path
	}
}

// editHost leaves the client's Host alone unless a rewrite says otherwise, the
// backend's last.
func (x *exchange) editHost(out *http.Request) {
	for _, r := range []*lbmodel.Rewrite{x.route.edits.rewrite, x.backend.edits.rewrite} {
		if r != nil && r.Hostname != "" {
			out.Host = r.Hostname
		}
	}
}

// editUpgrade takes an upgrade away that must not or cannot be made: HTTP/2
// inside an upgraded connection would go around every rule, and HTTP/2 backends
// have no upgrade.
func (x *exchange) editUpgrade(out *http.Request) {
	upgrade := out.Header.Get("Upgrade")
	if upgrade == "" {
		return
	}
	if needsHTTP2(x.backend.pool.protocol) || strings.HasPrefix(strings.ToLower(upgrade), "h2c") {
		out.Header.Del("Upgrade")
		out.Header.Del("Connection")
	}
}

// modify edits a backend's answer before it is sent.
func (x *exchange) modify(res *http.Response) error {
	x.status = res.StatusCode
	x.route.edits.response.apply(res.Header)
	x.backend.edits.response.apply(res.Header)
	x.addCORS(res.Header)
	x.session.mark(res.Header, x.link)
	if res.StatusCode == http.StatusSwitchingProtocols {
		return x.modifyUpgrade(res)
	}
	if x.socket.draining.Load() {
		res.Header.Set("Connection", "close")
	}
	if _, ok := res.Header["Content-Type"]; !ok {
		x.w.Header()["Content-Type"] = nil // else the server would guess one
	}
	x.proxy.FlushInterval = flushInterval(res)
	res.Body = &answerBody{res.Body, x}
	x.writing()
	return nil
}

// smallAnswer is what the server's own buffer holds until the answer is
// complete, in bytes.
const smallAnswer = 4 << 10

// flushInterval passes an answer on as it comes. A small one of known length is
// complete in one write, and not worth a timer.
func flushInterval(res *http.Response) time.Duration {
	if res.ContentLength >= 0 && res.ContentLength <= smallAnswer {
		return 0
	}
	return -1
}

func (x *exchange) modifyUpgrade(res *http.Response) error {
	both, ok := res.Body.(io.ReadWriteCloser)
	if !ok {
		return errors.New("the backend switched protocols on a connection that can't be written")
	}
	res.Body = newUpgraded(both, x.socket.plane.config.Limits.StreamIdle)
	return nil
}

// The causes of a timeout, so that one is told from a client that went away.
var (
	errRequestTimeout = errors.New("the route's request timeout ran out")
	errBackendTimeout = errors.New("the route's backend timeout ran out")
)

// fail answers for a backend that did not.
func (x *exchange) fail(_ http.ResponseWriter, _ *http.Request, err error) {
	x.cause = err
	status, why, failure := x.classify(err)
	if failure != "" {
		x.socket.plane.tallies.fail(failure)
	}
	if failure == FailedBackend && x.link != nil {
		x.socket.plane.complain(x.link, err)
	}
	if status == statusClientClosed {
		x.status = status
		return
	}
	if status == http.StatusBadRequest || status == http.StatusRequestTimeout {
		x.w.Header().Set("Connection", "close") // nobody knows where the next request begins
	}
	x.answer(status, why)
}

// statusClientClosed is logged and counted for a client that did not wait; it
// is never sent.
const statusClientClosed = 499

func (x *exchange) classify(err error) (status int, why string, failure Failure) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, "the body is above this gateway's limit", ""
	case x.body != nil && x.body.stall.expired():
		return http.StatusRequestTimeout, "the body did not arrive in time", ""
	case x.timedOut(err):
		return http.StatusGatewayTimeout, "the backend did not answer in time", FailedTimeout
	case x.in.Context().Err() != nil:
		return statusClientClosed, "", ""
	case x.body.broken():
		return http.StatusBadRequest, "the request's body is malformed or incomplete", ""
	case errors.Is(err, errNoEndpoint):
		return http.StatusServiceUnavailable, "no endpoint is ready", FailedEndpoint
	default:
		return http.StatusBadGateway, "the backend could not be reached or broke off", FailedBackend
	}
}

func (x *exchange) timedOut(err error) bool {
	return errors.Is(err, errRequestTimeout) || errors.Is(err, errBackendTimeout) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(context.Cause(x.in.Context()), errRequestTimeout)
}

// finish counts and logs, also for an exchange that was broken off.
func (x *exchange) finish() {
	x.release()
	x.stall.close()
	if x.body != nil {
		x.body.finish()
	}
	x.boundRest()
	if x.status == 0 {
		x.status = statusClientClosed
	}
	x.tally().add(x.status)
	x.socket.plane.access.add(x)
	x.noteCut()
}

// boundRest limits the time in which the server reads what is left of a body.
func (x *exchange) boundRest() {
	if x.in.ProtoMajor == 1 && x.in.ContentLength != 0 && !x.body.complete() {
		http.NewResponseController(x.w).SetReadDeadline(time.Now().Add(x.limits().BodyIdle))
	}
}

func (x *exchange) tally() *tally[int] {
	switch {
	case x.backend != nil:
		return x.backend.answers
	case x.route != nil:
		return x.route.answers
	default:
		return x.port.noRule
	}
}

// release ends the use of the last attempt's link.
func (x *exchange) release() {
	if x.cancel != nil {
		x.cancel()
		x.cancel = nil
	}
	if x.link != nil {
		x.link.end()
		x.link = nil
	}
}
