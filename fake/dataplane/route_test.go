package dataplane

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
)

// TestC02PrefixByElement sends the case's eight paths in both rule orders; the
// model's order is final, so both lists are sorted as translation would.
func TestC02PrefixByElement(t *testing.T) {
	a, b, c := echo(t, "a"), echo(t, "b"), echo(t, "c")
	p := newPlane(t, Config{}, gatewayOf("edge", []lbmodel.Listener{httpListener(80,
		prefixRule("/svc/items/", to("c")), prefixRule("/svc-side", to("b")), prefixRule("/svc", to("a")),
	)}, poolOf("a", lbmodel.PoolHTTP1, a.addr()), poolOf("b", lbmodel.PoolHTTP1, b.addr()), poolOf("c", lbmodel.PoolHTTP1, c.addr())))
	client := p.client(80, nil)
	for path, want := range map[string]string{
		"/svc": "a", "/svc/": "a", "/svc-side": "b", "/svc-side/q": "b", "/svcx": "",
		"/svc/items": "c", "/svc/items/1": "c", "/svc/items:publish": "a",
	} {
		res, _ := answerOf(t, client, get(t, "http://any.test"+path))
		if got := res.Header.Get("Backend"); got != want {
			t.Errorf("%s: answered by %q with %d, want %q: a prefix ends at an element's end", path, got, res.StatusCode, want)
		}
		if want == "" && res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", path, res.StatusCode)
		}
	}
}

// TestC05HeadersAndQuery matches names and values with the case that each has.
func TestC05HeadersAndQuery(t *testing.T) {
	a := echo(t, "a")
	rule := prefixRule("/", to("a"))
	rule.Match.Headers = []lbmodel.ValueMatch{{Name: "x-ver", Kind: lbmodel.MatchExact, Value: "2"}}
	rule.Match.Query = []lbmodel.ValueMatch{{Name: "k", Kind: lbmodel.MatchExact, Value: "v1"}}
	p := newPlane(t, Config{}, gatewayOf("edge", []lbmodel.Listener{httpListener(80, rule)}, poolOf("a", lbmodel.PoolHTTP1, a.addr())))
	client := p.client(80, nil)
	for _, c := range []struct {
		name, why, query, header string
		want                     int
	}{
		{"both", "the first entry of each name counts", "?k=v1", "x-VER: 2", 200},
		{"other header", "the ignored second entry must not match", "?k=v1", "x-ver: 3", 404},
		{"other case of a query name", "query names are case-sensitive", "?K=v1", "X-Ver: 2", 404},
		{"second of two", "the first parameter of a name is compared", "?k=v2&k=v1", "X-Ver: 2", 404},
	} {
		res, _ := answerOf(t, client, get(t, "http://any.test/"+c.query, c.header))
		if res.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d: %s", c.name, res.StatusCode, c.want, c.why)
		}
	}
}

// TestC10Host ignores port, case and the trailing dot for matching and passes
// Host on unchanged.
func TestC10Host(t *testing.T) {
	a := echo(t, "a")
	rule := prefixRule("/", to("a"))
	rule.Hostname = "shop.test"
	p := newPlane(t, Config{}, gatewayOf("edge", []lbmodel.Listener{httpListener(8080, rule)}, poolOf("a", lbmodel.PoolHTTP1, a.addr())))
	client := p.client(8080, nil)
	for host, want := range map[string]int{
		"shop.test:8080": 200, "SHOP.test": 200, "shop.test.": 200, "shop.test:99": 200, "[2001:db8::1]:8080": 404, "xshop.test": 404,
	} {
		res, body := answerOf(t, client, get(t, "http://any.test/", "Host: "+host))
		if res.StatusCode != want {
			t.Errorf("Host %s: status %d, want %d", host, res.StatusCode, want)
		}
		if want == 200 && !strings.HasSuffix(body, "host="+host) {
			t.Errorf("Host %s: the backend saw %q; the header must pass unchanged", host, body)
		}
	}
}

// TestC17RedirectPort asks both listeners for the case's three redirects.
func TestC17RedirectPort(t *testing.T) {
	redirect := func(path string, r lbmodel.Redirect) lbmodel.Rule {
		rule := prefixRule(path)
		rule.Hostname, rule.Action = "t.test", lbmodel.Action{Redirect: &r}
		return rule
	}
	rules := []lbmodel.Rule{
		redirect("/s", lbmodel.Redirect{Scheme: "https", Status: 301}),
		redirect("/p", lbmodel.Redirect{Scheme: "https", Port: 8443, Status: 302}),
		redirect("/h", lbmodel.Redirect{Hostname: "n.test", Status: 302}),
	}
	p := newPlane(t, Config{}, gatewayOf("edge", []lbmodel.Listener{httpListener(80, rules...), httpListener(8080, rules...)}))
	for _, c := range []struct {
		port     int32
		path     string
		status   int
		location string
	}{
		{80, "/s?q=1", 301, "https://t.test/s?q=1"}, {8080, "/s", 301, "https://t.test/s"},
		{80, "/p", 302, "https://t.test:8443/p"}, {8080, "/p", 302, "https://t.test:8443/p"},
		{80, "/h", 302, "http://n.test/h"}, {8080, "/h", 302, "http://n.test:8080/h"},
	} {
		for _, host := range []string{"t.test", "t.test:80"} {
			res, _ := answerOf(t, p.client(c.port, nil), get(t, "http://any.test"+c.path, "Host: "+host))
			if got := res.Header.Get("Location"); got != c.location || res.StatusCode != c.status {
				t.Errorf("port %d, Host %s, %s: %d %s, want %d %s: the listener's port counts, Host's never",
					c.port, host, c.path, res.StatusCode, got, c.status, c.location)
			}
		}
	}
}

