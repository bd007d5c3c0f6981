package dataplane

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"gatehouse.dev/lbmodel"
)

// ServeHTTP implements http.Handler: every request meets the configuration of
// its moment, also on a connection that is older.
func (s *tcpSocket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.active.Add(1)
	defer s.active.Done()
	x := &exchange{socket: s, port: s.port.Load(), w: w, in: r, started: time.Now()}
	defer x.finish()
	x.serve()
}

// serve decides who answers.
func (x *exchange) serve() {
	if x.in.ContentLength != 0 && x.in.ProtoMajor == 1 {
		// HTTP/1.1 may then be answered before its body has come, as HTTP/2 is.
		http.NewResponseController(x.w).EnableFullDuplex()
	}
	if !x.admit() {
		return
	}
	x.request = modelRequest(x.in, x.port)
	if x.misdirected() {
		x.socket.plane.tallies.fail(FailedMisdirected)
		x.w.Header().Set("Connection", "close") // a client that coalesced should open its own
		x.answer(http.StatusMisdirectedRequest, "this host is served on another connection")
		return
	}
	found := x.port.gateway.matcher.Match(&x.request)
	x.prefix = found.Prefix
	switch {
	case !x.port.gateway.serves(found.Listener, clientOf(x.in)):
		x.socket.plane.tallies.fail(FailedSource)
		x.answer(http.StatusForbidden, "this listener does not serve the client's address")
	case found.Refused != "":
		x.answer(http.StatusBadRequest, found.Refused)
	case found.Rule == nil:
		x.answer(http.StatusNotFound, "no rule of this gateway matches")
	default:
		x.route = x.port.gateway.routes[found.Listener][found.Index]
		x.act(&found.Rule.Action)
	}
}

// admit refuses what no rule may see.
func (x *exchange) admit() bool {
	limit := x.socket.plane.config.Limits.BodyBytes
	switch {
	case x.in.Method == http.MethodConnect:
		x.answer(http.StatusMethodNotAllowed, "this gateway is not a forward proxy")
	case limit > 0 && x.in.ContentLength > limit:
		x.answer(http.StatusRequestEntityTooLarge, "the body is above this gateway's limit")
	default:
		return true
	}
	return false
}

func modelRequest(r *http.Request, p *port) lbmodel.Request {
	out := lbmodel.Request{
		Scheme:  "http",
		Method:  r.Method,
		Host:    r.Host,
		Path:    r.URL.EscapedPath(),
		Query:   r.URL.RawQuery,
		Headers: r.Header,
		Port:    p.number,
	}
	if r.TLS != nil {
		out.Scheme, out.SNI = "https", r.TLS.ServerName
	}
	return out
}

// misdirected says whether the connection belongs to another listener than the
// request does. Without a server name it does only where that would go around
// the client certificate that the request's listener asks for.
func (x *exchange) misdirected() bool {
	state := x.in.TLS
	if (state != nil) != (x.port.tls != nil) {
		return true // from before the port began, or ceased, to have TLS
	}
	if state == nil {
		return false
	}
	m := x.port.gateway.matcher
	if m.Misdirected(&x.request) {
		return true
	}
	byHost := m.Pick(x.port.number, x.in.Host)
	return byHost != nil && x.lacksValidation(state, byHost.Listener())
}

// lacksValidation also catches connections from before the listener asked for
// certificates, or ceased to trust the root of this one's.
func (x *exchange) lacksValidation(state *tls.ConnectionState, l *lbmodel.Listener) bool {
	want := validationOf(l)
	if want.Trust != "" && !want.Insecure && !x.port.gateway.trust[want.Trust].vouches(state) {
		return true
	}
	return state.ServerName == "" && !sameValidation(l, x.port.tls.fallback)
}

// act does what the rule says.
func (x *exchange) act(a *lbmodel.Action) {
	if a.CORS != nil && x.request.IsPreflight() {
		for _, h := range a.CORS.PreflightHeaders(&x.request) {
			x.w.Header().Add(h.Name, h.Value)
		}
		x.reply(http.StatusNoContent, "")
		return
	}
	switch {
	case a.Redirect != nil:
		x.redirect(a.Redirect)
	case a.Fixed != nil:
		x.answer(a.Fixed.Status, a.Fixed.Body)
	case a.Forward != nil:
		x.forwardTo(x.route.forward)
	default:
		x.answer(http.StatusInternalServerError, "the rule has no action")
	}
}

