package lbmodel

import (
	"strconv"
	"strings"
)

// Location is the redirect's target for a request: an absolute URL whose parts
// are the redirect's where it has them and the request's otherwise, with the
// query as it was sent. Prefix is what the rule matched (Answer.Prefix).
//
// The port follows HTTPRequestRedirectFilter of Gateway API: the redirect's own;
// else, when it names a scheme, that scheme's well-known port; else the
// listener's. It is left out where the scheme implies it. The port in the
// request's Host header never counts.
//
// A request without a usable Host, which only HTTP/1.0 can send, gets a location
// relative to itself (RFC 9110 §10.2.2).
func (r *Redirect) Location(req *Request, listenerPort int32, listenerProtocol Protocol, prefix string) string {
	host := r.Hostname
	if host == "" {
		host = redirectHost(req.Host)
	}
	target := r.path(req, prefix)
	if host == "" {
		return oneLeadingSlash(target)
	}
	scheme := r.scheme(req, listenerProtocol)
	return scheme + "://" + host + r.portSuffix(scheme, listenerPort) + target
}

// redirectHost is the request's host as it was written, without the port.
func redirectHost(host string) string {
	host = hostWithoutPort(host)
	if strings.ContainsFunc(host, func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`/\?#@"<>`, c) }) {
		return ""
	}
	return host
}

func (r *Redirect) scheme(req *Request, listener Protocol) string {
	switch {
	case r.Scheme != "":
		return r.Scheme
	case listener == ProtocolHTTPS:
		return "https"
	case listener == ProtocolHTTP || req.Scheme == "":
		return "http"
	default:
		return req.Scheme
	}
}

func (r *Redirect) portSuffix(scheme string, listenerPort int32) string {
	port := listenerPort
	known := map[string]int32{"http": 80, "https": 443}[scheme]
	switch {
	case r.Port != 0:
		port = r.Port
	case r.Scheme != "" && known != 0:
		port = known
	}
	if port == known || port == 0 {
		return ""
	}
	return ":" + strconv.Itoa(int(port))
}

// path is the target's path with the request's query.
func (r *Redirect) path(req *Request, prefix string) string {
	path := req.Path
	if path == "" || path[0] != '/' {
		path = "/"
	}
	if r.Path != nil {
		path = r.Path.Apply(path, prefix)
	}
	path = escapePath(path)
	if req.Query != "" {
		path += "?" + escapeQuery(req.Query)
	}
	return path
}
