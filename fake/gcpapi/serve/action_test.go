package serve

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Why: what a rewrite sends on and where a redirect leads.
func TestRewritesAndRedirects(t *testing.T) {
	one := func(match, action string) string { return `"routeRules":[` + rule("1", match, action) + `]` }
	rewrite := func(r string) string { return service("s") + `,"routeAction":{"urlRewrite":{` + r + `}}` }
	redirect := func(r string) string { return `"urlRedirect":{` + r + `}` }
	const prefix, full, template = `"prefixMatch":"/foo/"`, `"fullPathMatch":"/foo"`, `"pathTemplateMatch":"/foo/{a}/{r=**}"`
	for _, c := range []matchCase{
		{name: "prefix", members: one(prefix, rewrite(`"pathPrefixRewrite":"/new/"`)), line: shop + "/foo/bar?q=1", want: "s shop.example.com/new/bar?q=1", why: "the matching portion"},
		{name: "host", members: one(prefix, rewrite(`"hostRewrite":"other"`)), line: shop + "/foo/bar", want: "s other/foo/bar", why: "hostRewrite"},
		{name: "full", members: one(full, rewrite(`"pathPrefixRewrite":"/new"`)), line: shop + "/foo", want: "s shop.example.com/new", why: "first position"},
		{name: "full nothing", members: one(full, rewrite(`"pathPrefixRewrite":"/new"`)), line: shop + "/foo", s: Switches{RewriteFullPath: Nothing}, want: "s shop.example.com/foo", why: "RewriteFullPath"},
		{name: "template", members: one(template, rewrite(`"pathTemplateRewrite":"/z/{r}/{a}"`)), line: shop + "/foo/1/2/3?q", want: "s shop.example.com/z/2/3/1?q", why: "the query is appended"},
		{name: "template without variables", members: one(template, rewrite(`"pathTemplateRewrite":"/z"`)), line: shop + "/foo/1/2", want: "s shop.example.com/z", why: "variables may be omitted"},
		{name: "regex", members: one(prefix, rewrite(`"regexRewrite":{"pathPattern":"/(b)(a)r","pathSubstitution":"/\\2\\1$"}`)), line: shop + "/foo/bar", want: "s shop.example.com/foo/ab$", why: `\1 is a group and $ is not`},
		{name: "question", members: one(prefix, rewrite(`"pathPrefixRewrite":"/n?x=1"`)), line: shop + "/foo/?q=1", want: "s shop.example.com/n?x=1&q=1", why: "first position"},
		{name: "question escaped", members: one(prefix, rewrite(`"pathPrefixRewrite":"/n?x=1"`)), line: shop + "/foo/?q=1", s: Switches{RewriteQuestion: Escaped}, want: "s shop.example.com/n%3Fx=1?q=1", why: "RewriteQuestion"},
		{name: "redirect host", members: one(prefix, redirect(`"hostRedirect":"h","redirectResponseCode":"SEE_OTHER"`)), line: shop + "/foo/bar?q=1", want: "See Other http://h/foo/bar?q=1", why: "the query is kept"},
		{name: "redirect strips", members: one(prefix, redirect(`"hostRedirect":"h","stripQuery":true`)), line: shop + "/foo/?q=1", want: "Moved Permanently http://h/foo/", why: "stripQuery"},
		{name: "redirect path", members: one(prefix, redirect(`"pathRedirect":"/p","redirectResponseCode":"PERMANENT_REDIRECT"`)), line: shop + "/foo/1", want: "Permanent Redirect http://shop.example.com/p", why: "the whole path"},
		{name: "redirect prefix", members: one(prefix, redirect(`"prefixRedirect":"/p/"`)), line: shop + "/foo/1", want: "Moved Permanently http://shop.example.com/p/1", why: "the matched prefix"},
		{name: "redirect full", members: one(full, redirect(`"prefixRedirect":"/p"`)), line: shop + "/foo", s: Switches{RedirectFullPath: Nothing}, want: "Moved Permanently http://shop.example.com/foo", why: "RedirectFullPath"},
		{name: "https", members: one(prefix, redirect(`"httpsRedirect":true`)), line: shop + "/foo/", want: "Moved Permanently https://shop.example.com:443/foo/", why: "seen once"},
		{name: "https with host", members: one(prefix, redirect(`"httpsRedirect":true,"hostRedirect":"h"`)), line: shop + "/foo/", want: "Moved Permanently https://h/foo/", why: "seen once"},
		{name: "https stripped", members: one(prefix, redirect(`"httpsRedirect":true`)), line: shop + "/foo/", s: Switches{RedirectPort: Stripped}, want: "Moved Permanently https://shop.example.com/foo/", why: "RedirectPort"},
		{name: "host port dropped", members: one(prefix, redirect(`"hostRedirect":"h:81"`)), line: shop + "/foo/", s: Switches{RedirectHostPort: Dropped}, want: "Moved Permanently http://h/foo/", why: "RedirectHostPort"},
	} {
		c.run(t)
	}
}

