package lbmodel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCORSAllowsOrigin(t *testing.T) {
	const why = "an origin is scheme, host and port; a star stands for whole labels on its left (HTTPCORSFilter.allowOrigins)"
	for _, c := range []struct {
		name, allowed, origin string
		want                  bool
	}{
		{"exact", "https://www.foo.com", "https://www.foo.com", true},
		{"case of scheme and host", "https://www.Foo.com", "HTTPS://WWW.foo.com", true},
		{"other host", "https://www.foo.com", "https://foo.com", false},
		{"suffix without a dot", "https://*.bar.com", "https://foobar.com", false},
		{"one label", "https://*.bar.com", "https://www.bar.com", true},
		{"two labels", "https://*.bar.com", "https://xpto.www.bar.com", true},
		{"the name itself", "https://*.bar.com", "https://bar.com", false},
		{"scheme", "https://www.foo.com", "http://www.foo.com", false},
		{"default port written", "https://www.foo.com:443", "https://www.foo.com", true},
		{"other port", "https://www.foo.com", "https://www.foo.com:8443", false},
		{"any host of a scheme", "https://*", "https://x.test", true},
		{"any host, other scheme", "https://*", "http://x.test", false},
		{"any host, other port", "https://*:8443", "https://x.test:8443", true},
		{"any", "*", "https://foobar.com:12345", true},
		{"any, opaque", "*", "null", true},
		{"no origin", "*", "", false},
		{"not an origin", "https://www.foo.com", "https://www.foo.com/path", false},
		{"user in front", "https://*.foo.com", "https://evil@www.foo.com", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (&CORS{AllowOrigins: []string{c.allowed}}).AllowsOrigin(c.origin); got != c.want {
				t.Errorf("%s allows %s = %v: %s", c.allowed, c.origin, got, why)
			}
		})
	}
	if (&CORS{AllowOrigins: []string{"*"}, AllowCredentials: true}).AllowsOrigin("null") {
		t.Error("the opaque origin is allowed with credentials: any sandboxed page sends it")
	}
}

func TestCORSHeaders(t *testing.T) {
	vary := Header{Name: "Vary", Value: "Origin"}
	origin := Header{Name: "Access-Control-Allow-Origin", Value: "https://a.test"}
	age := func(v string) Header { return Header{Name: "Access-Control-Max-Age", Value: v} }
	credentials := Header{Name: "Access-Control-Allow-Credentials", Value: "true"}
	methods := func(v string) Header { return Header{Name: "Access-Control-Allow-Methods", Value: v} }
	allowed := func(v string) Header { return Header{Name: "Access-Control-Allow-Headers", Value: v} }
	exposed := func(v string) Header { return Header{Name: "Access-Control-Expose-Headers", Value: v} }
	ask := withHeaders(Request{Method: "OPTIONS", Path: "/"}, "origin", "https://a.test",
		"access-control-request-method", "PUT", "access-control-request-headers", "x-one, authorization")
	for _, c := range []struct {
		name string
		cors CORS
		want []Header
		why  string
	}{
		{"another origin", CORS{AllowOrigins: []string{"https://b.test"}}, []Header{vary}, "no CORS header at all, and the browser refuses"},
		{"defaults", CORS{AllowOrigins: []string{"*"}}, []Header{vary, origin, age("5")}, "safelisted methods need no header; five seconds"},
		{"lists", CORS{AllowOrigins: []string{"https://a.test"}, AllowMethods: []string{"GET", "PUT"}, AllowHeaders: []string{"x-one"}, ExposeHeaders: []string{"x-two", "x-three"}, MaxAge: 60},
			[]Header{vary, origin, exposed("x-two, x-three"), methods("GET, PUT"), allowed("x-one"), age("60")}, "as configured"},
		{"stars", CORS{AllowOrigins: []string{"*"}, AllowMethods: []string{"*"}, AllowHeaders: []string{"*"}, ExposeHeaders: []string{"*"}},
			[]Header{vary, origin, exposed("*"), methods("PUT"), allowed("x-one, authorization"), age("5")}, "a star is what was asked for"},
		{"stars with credentials", CORS{AllowOrigins: []string{"*"}, AllowCredentials: true, AllowMethods: []string{"*"}, AllowHeaders: []string{"*"}, ExposeHeaders: []string{"*"}},
			[]Header{vary, origin, credentials, methods("PUT"), allowed("x-one, authorization"), age("5")}, "never a literal star with credentials"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.cors.PreflightHeaders(&ask)); diff != "" {
				t.Errorf("preflight headers (-want +got): %s\n%s", c.why, diff)
			}
		})
	}
}

func TestIsPreflight(t *testing.T) {
	const why = "a preflight is OPTIONS with an Origin and the method that it asks for"
	full := []string{"origin", "https://a.test", "access-control-request-method", "PUT"}
	for _, c := range []struct {
		name, method string
		headers      []string
		want         bool
	}{
		{"preflight", "OPTIONS", full, true},
		{"plain OPTIONS", "OPTIONS", full[:2], false},
		{"no origin", "OPTIONS", full[2:], false},
		{"another method", "PUT", full, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withHeaders(Request{Method: c.method}, c.headers...)
			if got := r.IsPreflight(); got != c.want {
				t.Errorf("IsPreflight = %v: %s", got, why)
			}
		})
	}
}

func TestHeaderEdit(t *testing.T) {
	headers := map[string][]string{"X-Gone": {"1"}, "X-Set": {"1", "2"}, "X-Add": {"1"}, "X-Stays": {"1"}}
	before := headers["X-Add"]
	edit := &HeaderEdit{
		Remove: []string{"x-gone", "x-never"},
		Set:    []Header{{Name: "x-set", Value: "3"}, {Name: "x-empty"}},
		Add:    []Header{{Name: "X-ADD", Value: "2,3"}, {Name: "x-new", Value: "4"}},
	}
	edit.Apply(headers)
	(*HeaderEdit)(nil).Apply(headers)
	want := map[string][]string{"X-Set": {"3"}, "X-Empty": {""}, "X-Add": {"1", "2,3"}, "X-New": {"4"}, "X-Stays": {"1"}}
	if diff := cmp.Diff(want, headers); diff != "" {
		t.Errorf("names have no case, set replaces, add appends (-want +got):\n%s", diff)
	}
	if len(before) != 1 {
		t.Error("Apply wrote into a slice that a copy of the headers may share")
	}
}

func TestRetries(t *testing.T) {
	none, off, some := (*Retry)(nil), &Retry{Codes: []int{503}}, &Retry{Codes: []int{503}, Attempts: 2}
	if none.RetriesStatus(503) || off.RetriesStatus(503) || none.RetriesConnect() || off.RetriesConnect() {
		t.Error("no retry, or zero attempts, tries again: an explicit zero disables retries")
	}
	if !some.RetriesStatus(503) || some.RetriesStatus(500) || !some.RetriesConnect() {
		t.Error("only the listed codes and connections that failed are tried again")
	}
}
