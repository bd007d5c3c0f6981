package serve

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestRouting goes through sockets once for each kind of action.
func TestRouting(t *testing.T) {
	a, b := newBackend(t, "a"), newBackend(t, "b")
	balancer := albOf(Listener{Port: 80, Default: fixedAnswer(404, "nothing here"), Rules: []Rule{
		{Priority: 20, Conditions: []Condition{{Field: PathPattern, Values: []string{"/a*"}}}, Actions: forwardTo("b")},
		{Priority: 10, Conditions: []Condition{{Field: PathPattern, Values: []string{"/a/*"}}}, Actions: forwardTo("a")},
		{Priority: 30, Conditions: []Condition{{Field: PathPattern, Values: []string{"/old/*"}}}, Actions: []Action{{Redirect: &Redirect{Status: 301, Host: "new.example.com"}}}},
		{Priority: 40, Conditions: []Condition{{Field: PathPattern, Values: []string{"/empty"}}}, Actions: forwardTo("none")},
		{Priority: 50, Conditions: []Condition{{Field: PathPattern, Values: []string{"/unknown"}}}, Actions: []Action{{}}},
	}})
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{balancer},
		TargetGroups: []TargetGroup{groupOf("a", a.healthy()), groupOf("b", b.healthy()), groupOf("none")}})
	client := l.client(80, nil)
	for _, c := range []struct {
		name, url string
		status    int
		body, why string
	}{
		{"lowest number first", "http://x.example.com/a/1?q=%41", 200, "a GET /a/1?q=%41 host=x.example.com", "priorities decide, not their order in Config; the query passes as it was"},
		{"next rule", "http://x.example.com/ab", 200, "b GET /ab host=x.example.com", "a glob's star takes any bytes"},
		{"default", "http://x.example.com/c", 404, "nothing here", "no rule matches"},
		{"redirect", "http://x.example.com/old/1?a=b", 301, "301 Moved Permanently", "the body is a page"},
		{"empty group", "http://x.example.com/empty", 503, "503 Service Temporarily Unavailable", "no registered target"},
		{"action that is not emulated", "http://x.example.com/unknown", 500, "500 Internal Server Error", "never silently something else"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := do(t, client, get(t, c.url))
			if res.StatusCode != c.status || !strings.Contains(res.body, c.body) {
				t.Errorf("%d %q, want %d %q: %s", res.StatusCode, res.body, c.status, c.body, c.why)
			}
			if own := res.StatusCode != 200; own != (res.Header.Get("Server") == "awselb/2.0") {
				t.Errorf("Server is %q: the load balancer's own answers name it", res.Header.Get("Server"))
			}
		})
	}
	if got := do(t, client, get(t, "http://x.example.com/old/1?a=b")).Header.Get("Location"); got != "http://new.example.com:80/old/1?a=b" {
		t.Errorf("Location is %q: always with the port, the rest by default as it was", got)
	}
	e := l.entry(func(e Entry) bool { return e.Path == "/a/1" })
	if e.Rule != "priority 10" || e.Group != "a" || e.Target != "a" || e.Status != 200 || e.Own {
		t.Errorf("the access log says %+v", e)
	}
}

// TestLocation has one case for each component of a redirect.
func TestLocation(t *testing.T) {
	for _, c := range []struct {
		name, why string
		redirect  Redirect
		transform []Transform
		url, want string
	}{
		{name: "protocol and port", redirect: Redirect{Protocol: "HTTPS", Port: "443"}, url: "http://a.example.com/x?y", want: "https://a.example.com:443/x?y",
			why: "the default port is named too"},
		{name: "keywords", redirect: Redirect{Host: "www.#{host}", Path: "/n/#{path}", Query: "#{query}&z=1", Port: "#{port}"}, url: "http://a.example.com/x/y?q=1",
			want: "http://www.a.example.com:80/n/x/y?q=1&z=1", why: "#{path} has no leading slash"},
		{name: "port in Host", redirect: Redirect{Path: "/n"}, url: "http://a.example.com:8080/x", want: "http://a.example.com:80/n", why: "#{port} is the listener's"},
		{name: "rewritten path", redirect: Redirect{Host: "b.example.com"}, transform: []Transform{{Type: URLRewrite, Regex: `(^/api(/)?)`, Replace: "/v2$2"}},
			url: "http://a.example.com/api/v1/users", want: "http://b.example.com:80/v2/v1/users", why: "seen on real load balancers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.redirect.Status = 302
			l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Rules: []Rule{{Priority: 1,
				Conditions: []Condition{{Field: PathPattern, Values: []string{"/*"}}}, Transforms: c.transform, Actions: []Action{{Redirect: &c.redirect}}}}})}})
			res := do(t, l.client(80, nil), get(t, c.url))
			if got := res.Header.Get("Location"); res.StatusCode != 302 || got != c.want {
				t.Errorf("%d, Location %q, want %q: %s", res.StatusCode, got, c.want, c.why)
			}
		})
	}
}

