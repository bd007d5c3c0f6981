package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// statusTexts are those of codes that the standard library does not know.
var statusTexts = map[int]string{463: "", 464: "Incompatible Protocols", 561: "Unauthorized", 503: "Service Temporarily Unavailable", 504: "Gateway Time-out"}

func statusText(status int) string { return cmp.Or(statusTexts[status], http.StatusText(status)) }

// fail is an error of the load balancer's own.
func (x *exchange) fail(status int, why string) {
	x.own, x.why = true, why
	h := x.w.Header()
	if isGRPC(x.in.Header) && status == http.StatusBadGateway {
		h.Set("Grpc-Status", "14")
		h.Set("Grpc-Message", "unavailable")
	}
	x.page(status)
}

// page answers with the page that has the status as its only content.
func (x *exchange) page(status int) {
	if x.front.u.ErrorBody == Empty {
		x.reply(status, "", "")
		return
	}
	title := strings.TrimSpace(fmt.Sprint(status, " ", statusText(status)))
	x.reply(status, "text/html", "<html>\r\n<head><title>"+title+"</title></head>\r\n<body>\r\n<center><h1>"+title+"</h1></center>\r\n</body>\r\n</html>\r\n")
}

// reply is an answer of the load balancer's own.
func (x *exchange) reply(status int, contentType, body string) {
	x.own, x.status = true, status
	h := x.w.Header()
	h["Content-Type"] = nil // else the server would guess one
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	if x.front.attributes.server {
		h.Set("Server", "awselb/2.0")
	}
	if x.front.u.OwnHeaders == Every {
		x.listenerHeaders(h)
	}
	if x.socket.draining.Load() {
		h.Set("Connection", "close")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	if x.in.Method != http.MethodHead {
		_, _ = x.w.Write([]byte(body)) // a client that went away needs none
	}
}

// listenerHeaders sets what the listener's attributes say, also over a target's.
func (x *exchange) listenerHeaders(h http.Header) {
	for name, value := range x.front.attributes.response {
		h.Set(name, value)
	}
	if !x.front.attributes.server {
		h.Del("Server")
	}
}

// fixed is a fixed-response action.
func (x *exchange) fixed(f *FixedResponse) {
	contentType := f.ContentType
	if contentType == "" && x.front.u.FixedType == Plain && f.Body != "" {
		contentType = "text/plain"
	}
	if x.front.u.FixedGRPCStatus == MappedGRPCStatus && isGRPC(x.in.Header) {
		x.w.Header().Set("Grpc-Status", grpcStatus(f.Status))
	}
	x.reply(f.Status, contentType, f.Body)
}

// grpcStatus is gRPC's own mapping of HTTP statuses.
func grpcStatus(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "13"
	case http.StatusUnauthorized:
		return "16"
	case http.StatusForbidden:
		return "7"
	case http.StatusNotFound:
		return "12"
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return "14"
	default:
		return "2"
	}
}

// maxLocation is where a redirect is too long, in bytes; AWS gives no number.
const maxLocation = 8 << 10

// redirect builds the Location, which always names the port.
func (x *exchange) redirect(r *Redirect) {
	location := x.location(r)
	if len(location) > maxLocation {
		x.fail(http.StatusInsufficientStorage, "the redirect's URL is too long")
		return
	}
	x.w.Header().Set("Location", location)
	x.page(r.Status)
}

func (x *exchange) location(r *Redirect) string {
	host, path, query := x.host, x.path, x.query
	if x.front.u.RedirectPath == Original {
		host, path, query = x.request.Host, x.request.Path, x.request.Query
	}
	protocol := "http"
	if x.in.TLS != nil {
		protocol = "https"
	}
	fill := strings.NewReplacer("#{protocol}", protocol, "#{host}", hostOnly(host), "#{port}", strconv.Itoa(int(x.front.Port)),
		"#{path}", strings.TrimPrefix(path, "/"), "#{query}", query)
	out := strings.ToLower(fill.Replace(cmp.Or(r.Protocol, "#{protocol}"))) + "://" + fill.Replace(cmp.Or(r.Host, "#{host}")) +
		":" + fill.Replace(cmp.Or(r.Port, "#{port}")) + fill.Replace(cmp.Or(r.Path, "/#{path}"))
	if q := fill.Replace(cmp.Or(r.Query, "#{query}")); q != "" {
		out += "?" + q
	}
	return out
}