// forwardTo chooses the backend.
func (x *exchange) forwardTo(f *forward) {
	x.session = x.route.persistence.find(x.in, x.started)
	x.backend = x.session.backend
	if x.backend == nil {
		x.backend = f.choose()
	}
	switch b := x.backend; {
	case b == nil:
		x.answer(http.StatusInternalServerError, "the rule has no backend with a weight")
	case b.redirect != nil:
		x.redirect(b.redirect)
	case b.fixed != nil:
		x.answer(b.fixed.Status, b.fixed.Body)
	case b.pool.broken != nil:
		x.answer(http.StatusInternalServerError, "the backend's TLS cannot be set up, so nothing is sent")
	case len(b.pool.links) == 0:
		x.socket.plane.tallies.fail(FailedEndpoint)
		x.answer(http.StatusServiceUnavailable, "no endpoint is ready")
	default:
		x.proxyTo(b)
	}
}

func (x *exchange) redirect(r *lbmodel.Redirect) {
	protocol := lbmodel.ProtocolHTTP
	if x.in.TLS != nil {
		protocol = lbmodel.ProtocolHTTPS
	}
	x.addCORS(x.w.Header())
	x.w.Header().Set("Location", r.Location(&x.request, x.port.number, protocol, x.prefix))
	x.reply(r.Status, "")
}

// answer is the gateway's own, in the client's protocol.
func (x *exchange) answer(status int, why string) {
	if x.route != nil {
		x.addCORS(x.w.Header())
	}
	if isGRPC(x.in) {
		x.answerGRPC(status, why)
		return
	}
	x.reply(status, why)
}

// answerGRPC says it in a trailers-only response, as gRPC clients expect.
func (x *exchange) answerGRPC(status int, why string) {
	h := x.w.Header()
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", grpcStatus(status))
	h.Set("Grpc-Message", grpcMessage(why))
	x.status = status
	x.write(http.StatusOK)
}

// grpcMessage encodes a text as gRPC's HTTP/2 mapping has it: percent signs and
// whatever is not printable ASCII.
func grpcMessage(text string) string {
	var out strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// grpcStatus maps the gateway's own answers (GRPCRoute; gRPC's HTTP status
// mapping): what no rule takes is UNIMPLEMENTED, a broken backend UNAVAILABLE.
func grpcStatus(status int) string {
	switch status {
	case http.StatusNotFound:
		return "12"
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return "4"
	case http.StatusBadRequest, http.StatusMisdirectedRequest, http.StatusMethodNotAllowed:
		return "13"
	case http.StatusForbidden:
		return "7"
	case http.StatusRequestEntityTooLarge:
		return "8"
	default:
		return "14"
	}
}

func isGRPC(r *http.Request) bool {
	rest, ok := strings.CutPrefix(r.Header.Get("Content-Type"), "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

func (x *exchange) reply(status int, body string) {
	x.status = status
	h := x.w.Header()
	if body != "" {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		body += "\n"
	}
	x.write(status)
	if body != "" && x.in.Method != http.MethodHead {
		n, err := x.w.Write([]byte(body))
		x.bytes += int64(n)
		if err != nil {
			x.cause = errors.Join(x.cause, err)
		}
	}
}

// write sends the header of the gateway's own answer.
func (x *exchange) write(status int) {
	if x.socket.draining.Load() || x.leavesMuch() {
		x.w.Header().Set("Connection", "close")
	}
	x.lastWrite()
	x.w.WriteHeader(status)
}

// leavesMuch says whether the rest of the body is not worth reading only to keep
// the connection.
func (x *exchange) leavesMuch() bool {
	return x.in.ContentLength < 0 && x.in.ProtoMajor == 1 || x.in.ContentLength > int64(x.limits().ReplayBytes)
}

// addCORS marks a response for the browser; a backend's own marks give way.
func (x *exchange) addCORS(h http.Header) {
	cors := x.route.rule.Action.CORS
	if cors == nil || x.in.Header.Get("Origin") == "" {
		return
	}
	for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Expose-Headers"} {
		h.Del(name)
	}
	for _, add := range cors.ResponseHeaders(&x.request) {
		h.Add(add.Name, add.Value)
	}
}