// TestOwnAnswers are those that no rule and no target gives.
func TestOwnAnswers(t *testing.T) {
	a := newBackend(t, "a")
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("a")})}, TargetGroups: []TargetGroup{groupOf("a", a.healthy())}})
	for _, c := range []struct {
		name, text string
		status     int
		why        string
	}{
		{"TRACE", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 405, "never reaches a rule"},
		{"malformed", "GET / HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n", 400, "a header without a colon"},
		{"long header", "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 17<<10) + "\r\n\r\n", 400, "above 16K"},
		{"many headers", "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: "+strings.Repeat("x", 10<<10)+"\r\n", 7) + "\r\n", 400, "above 64K together"},
		{"long line", "GET /" + strings.Repeat("x", 17<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", 400, "above 16K"},
		{"many forwarders", "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: " + strings.Repeat("1.1.1.1, ", 30) + "1.1.1.1\r\n\r\n", 463, "more than 30 addresses"},
		{"transfer encoding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "neither chunked nor identity"},
		{"version", "GET / HTTP/3.1\r\nHost: a\r\n\r\n", 505, "not a version of HTTP over TCP"},
		{"as usual", "GET / HTTP/1.0\r\n\r\n", 200, "HTTP/1.0 without Host is served by the default rule"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if res := l.raw(80, c.text); res.StatusCode != c.status {
				t.Errorf("%d, want %d: %s", res.StatusCode, c.status, c.why)
			}
		})
	}
}

// TestTooLargeSwitch: the same sizes are listed under two codes.
func TestTooLargeSwitch(t *testing.T) {
	c := Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: fixedAnswer(200, "")})}, Undocumented: Undocumented{TooLarge: EntityTooLarge}}
	l := newLab(t, Options{}, c)
	if res := l.raw(80, "GET / HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 17<<10)+"\r\n\r\n"); res.StatusCode != 413 {
		t.Errorf("headers: %d, want 413", res.StatusCode)
	}
	if res := l.raw(80, "GET /"+strings.Repeat("x", 17<<10)+" HTTP/1.1\r\nHost: a\r\n\r\n"); res.StatusCode != 414 {
		t.Errorf("URL: %d, want 414", res.StatusCode)
	}
}

