package lbmodel

import (
	"strings"
	"testing"
)

func TestC18ReplacePrefixMatch(t *testing.T) {
	const why = "the table of HTTPPathModifier and case C18: elements are replaced, and never is a slash doubled"
	for _, c := range []struct{ path, prefix, replacement, want string }{
		// The eleven rows of the API's documentation.
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
		// The case's own.
		{"/api/pub/bar", "/api/pub/", "/", "/bar"},
		{"/api/pub", "/api/pub/", "/", "/"},
		{"/one/two", "/one", "/xyz/", "/xyz/two"},
		{"/one", "/one", "/xyz/", "/xyz"},
		{"/q", "/", "/root", "/root/q"},
		{"/", "/", "/root", "/root/"},
		{"/q", "/", "", "/q"},
		// Their kin.
		{"/onex", "/one", "/xyz", "/onex"},
		{"/foo//evil.test/x", "/foo", "/", "/evil.test/x"},
		{"/foo//bar", "/foo", "/xyz", "/xyz/bar"},
		{"/foo/a//b", "/foo", "/xyz", "/xyz/a//b"},
		{"/foo/b%2Fc%20d", "/foo", "/xyz", "/xyz/b%2Fc%20d"},
		{"/%66oo/bar", "/foo", "/xyz", "/xyz/bar"},
		{"/caf%c3%a9/bar", "/caf%C3%A9", "/xyz", "/xyz/bar"},
		{"/foo/bar", "/foo", "xyz", "/xyz/bar"},
		{"/foo/bar", "/foo", "//xyz//", "/xyz/bar"},
		{"/foo/bar", "/foo", "/x y?z#\r\n", "/x%20y%3Fz%23%0D%0A/bar"},
		{"/foo/bar", "/foo", "/x%2Fy", "/x%2Fy/bar"},
	} {
		name := c.path + " " + c.prefix + " to " + c.replacement
		t.Run(strings.ReplaceAll(name, "/", "|"), func(t *testing.T) {
			edit := &PathEdit{Kind: ReplacePrefixMatch, Value: c.replacement}
			if got := (&Rewrite{Path: edit}).EditPath(c.path, c.prefix); got != c.want {
				t.Errorf("%s with prefix %s replaced by %q = %s, want %s: %s", c.path, c.prefix, c.replacement, got, c.want, why)
			}
			location := (&Redirect{Path: edit}).Location(&Request{Host: "a.test", Path: c.path, Query: "k=v"}, 80, ProtocolHTTP, c.prefix)
			if want := "http://a.test" + c.want + "?k=v"; location != want {
				t.Errorf("Location = %s, want %s: redirects have the same table and keep the query", location, want)
			}
		})
	}
}

func TestReplaceFullPath(t *testing.T) {
	const why = "the whole path is replaced, by a path"
	for _, c := range []struct{ name, value, want string }{
		{"path", "/new", "/new"},
		{"trailing slash stays", "/new/", "/new/"},
		{"empty", "", "/"},
		{"no slash", "new", "/new"},
		{"two slashes", "//new", "/new"},
		{"question mark", "/a?b", "/a%3Fb"},
		{"not ASCII", "/é", "/%C3%A9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Rewrite{Path: &PathEdit{Kind: ReplaceFullPath, Value: c.value}}
			if got := r.EditPath("/old/x", "/old"); got != c.want {
				t.Errorf("path = %s, want %s: %s", got, c.want, why)
			}
		})
	}
	for _, r := range []*Rewrite{nil, {}, {Hostname: "b.test"}} {
		if got := r.EditPath("/old//x", "/old"); got != "/old//x" {
			t.Errorf("a rewrite without a path made %s of /old//x", got)
		}
	}
}