// TestC18PrefixReplacement is the path that the backend sees, by the table of
// HTTPPathModifier and the case's own rows.
func TestC18PrefixReplacement(t *testing.T) {
	a := echo(t, "a")
	pools := []lbmodel.Pool{poolOf("a", lbmodel.PoolHTTP1, a.addr())}
	for _, c := range []struct{ match, replace, path, want string }{
		{"/foo", "/xyz", "/foo/bar", "/xyz/bar"},
		{"/foo", "/xyz/", "/foo/bar", "/xyz/bar"},
		{"/foo/", "/xyz", "/foo/bar", "/xyz/bar"},
		{"/foo/", "/xyz/", "/foo/bar", "/xyz/bar"},
		{"/foo", "/xyz", "/foo", "/xyz"},
		{"/foo", "/xyz", "/foo/", "/xyz/"},
		{"/foo", "", "/foo/bar", "/bar"},
		{"/foo/", "", "/foo/bar", "/bar"},
		{"/foo", "", "/foo/", "/"},
		{"/foo", "", "/foo", "/"},
		{"/foo", "/", "/foo", "/"},
		{"/foo", "/", "/foo/", "/"},
		{"/api/pub/", "/", "/api/pub/bar", "/bar"},
		{"/api/pub/", "/", "/api/pub", "/"},
		{"/one", "/xyz/", "/one/two", "/xyz/two"},
		{"/", "/root", "/q?a=%2F&b", "/root/q?a=%2F&b"},
		{"/", "/root", "/e%2Ff", "/root/e%2Ff"},
	} {
		t.Run(fmt.Sprint(c.match, " by ", c.replace, " in ", c.path), func(t *testing.T) {
			rule := prefixRule(c.match, to("a"))
			rule.Action.Edits.Rewrite = &lbmodel.Rewrite{Path: &lbmodel.PathEdit{Kind: lbmodel.ReplacePrefixMatch, Value: c.replace}}
			p := newPlane(t, Config{}, gatewayOf("edge", []lbmodel.Listener{httpListener(80, rule)}, pools...))
			_, body := answerOf(t, p.client(80, nil), get(t, "http://any.test"+c.path))
			if got := strings.Fields(body)[2]; got != c.want {
				t.Errorf("the backend saw %s, want %s", got, c.want)
			}
		})
	}
}

// TestC21BrokenBackend keeps a broken backend's share and tells an unknown pool
// from one without endpoints.
func TestC21BrokenBackend(t *testing.T) {
	a := echo(t, "a")
	split := prefixRule("/", lbmodel.Backend{Pool: "a", Weight: 90}, lbmodel.Backend{Weight: 10, Fixed: &lbmodel.Fixed{Status: 500}},
		lbmodel.Backend{Weight: 0, Fixed: &lbmodel.Fixed{Status: 500}})
	missing, empty := prefixRule("/p", lbmodel.Backend{Weight: 1, Fixed: &lbmodel.Fixed{Status: 500}}), prefixRule("/e", to("empty"))
	listeners := []lbmodel.Listener{httpListener(80, missing, empty, split)}
	p := newPlane(t, Config{}, gatewayOf("edge", listeners, poolOf("a", lbmodel.PoolHTTP1, a.addr()), poolOf("empty", lbmodel.PoolHTTP1)))
	client := p.client(80, nil)
	codes := map[int]int{}
	for range 500 {
		res, _ := answerOf(t, client, get(t, "http://any.test/"))
		codes[res.StatusCode]++
	}
	if codes[500] < 25 || codes[500] > 75 || codes[200]+codes[500] != 500 {
		t.Errorf("of 500 requests %v; want 5 to 15 %% of 500 and the rest from a", codes)
	}
	for path, want := range map[string]int{"/p": 500, "/e": 503} {
		if res, _ := answerOf(t, client, get(t, "http://any.test"+path)); res.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, res.StatusCode, want)
		}
	}
	healed := poolOf("empty", lbmodel.PoolHTTP1, a.addr())
	p.program(gatewayOf("edge", listeners, poolOf("a", lbmodel.PoolHTTP1, a.addr()), healed))
	if res, _ := answerOf(t, client, get(t, "http://any.test/e")); res.StatusCode != 200 {
		t.Errorf("/e after an endpoint came: status %d, want 200 without touching the route", res.StatusCode)
	}
}

// TestC22AllWeightsZero answers 500, our documented choice, and reaches nobody.
func TestC22AllWeightsZero(t *testing.T) {
	a := echo(t, "a")
	drained := prefixRule("/drain", lbmodel.Backend{Pool: "a"}, lbmodel.Backend{Pool: "a"})
	p := newPlane(t, Config{}, gatewayOf("edge", []lbmodel.Listener{httpListener(80, drained, prefixRule("/one", lbmodel.Backend{Pool: "a"}), prefixRule("/", to("a")))},
		poolOf("a", lbmodel.PoolHTTP1, a.addr())))
	client := p.client(80, nil)
	for path, want := range map[string]int{"/drain": 500, "/one": 500, "/ok": 200} {
		if res, _ := answerOf(t, client, get(t, "http://any.test"+path)); res.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, res.StatusCode, want)
		}
	}
	if n := a.requests.Load(); n != 1 {
		t.Errorf("the backend got %d requests, want only /ok's", n)
	}
}
