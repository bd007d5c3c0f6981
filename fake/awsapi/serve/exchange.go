package serve

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
)

// exchange is one request and its answer.
type exchange struct {
	socket *tcpSocket
	front  *front
	w      http.ResponseWriter
	in     *http.Request
	client netip.AddrPort

	request           Request
	rule              *rule
	host, path, query string // after the transforms

	group  *group
	member *member
	marks  []*http.Cookie // stickiness of this answer
	idle   *idle          // of an exchange with a target
	body   *clientBody
	cancel context.CancelCauseFunc

	status int
	own    bool
	why    string
}

// ServeHTTP implements http.Handler: every request meets the listener as it is at
// that moment, also on a connection that is older.
func (s *tcpSocket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.active.Add(1)
	defer s.active.Done()
	x := &exchange{socket: s, front: s.front.Load(), w: w, in: r}
	if c := clientOf(r.Context()); c != nil {
		x.client = c.client
	}
	defer x.finish()
	x.request = requestOf(r, x.client.Addr())
	if x.refused() {
		return
	}
	x.route()
}

// requestOf is what rules see: the target of the request as it was sent.
func requestOf(r *http.Request, source netip.Addr) Request {
	out := Request{Method: r.Method, Host: r.Host, Header: r.Header, Source: source}
	out.Path, out.Query, _ = strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(out.Path, "/") { // absolute form, or *
		out.Path, out.Query = r.URL.EscapedPath(), r.URL.RawQuery
		if out.Path == "" {
			out.Path = "/"
		}
	}
	return out
}

// The sizes above which a request is refused, in bytes, and the number of
// addresses that X-Forwarded-For may have.
const (
	maxLine      = 16 << 10
	maxHeader    = 16 << 10
	maxAllHeader = 64 << 10
	maxForwarded = 30
)

// refused answers what never reaches the rules.
func (x *exchange) refused() bool {
	line, one, all := x.sizes()
	switch {
	case x.in.Method == http.MethodTrace:
		x.fail(http.StatusMethodNotAllowed, "TRACE")
	case x.in.Method == http.MethodConnect:
		x.fail(http.StatusBadRequest, "CONNECT")
	case line > maxLine:
		x.tooLarge(http.StatusRequestURITooLong, "the request line is above 16K")
	case one > maxHeader || all > maxAllHeader:
		x.tooLarge(http.StatusRequestEntityTooLarge, "the headers are above 16K each or 64K together")
	case strings.Count(strings.Join(x.in.Header.Values("X-Forwarded-For"), ","), ",") >= maxForwarded:
		x.fail(463, "X-Forwarded-For has more than 30 addresses")
	case !x.in.ProtoAtLeast(1, 1) && x.in.Host == "" && x.front.u.HostlessHTTP10 == Refused:
		x.fail(http.StatusBadRequest, "HTTP/1.0 without Host")
	case x.front.balancer.alb.http2 && x.front.u.HeaderNames == Refused && x.invalidName():
		x.fail(http.StatusBadRequest, "a header name that HTTP/2 would not allow")
	default:
		return false
	}
	return true
}

func (x *exchange) sizes() (line, one, all int) {
	line = len(x.in.Method) + len(x.in.RequestURI) + len(x.in.Proto) + 2
	for name, values := range x.in.Header {
		for _, v := range values {
			n := len(name) + len(v) + 2
			one, all = max(one, n), all+n
		}
	}
	return line, one, all
}

func (x *exchange) tooLarge(status int, why string) {
	if x.front.u.TooLarge == BadRequest {
		status = http.StatusBadRequest
	}
	x.w.Header().Set("Connection", "close")
	x.fail(status, why)
}

func (x *exchange) invalidName() bool {
	for name := range x.in.Header {
		if !validName(name) {
			return true
		}
	}
	return false
}

// validName is what drop_invalid_header_fields keeps.
func validName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return name != ""
}

// route finds the rule and acts.
func (x *exchange) route() {
	seen := x.request
	if x.front.balancer.alb.dropInvalid && x.front.u.DroppedHeaders == Unseen {
		seen.Header = withoutInvalid(seen.Header)
	}
	x.rule = x.front.rules.match(&seen)
	var err error
	x.host, x.path, x.query, err = x.rule.rewritten(&x.request, x.front.u)
	if err != nil {
		x.fail(http.StatusInternalServerError, err.Error())
		return
	}
	switch a := x.front.actions[x.rule]; {
	case a.Fixed != nil:
		x.fixed(a.Fixed)
	case a.Redirect != nil:
		x.redirect(a.Redirect)
	case a.forward != nil:
		x.forwardTo(a.forward)
	default:
		x.fail(http.StatusInternalServerError, "the rule's action is not emulated")
	}
}

func withoutInvalid(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		if validName(name) {
			out[name] = values
		}
	}
	return out
}

// forwardTo chooses a group and a target.
func (x *exchange) forwardTo(f *forward) {
	i := x.chooseGroup(f)
	switch {
	case i < 0 && x.front.u.AllWeightsZero == Error:
		x.fail(http.StatusInternalServerError, "every weight is 0")
		return
	case i < 0:
		x.fail(http.StatusServiceUnavailable, "every weight is 0")
		return
	}
	x.group = f.groups[i]
	if x.group == nil {
		x.fail(http.StatusServiceUnavailable, "there is no such target group")
		return
	}
	if why := x.mismatch(); why != "" {
		x.fail(464, why)
		return
	}
	if x.member = x.chooseMember(f); x.member == nil {
		x.fail(http.StatusServiceUnavailable, "the target group has no target")
		return
	}
	x.proxy()
}

// mismatch is why the client's protocol cannot reach the group's.
func (x *exchange) mismatch() string {
	grpc, two := isGRPC(x.in.Header), x.in.ProtoMajor == 2
	switch x.group.Version {
	case VersionHTTP2:
		if !two {
			return "HTTP/1.1 to an HTTP2 group"
		}
	case VersionGRPC:
		switch {
		case !two:
			return "HTTP/1.1 to a GRPC group"
		case x.in.Method != http.MethodPost:
			return "not POST to a GRPC group"
		}
	default:
		if grpc {
			return "gRPC to an HTTP1 group"
		}
	}
	return ""
}

// statusClientClosed is logged for a client that did not wait; it is never sent.
const statusClientClosed = 460

// finish writes the access log, also for an exchange that was broken off.
func (x *exchange) finish() {
	if x.idle != nil {
		x.idle.stop()
	}
	if x.status == 0 {
		x.status = statusClientClosed
	}
	entry := x.front.entry(x.client, x.why)
	entry.Own, entry.Status = x.own, x.status
	entry.Method, entry.Host, entry.Path = x.in.Method, x.in.Host, x.request.Path
	if x.rule != nil {
		entry.Rule = x.rule.name
	}
	if x.group != nil {
		entry.Group = x.group.Name
	}
	if x.member != nil {
		entry.Target = x.member.ID
	}
	x.socket.plane.options.Access(entry)
}

// The causes for which an exchange with a target is ended.
var (
	errIdle   = errors.New("no response within the idle timeout")
	errGone   = errors.New("the target was deregistered and its delay has run out")
	errClient = errors.New("the client was silent past the idle timeout")
)