// Why: a default redirect with prefixRedirect puts the prefix before the path; a
// default rewrite has no matching portion.
func TestDefaults(t *testing.T) {
	redirecting := parse(t, `{"defaultUrlRedirect":{"prefixRedirect":"/p/","redirectResponseCode":"FOUND"}}`)
	rewriting := parse(t, `{"defaultService":"global/backendServices/s","defaultRouteAction":{"urlRewrite":{"pathPrefixRewrite":"/p"}}}`)
	for _, c := range []struct {
		name string
		u    URLMap
		s    Switches
		want string
	}{
		{"redirect", redirecting, Switches{}, "Found http://h/p/a"},
		{"redirect plain", redirecting, Switches{RedirectDefaultSegment: Plain}, "Found http://h/p//a"},
		{"rewrite", rewriting, Switches{}, "s h/a"},
		{"rewrite whole", rewriting, Switches{RewriteDefault: Whole}, "s h/p"},
		{"rewrite prepended", rewriting, Switches{RewriteDefault: Prepended}, "s h/p/a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := short(answer(t, c.u, c.s, asked(t, "GET http://h/a"))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// layered has header actions at every level.
const layered = `{"defaultService":"global/backendServices/none","headerAction":{"requestHeadersToAdd":[{"headerName":"A","headerValue":"map","replace":false}],"responseHeadersToRemove":["Gone"]},
	"hostRules":[{"hosts":["*"],"pathMatcher":"m"}],"pathMatchers":[{"name":"m","defaultService":"global/backendServices/d",
	"headerAction":{"requestHeadersToAdd":[{"headerName":"A","headerValue":"matcher","replace":false},{"headerName":"Host","headerValue":"changed","replace":true}]},
	"routeRules":[{"priority":0,"matchRules":[{"prefixMatch":"/"}],"headerAction":{"requestHeadersToAdd":[{"headerName":"A","headerValue":"rule"}],"requestHeadersToRemove":["A"]},
	"routeAction":{"weightedBackendServices":[{"backendService":"projects/p/global/backendServices/x","weight":3,"headerAction":{"requestHeadersToAdd":[{"headerName":"A","headerValue":"share"}]}},
	{"backendService":"global/backendServices/y","weight":1}]}}]}]}`

func edited(t *testing.T, s Switches, services map[string]BackendService) http.Header {
	t.Helper()
	c := Config{Flavour: RegionalExternal, Scheme: "http", URLMap: parse(t, layered), Services: services}
	r := asked(t, "GET http://h/")
	r.Variables = map[string]string{"client_cert_present": "true"}
	a, err := c.Answer(r, s)
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{"A": {"client"}, "Host": {a.Forward.Host}}
	a.Forward.Shares[0].Request.Apply(h)
	return h
}

// Why: weighted service, route rule, path matcher, URL map, in this order; the orders
// that are open are switches.
func TestHeaderActions(t *testing.T) {
	custom := map[string]BackendService{"https://compute.googleapis.com/compute/v1/projects/p/global/backendServices/x": {CustomRequestHeaders: []string{"A:own", "Cert:{client_cert_present}", "Unknown:{nothing}"}}}
	for _, c := range []struct {
		name     string
		s        Switches
		services map[string]BackendService
		want     http.Header
	}{
		{"outwards", Switches{}, nil, http.Header{"A": {"rule", "matcher", "map"}, "Host": {"changed"}}},
		{"add first", Switches{HeaderOrder: AddFirst}, nil, http.Header{"A": {"matcher", "map"}, "Host": {"changed"}}},
		{"host stays", Switches{HeaderHost: Ignored}, nil, http.Header{"A": {"rule", "matcher", "map"}, "Host": {"h"}}},
		{"custom last", Switches{}, custom, http.Header{"A": {"own"}, "Host": {"changed"}, "Cert": {"true"}, "Unknown": {""}}},
		{"custom first", Switches{CustomHeadersOrder: First}, custom, http.Header{"A": {"rule", "matcher", "map"}, "Host": {"changed"}, "Cert": {"true"}, "Unknown": {""}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, edited(t, c.s, c.services)); d != "" {
				t.Error(d)
			}
		})
	}
}

// forwarded is what an action makes of a request.
func forwarded(t *testing.T, action string, f Flavour, s Switches, r Request) Answer {
	t.Helper()
	c := Config{Flavour: f, Scheme: "http", URLMap: mapOf(t, `"routeRules":[`+rule("1", `"prefixMatch":"/"`, action)+`]`),
		Services: map[string]BackendService{"global/backendServices/slow": {TimeoutSec: new(int32(90))}}}
	a, err := c.Answer(r, s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Why: a route's timeout includes retries; without one the largest of its services;
// retries happen without a policy too.
func TestTimeoutsAndRetries(t *testing.T) {
	for _, c := range []struct {
		name, action string
		f            Flavour
		s            Switches
		timeout      time.Duration
		retry        Retry
	}{
		{"service's", service("slow"), RegionalExternal, Switches{}, 90 * time.Second, Retry{Default: true}},
		{"default", service("s"), RegionalExternal, Switches{DefaultRetry: InternalOnly}, 30 * time.Second, Retry{}},
		{"internal retries", service("s"), RegionalInternal, Switches{DefaultRetry: InternalOnly}, 30 * time.Second, Retry{Default: true}},
		{"route's", service("slow") + `,"routeAction":{"timeout":{"seconds":"1","nanos":500000000}}`, RegionalExternal, Switches{}, 1500 * time.Millisecond, Retry{Default: true}},
		{"zero", service("slow") + `,"routeAction":{"timeout":{"seconds":0}}`, RegionalExternal, Switches{}, 0, Retry{Default: true}},
		{"zero is default", service("slow") + `,"routeAction":{"timeout":{"seconds":0}}`, RegionalExternal, Switches{TimeoutZero: Default}, 90 * time.Second, Retry{Default: true}},
		{"policy", service("s") + `,"routeAction":{"retryPolicy":{"retryConditions":["5xx"]}}`, RegionalExternal, Switches{}, 30 * time.Second, Retry{Attempts: 1, PerTry: 30 * time.Second, On: []string{"5xx"}}},
		{"policy adds", service("s") + `,"routeAction":{"retryPolicy":{"numRetries":3,"perTryTimeout":{"seconds":"2"},"retryConditions":["connect-failure"]}}`, RegionalExternal, Switches{RetryPolicy: Adds}, 30 * time.Second,
			Retry{Attempts: 3, PerTry: 2 * time.Second, On: []string{"connect-failure"}, Default: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := forwarded(t, c.action, c.f, c.s, asked(t, shop+"/")).Forward
			if f.Timeout != c.timeout {
				t.Errorf("timeout %s, want %s", f.Timeout, c.timeout)
			}
			if d := cmp.Diff(c.retry, f.Retry); d != "" {
				t.Error(d)
			}
		})
	}
}

// Why: shares, mirrors and aborts.
func TestShares(t *testing.T) {
	zero := `"routeAction":{"weightedBackendServices":[{"backendService":"global/backendServices/a","weight":0},{"backendService":"global/backendServices/b","weight":0}]}`
	if got := forwarded(t, zero, RegionalExternal, Switches{}, asked(t, shop+"/")); got.Own == nil || got.Own.Status != 503 {
		t.Errorf("all weights 0: %+v", got)
	}
	if got := forwarded(t, zero, RegionalExternal, Switches{AllWeightsZero: Evenly}, asked(t, shop+"/")); got.Forward == nil || got.Forward.Shares[1].Weight != 1 {
		t.Errorf("all weights 0, evenly: %+v", got)
	}
	mirror := service("s") + `,"routeAction":{"urlRewrite":{"hostRewrite":"new:81"},"requestMirrorPolicy":{"backendService":"global/backendServices/m","mirrorPercent":12.5}}`
	want := &Mirror{Service: "global/backendServices/m", Host: "new-shadow:81", Percent: 12.5}
	if d := cmp.Diff(want, forwarded(t, mirror, RegionalExternal, Switches{}, asked(t, shop+"/")).Forward.Mirror); d != "" {
		t.Error(d)
	}
	want.Host = "shop.example.com-shadow"
	if d := cmp.Diff(want, forwarded(t, mirror, RegionalExternal, Switches{MirrorHost: Original}, asked(t, shop+"/")).Forward.Mirror); d != "" {
		t.Error(d)
	}
	abort := service("s") + `,"routeAction":{"faultInjectionPolicy":{"abort":{"httpStatus":404,"percentage":100}}}`
	grpc := asked(t, shop+"/", "Content-Type: application/grpc")
	if got := forwarded(t, abort, RegionalExternal, Switches{}, grpc).Own; got == nil || got.Status != 404 || got.Cause != "fault_filter_abort" {
		t.Errorf("abort: %+v", got)
	}
	if got := forwarded(t, abort, RegionalExternal, Switches{AbortGRPC: Mapped}, grpc).Own; got == nil || got.Status != 200 || got.Header.Get("Grpc-Status") != "12" {
		t.Errorf("abort of gRPC: %+v", got)
	}
}

// Why: what a CORS policy answers itself, and what it adds.
func TestCORS(t *testing.T) {
	policy := service("s") + `,"routeAction":{"corsPolicy":{"allowOrigins":["https://a.com","*"],"allowMethods":["GET","PUT"],"allowHeaders":["X-A"],"exposeHeaders":["X-B"],"maxAge":60,"allowCredentials":true}}`
	preflight := []string{"Access-Control-Request-Method: PUT"}
	for _, c := range []struct {
		name, method, origin string
		headers              []string
		s                    Switches
		status               int // 0 is forwarded
		want                 http.Header
	}{
		{name: "actual", method: "GET", origin: "https://a.com", want: http.Header{"Access-Control-Allow-Origin": {"https://a.com"}, "Access-Control-Allow-Credentials": {"true"}, "Access-Control-Expose-Headers": {"X-B"}}},
		{name: "preflight", method: "OPTIONS", origin: "https://a.com", headers: preflight, status: 200, want: http.Header{"Access-Control-Allow-Origin": {"https://a.com"}, "Access-Control-Allow-Credentials": {"true"},
			"Access-Control-Allow-Methods": {"GET,PUT"}, "Access-Control-Allow-Headers": {"X-A"}, "Access-Control-Max-Age": {"60"}}},
		{name: "options without preflight", method: "OPTIONS", origin: "https://a.com", want: http.Header{"Access-Control-Allow-Origin": {"https://a.com"}, "Access-Control-Allow-Credentials": {"true"}, "Access-Control-Expose-Headers": {"X-B"}}},
		{name: "foreign", method: "GET", origin: "https://b.com"},
		{name: "foreign forbidden", method: "GET", origin: "https://b.com", s: Switches{CORSForeign: Forbidden}, status: 403},
		{name: "star", method: "GET", origin: "https://b.com", s: Switches{CORSStar: Any}, want: http.Header{"Access-Control-Allow-Origin": {"https://b.com"}, "Access-Control-Allow-Credentials": {"true"}, "Access-Control-Expose-Headers": {"X-B"}}},
		{name: "by the backend", method: "OPTIONS", origin: "https://a.com", headers: preflight, s: Switches{CORSPreflight: ByBackend}, want: http.Header{"Access-Control-Allow-Origin": {"https://a.com"}, "Access-Control-Allow-Credentials": {"true"}}},
		{name: "no content", method: "OPTIONS", origin: "https://b.com", headers: preflight, s: Switches{CORSForeign: Forbidden}, status: 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := asked(t, c.method+" http://shop.example.com/", append(c.headers, "Origin: "+c.origin)...)
			got := forwarded(t, policy, RegionalExternal, c.s, r)
			status, header := 0, http.Header(nil)
			if got.Own != nil {
				status, header = got.Own.Status, got.Own.Header
			} else {
				header = got.Forward.CORS
			}
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			if d := cmp.Diff(c.want, header); d != "" {
				t.Error(d)
			}
		})
	}
}