// TestTargetRequest looks at what a target gets.
func TestTargetRequest(t *testing.T) {
	for _, c := range []struct {
		name, why  string
		attributes map[string]string
		u          Undocumented
		port       int32
		headers    []string
		want       map[string]string // "" is absent
		host       string
	}{
		{name: "defaults", port: 8080, headers: []string{"Host: a.example.com", "X-Forwarded-For: 203.0.113.7", "X-Forwarded-Proto: gopher", "Bad_Name: 1"},
			want: map[string]string{"X-Forwarded-For": "203.0.113.7, 127.0.0.9", "X-Forwarded-Proto": "http", "X-Forwarded-Port": "8080", "Bad_Name": "1", "X-Forwarded-Host": ""},
			host: "a.example.com:8080", why: "append, and the port of a listener that is not the protocol's own"},
		{name: "port 80", port: 80, headers: []string{"Host: a.example.com:80"}, host: "a.example.com", why: "the default port is removed"},
		{name: "preserve", port: 8080, attributes: map[string]string{"routing.http.preserve_host_header.enabled": "true"}, headers: []string{"Host: a.example.com"},
			host: "a.example.com", why: "untouched"},
		{name: "forwarded for preserve", port: 80, attributes: map[string]string{"routing.http.xff_header_processing.mode": "preserve"}, headers: []string{"Host: a", "X-Forwarded-For: 203.0.113.7"},
			want: map[string]string{"X-Forwarded-For": "203.0.113.7"}, host: "a", why: "unchanged"},
		{name: "forwarded for remove", port: 80, attributes: map[string]string{"routing.http.xff_header_processing.mode": "remove"}, headers: []string{"Host: a", "X-Forwarded-For: 203.0.113.7"},
			want: map[string]string{"X-Forwarded-For": ""}, host: "a", why: "removed"},
		{name: "drop invalid", port: 80, attributes: map[string]string{"routing.http.drop_invalid_header_fields.enabled": "true"}, headers: []string{"Host: a", "Bad_Name: 1", "Good-1: 1"},
			want: map[string]string{"Bad_Name": "", "Good-1": "1"}, host: "a", why: "only letters, digits and hyphens stay"},
		{name: "proto kept", port: 80, u: Undocumented{ForwardedProto: Kept}, headers: []string{"Host: a", "X-Forwarded-Proto: gopher"},
			want: map[string]string{"X-Forwarded-Proto": "gopher"}, host: "a", why: "the switch ForwardedProto"},
		{name: "spoofed", port: 80, headers: []string{"Host: a", "X-Amzn-Mtls-Clientcert-Subject: CN=root", "X-Amzn-Trace-Id: Root=1-abc"},
			want: map[string]string{"X-Amzn-Mtls-Clientcert-Subject": ""}, host: "a", why: "stripped unless the switch says otherwise"},
		{name: "spoofed kept", port: 80, u: Undocumented{SpoofedAmazon: Kept}, headers: []string{"Host: a", "X-Amzn-Mtls-Clientcert-Subject: CN=root"},
			want: map[string]string{"X-Amzn-Mtls-Clientcert-Subject": "CN=root"}, host: "a", why: "the switch SpoofedAmazon"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newBackend(t, "a")
			b := albOf(Listener{Port: c.port, Default: forwardTo("a")})
			b.Attributes = c.attributes
			l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{b}, TargetGroups: []TargetGroup{groupOf("a", a.healthy())}, Undocumented: c.u})
			do(t, l.client(c.port, nil), get(t, "http://a.example.com/", c.headers...))
			seen := a.last.Load()
			if seen.Host != c.host {
				t.Errorf("Host %q, want %q: %s", seen.Host, c.host, c.why)
			}
			for name, want := range c.want {
				if got := strings.Join(seen.Header.Values(name), "|"); got != want {
					t.Errorf("%s is %q, want %q: %s", name, got, want, c.why)
				}
			}
			if id := seen.Header.Get("X-Amzn-Trace-Id"); c.name == "spoofed" && !strings.HasPrefix(id, "Self=1-") || !strings.Contains(id, "Root=1-") {
				t.Errorf("trace id %q", id)
			}
		})
	}
}

// TestPathBytes: routing does not alter what is sent on.
func TestPathBytes(t *testing.T) {
	a := newBackend(t, "a")
	l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(Listener{Port: 80, Default: forwardTo("a")})}, TargetGroups: []TargetGroup{groupOf("a", a.healthy())}})
	for _, path := range []string{"/%41%2f%2e/../x", "/a//b;c=d", "/a?", "/a?x=%zz&y;z", "//host/a", "/a|b\"c"} {
		res := l.raw(80, "GET "+path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		if want := fmt.Sprintf("a GET %s host=a", path); res.body != want {
			t.Errorf("the target saw %q, want %q", res.body, want)
		}
	}
}

// TestListenerHeaders are on every response, over the target's own.
func TestListenerHeaders(t *testing.T) {
	a := newBackend(t, "a", answering(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Frame-Options", "ALLOW")
		w.Header().Set("Server", "own")
	}))
	listener := Listener{Port: 80, Default: forwardTo("a"), Rules: []Rule{{Priority: 1, Conditions: []Condition{{Field: PathPattern, Values: []string{"/fixed"}}}, Actions: fixedAnswer(200, "x")}},
		Attributes: map[string]string{"routing.http.response.x_frame_options.header_value": "DENY", "routing.http.response.server.enabled": "false"}}
	for _, c := range []struct {
		path  string
		where Position
		want  string
	}{{"/", Every, "DENY"}, {"/fixed", Every, "DENY"}, {"/fixed", TargetsOnly, ""}} {
		l := newLab(t, Options{}, Config{LoadBalancers: []LoadBalancer{albOf(listener)}, TargetGroups: []TargetGroup{groupOf("a", a.healthy())}, Undocumented: Undocumented{OwnHeaders: c.where}})
		res := do(t, l.client(80, nil), get(t, "http://a"+c.path))
		if got := res.Header.Get("X-Frame-Options"); got != c.want {
			t.Errorf("%s with OwnHeaders=%s: X-Frame-Options is %q, want %q", c.path, c.where, got, c.want)
		}
		if res.Header.Get("Server") != "" {
			t.Errorf("%s: Server is %q, and was taken away", c.path, res.Header.Get("Server"))
		}
	}
}
