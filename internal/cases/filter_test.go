package cases

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestC17 makes the Location of a redirect from the listener and the filter, never
// from the port that happens to be in Host: https with :80 behind it is a dead
// link.
func TestC17(t *testing.T) {
	h := begin(t, gatewayYAML("edge", `{name: http, port: 80, protocol: HTTP}`, `{name: http8, port: 8080, protocol: HTTP}`), routeYAML("r", `
  hostnames: [t.test]
  rules:
  - {matches: [{path: {value: /s}}], filters: [{type: RequestRedirect, requestRedirect: {scheme: https, statusCode: 301}}]}
  - {matches: [{path: {value: /p}}], filters: [{type: RequestRedirect, requestRedirect: {port: 8443, scheme: https}}]}
  - {matches: [{path: {value: /h}}], filters: [{type: RequestRedirect, requestRedirect: {hostname: n.test}}]}
`))
	h.apply()
	for _, c := range []struct {
		name, path string
		port       int32
		host, want string
	}{
		{"another scheme brings its port", "/s", 80, "t.test", "301 https://t.test/s"},
		{"the port in Host counts for nothing", "/s", 80, "t.test:80", "301 https://t.test/s"},
		{"nor does the listener's", "/s", 8080, "t.test:8080", "301 https://t.test/s"},
		{"a port that is said", "/p", 80, "t.test", "302 https://t.test:8443/p"},
		{"on either listener", "/p", 8080, "t.test:8080", "302 https://t.test:8443/p"},
		{"the listener's port is the scheme's", "/h", 80, "t.test", "302 http://n.test/h"},
		{"the listener's port is not", "/h", 8080, "t.test:8080", "302 http://n.test:8080/h"},
		{"the query stays", "/h/x?a=1&b=%20", 80, "t.test", "302 http://n.test/h/x?a=1&b=%20"},
	} {
		a := h.raw(c.port, c.path, c.host)
		if got := fmt.Sprint(a.Status, " ", a.Location); got != c.want {
			t.Errorf("%s: %s on %d as %s is answered %s, want %s", c.name, c.path, c.port, c.host, got, c.want)
		}
	}
}

// modifiers is the table of HTTPPathModifier's documentation (gateway-api
// v1.7.0), then the rows that people asked for and it does not have.
var modifiers = []struct{ path, prefix, replace, want string }{
	{"/foo/bar", "/foo", "/xyz", "/xyz/bar"},
	{"/foo/bar", "/foo", "/xyz/", "/xyz/bar"},
	{"/foo/bar", "/foo/", "/xyz", "/xyz/bar"},
	{"/foo/bar", "/foo/", "/xyz/", "/xyz/bar"},
	{"/foo", "/foo", "/xyz", "/xyz"},
	{"/foo/", "/foo", "/xyz", "/xyz/"},
	{"/foo/bar", "/foo", "", "/bar"},
	{"/foo/", "/foo", "", "/"},
	{"/foo", "/foo", "", "/"},
	{"/foo/", "/foo", "/", "/"},
	{"/foo", "/foo", "/", "/"},

	{"/api/pub/bar", "/api/pub/", "/", "/bar"},
	{"/api/pub", "/api/pub/", "/", "/"},
	{"/one/two", "/one", "/xyz/", "/xyz/two"},
	{"/one", "/one", "/xyz/", "/xyz"}, // or /xyz/: the table lacks this row
	{"/q", "/", "/root", "/root/q"},
	{"/", "/", "/root", "/root/"}, // or /root; the slash is the request's own, as in /foo/
	{"/foo/bar?q=1&r=%2F", "/foo", "/xyz", "/xyz/bar?q=1&r=%2F"},
}

// TestC18 replaces prefixes element by element, in a rewrite and in a redirect
// alike. Pasting strings together makes //, /xyztwo or /rootq.
func TestC18(t *testing.T) {
	var rules strings.Builder
	for i, m := range modifiers {
		path := fmt.Sprintf("path: {type: ReplacePrefixMatch, replacePrefixMatch: %q}", m.replace)
		for header, filter := range map[string]string{
			"rewrite":  "[{type: URLRewrite, urlRewrite: {" + path + "}}], backendRefs: [{name: a, port: 80}]",
			"redirect": "[{type: RequestRedirect, requestRedirect: {" + path + "}}]",
		} {
			fmt.Fprintf(&rules, "---"+routeYAML(fmt.Sprintf("%s-%d", header, i), `
  hostnames: [`+header+`%d.test]
  rules: [{matches: [{path: {value: %q}}], filters: %s}]
`), i, m.prefix, filter)
		}
	}
	h := begin(t, rules.String())
	h.apply()
	for i, m := range modifiers {
		a := h.get(fmt.Sprintf("http://rewrite%d.test%s", i, m.path))
		if a.URI != m.want {
			t.Errorf("rewrite %s, prefix %s by %q: the backend sees %s (status %d), want %s", m.path, m.prefix, m.replace, a.URI, a.Status, m.want)
		}
		a = h.get(fmt.Sprintf("http://redirect%d.test%s", i, m.path))
		if want := fmt.Sprintf("http://redirect%d.test%s", i, m.want); a.Status != http.StatusFound || a.Location != want {
			t.Errorf("redirect %s, prefix %s by %q: %d to %s, want %s", m.path, m.prefix, m.replace, a.Status, a.Location, want)
		}
	}
}

// TestC18Fallthrough is the case's own route: what only begins like a prefix
// belongs to the next rule.
func TestC18Fallthrough(t *testing.T) {
	rule := func(path, replace, backend string) string {
		return fmt.Sprintf("  - {matches: [{path: {value: %s}}], filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: %s}}}], backendRefs: [{name: %s, port: 80}]}\n",
			path, replace, backend)
	}
	h := begin(t, routeYAML("r", "  rules:\n"+rule("/api/pub/", "/", "a")+rule("/one", "/xyz/", "b")+rule("/", "/root", "c")))
	h.apply()
	for path, want := range map[string]string{
		"/api/pub/bar": "a /bar", "/api/pub": "a /", "/api/public": "c /root/api/public",
		"/one/two": "b /xyz/two", "/onex": "c /root/onex", "/q": "c /root/q",
	} {
		if a := h.get("http://x.test" + path); a.Backend+" "+a.URI != want {
			t.Errorf("%s arrives as %s %s, want %s", path, a.Backend, a.URI, want)
		}
	}
}
