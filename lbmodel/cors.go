package lbmodel

import (
	"strconv"
	"strings"
)

// IsPreflight says whether a browser asks for permission here (Fetch, CORS
// preflight request), which the gateway answers itself when a rule has CORS.
func (r *Request) IsPreflight() bool {
	return r.Method == "OPTIONS" && r.header("Origin") != "" && r.header("Access-Control-Request-Method") != ""
}

// header is the first value under a canonical name.
func (r *Request) header(name string) string {
	if values := r.Headers[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// AllowsOrigin says whether a request's Origin is among AllowOrigins: scheme,
// host and port are compared, the port being the scheme's own where it is left
// out. "*" alone is every origin and "*." in front of a host every name below
// it. The opaque origin "null", which any sandboxed page can send, is not
// allowed together with credentials.
func (c *CORS) AllowsOrigin(origin string) bool {
	if origin == "" || origin == "null" && c.AllowCredentials {
		return false
	}
	asked, ok := parseOrigin(origin)
	for _, allowed := range c.AllowOrigins {
		if allowed == "*" {
			return true
		}
		want, valid := parseOrigin(allowed)
		if ok && valid && want.covers(asked) {
			return true
		}
	}
	return false
}

type webOrigin struct{ scheme, host, port string }

// parseOrigin takes scheme://host[:port]; it is false for anything else.
func parseOrigin(s string) (webOrigin, bool) {
	scheme, rest, ok := strings.Cut(s, "://")
	scheme = lowerASCII(scheme)
	port := map[string]string{"http": "80", "https": "443"}[scheme]
	host := hostWithoutPort(rest)
	if given := strings.TrimPrefix(rest[len(host):], ":"); given != "" {
		port = given
	}
	valid := ok && port != "" && host != "" && !strings.ContainsAny(host, "/?#@ ")
	return webOrigin{scheme: scheme, host: CanonicalHost(host), port: port}, valid
}

func (o webOrigin) covers(asked webOrigin) bool {
	return o.scheme == asked.scheme && o.port == asked.port &&
		(o.host == "*" || HostMatches(o.host, asked.host))
}

// PreflightHeaders are the headers of the answer to a preflight request; its
// status is 204. Without an allowed Origin there is only Vary, and the browser
// refuses.
func (c *CORS) PreflightHeaders(r *Request) []Header {
	out := c.ResponseHeaders(r)
	if !c.AllowsOrigin(r.header("Origin")) {
		return out
	}
	maxAge := c.MaxAge
	if maxAge == 0 {
		maxAge = 5
	}
	out = appendHeader(out, "Access-Control-Allow-Methods", c.listOrAsked(c.AllowMethods, r.header("Access-Control-Request-Method")))
	out = appendHeader(out, "Access-Control-Allow-Headers", c.listOrAsked(c.AllowHeaders, r.askedHeaders()))
	return appendHeader(out, "Access-Control-Max-Age", strconv.Itoa(int(maxAge)))
}

// ResponseHeaders are what a response to a request with an Origin gets beside
// the backend's own headers; a backend's Access-Control-Allow-Origin should be
// dropped first. The Origin is always echoed, never answered by "*", so caches
// must keep answers apart by it.
func (c *CORS) ResponseHeaders(r *Request) []Header {
	out := []Header{{Name: "Vary", Value: "Origin"}}
	origin := r.header("Origin")
	if !c.AllowsOrigin(origin) {
		return out
	}
	out = append(out, Header{Name: "Access-Control-Allow-Origin", Value: origin})
	if c.AllowCredentials {
		out = append(out, Header{Name: "Access-Control-Allow-Credentials", Value: "true"})
	}
	return appendHeader(out, "Access-Control-Expose-Headers", c.exposed())
}

func appendHeader(out []Header, name, value string) []Header {
	if value == "" {
		return out
	}
	return append(out, Header{Name: name, Value: value})
}

// listOrAsked is the list as configured; a "*" becomes what was asked for, which
// also holds with credentials, where a literal star would mean nothing.
func (c *CORS) listOrAsked(list []string, asked string) string {
	if len(list) == 1 && list[0] == "*" {
		return asked
	}
	return strings.Join(list, ", ")
}

func (r *Request) askedHeaders() string {
	return strings.Join(r.Headers["Access-Control-Request-Headers"], ", ")
}

// exposed leaves a star out with credentials, where the API forbids it.
func (c *CORS) exposed() string {
	var names []string
	for _, name := range c.ExposeHeaders {
		if name != "*" || !c.AllowCredentials {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