func TestC17RedirectPort(t *testing.T) {
	const why = "a redirect's port is its own, its scheme's or the listener's, and left out where the scheme implies it"
	for _, c := range []struct {
		name     string
		redirect Redirect
		host     string
		port     int32
		protocol Protocol
		want     string
	}{
		{"scheme on 80", Redirect{Scheme: "https"}, "t.test", 80, ProtocolHTTP, "https://t.test/s?q=1"},
		{"scheme on 8080", Redirect{Scheme: "https"}, "t.test:8080", 8080, ProtocolHTTP, "https://t.test/s?q=1"},
		{"scheme, port in Host", Redirect{Scheme: "https"}, "t.test:80", 80, ProtocolHTTP, "https://t.test/s?q=1"},
		{"port and scheme", Redirect{Scheme: "https", Port: 8443}, "t.test", 80, ProtocolHTTP, "https://t.test:8443/s?q=1"},
		{"port alone", Redirect{Port: 8083}, "t.test", 80, ProtocolHTTP, "http://t.test:8083/s?q=1"},
		{"well-known port given", Redirect{Scheme: "https", Port: 443}, "t.test", 80, ProtocolHTTP, "https://t.test/s?q=1"},
		{"other scheme's port given", Redirect{Scheme: "https", Port: 80}, "t.test", 80, ProtocolHTTP, "https://t.test:80/s?q=1"},
		{"hostname on 80", Redirect{Hostname: "n.test"}, "t.test", 80, ProtocolHTTP, "http://n.test/s?q=1"},
		{"hostname on 8080", Redirect{Hostname: "n.test"}, "t.test:99", 8080, ProtocolHTTP, "http://n.test:8080/s?q=1"},
		{"HTTPS listener", Redirect{Hostname: "n.test"}, "t.test", 443, ProtocolHTTPS, "https://n.test/s?q=1"},
		{"HTTPS listener on 8443", Redirect{Hostname: "n.test"}, "t.test", 8443, ProtocolHTTPS, "https://n.test:8443/s?q=1"},
		{"http from HTTPS", Redirect{Scheme: "http"}, "t.test", 8443, ProtocolHTTPS, "http://t.test/s?q=1"},
		{"scheme without a port", Redirect{Scheme: "gopher"}, "t.test", 8080, ProtocolHTTP, "gopher://t.test:8080/s?q=1"},
		{"IPv6", Redirect{Scheme: "https"}, "[2001:db8::1]:8080", 8080, ProtocolHTTP, "https://[2001:db8::1]/s?q=1"},
		{"IPv6 keeps the listener's port", Redirect{}, "[2001:db8::1]", 8080, ProtocolHTTP, "http://[2001:db8::1]:8080/s?q=1"},
		{"no host", Redirect{Scheme: "https"}, "", 80, ProtocolHTTP, "/s?q=1"},
		{"host that would end the authority", Redirect{Scheme: "https"}, "evil.test/@t.test", 80, ProtocolHTTP, "/s?q=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Request{Scheme: "http", Method: "GET", Host: c.host, Path: "/s", Query: "q=1"}
			if got := c.redirect.Location(r, c.port, c.protocol, "/s"); got != c.want {
				t.Errorf("Location = %s, want %s: %s", got, c.want, why)
			}
		})
	}
}

func TestRedirectIsNoWayOut(t *testing.T) {
	const why = "neither the path nor the query of a request may change where a redirect leads"
	for _, c := range []struct{ name, host, path, query, want string }{
		{"doubled slash without host", "", "//evil.test/x", "", "/evil.test/x"},
		{"backslash", "", `/\evil.test`, "", "/%5Cevil.test"},
		{"line break in the path", "t.test", "/a\r\nSet-Cookie:x", "", "http://t.test/a%0D%0ASet-Cookie:x"},
		{"line break in the query", "t.test", "/a", "x\r\ny #", "http://t.test/a?x%0D%0Ay%20%23"},
		{"asterisk", "t.test", "*", "", "http://t.test/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := (&Redirect{}).Location(&Request{Host: c.host, Path: c.path, Query: c.query}, 80, ProtocolHTTP, "/")
			if got != c.want {
				t.Errorf("Location = %q, want %q: %s", got, c.want, why)
			}
		})
	}
}

func FuzzPathEdit(f *testing.F) {
	for _, seed := range [][3]string{{"/foo/bar", "/foo", "/xyz"}, {"//a", "/", ""}, {"/%66oo//x", "/foo", "//"}, {"", "", ""}, {"/a%", "/a%25", "%"}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, path, prefix, replacement string) {
		edit := &PathEdit{Kind: ReplacePrefixMatch, Value: replacement}
		got := edit.Apply(path, prefix)
		if _, below := pathBelow(path, prefix); !below {
			if got != path {
				t.Errorf("%q is not below %q and became %q", path, prefix, got)
			}
			return
		}
		if !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") {
			t.Errorf("Apply(%q, %q) by %q = %q does not begin with one slash", path, prefix, replacement, got)
		}
	})
}

// TestBackendPath: a backend's rewrite used to be applied to what the rule's had
// already rewritten, where its prefix was gone, and so did nothing.
func TestBackendPath(t *testing.T) {
	to := func(v string) *Rewrite { return &Rewrite{Path: &PathEdit{Kind: ReplacePrefixMatch, Value: v}} }
	for _, c := range []struct {
		name          string
		rule, backend *Rewrite
		want          string
	}{
		{"neither", nil, nil, "/api/x"},
		{"the rule's", to("/r"), nil, "/r/x"},
		{"the backend's", nil, to("/b"), "/b/x"},
		{"the backend's instead of the rule's", to("/r"), to("/b"), "/b/x"},
		{"a backend's edit of the host leaves the rule's path", to("/r"), &Rewrite{Hostname: "h"}, "/r/x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := BackendPath(c.rule, c.backend, "/api/x", "/api"); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
