package cases

import (
	"slices"
	"testing"

	"gatehouse.dev/lbmodel"
)

// TestC02 matches prefixes by path element. Implementations that compile a prefix
// to "starts with", or ask rules in the order of the list, send /svc-side or
// /svc/items elsewhere.
func TestC02(t *testing.T) {
	rules := []string{
		`  - {matches: [{path: {type: PathPrefix, value: /svc}}], backendRefs: [{name: a, port: 80}]}`,
		`  - {matches: [{path: {type: PathPrefix, value: /svc-side}}], backendRefs: [{name: b, port: 80}]}`,
		`  - {matches: [{path: {type: PathPrefix, value: /svc/items/}}], backendRefs: [{name: c, port: 80}]}`,
	}
	route := func() string { return routeYAML("r", "  rules:\n"+rules[0]+"\n"+rules[1]+"\n"+rules[2]) }
	want := answers{
		"http://x.test/svc": "a", "http://x.test/svc/": "a",
		"http://x.test/svc-side": "b", "http://x.test/svc-side/q": "b",
		"http://x.test/svcx":      "404",
		"http://x.test/svc/items": "c", "http://x.test/svc/items/1": "c", "http://x.test/svc/items:publish": "a",
	}
	h := begin(t, route())
	h.apply()
	want.check(h)
	for _, r := range h.gateway("edge").Listeners[0].Rules {
		if p := r.Match.Path; p.Kind != lbmodel.MatchPrefix || !slices.Contains([]string{"/svc", "/svc-side", "/svc/items"}, p.Value) {
			t.Errorf("the model has a path %+v, want prefixes without a trailing slash or a star", p)
		}
	}
	slices.Reverse(rules)
	h.put(route())
	h.nothingToDo("the order of the list means nothing")
	want.check(h)
}

// TestC05 counts only the first of header matches with one name. Counting the
// others too makes a rule that nothing can match, or moves it up in the order of
// rules. Names of queries have case, so two equal ones are refused already by the
// API's schema, here as in a cluster; the route that has them is not served.
func TestC05(t *testing.T) {
	h := begin(t, routeYAML("r", `
  rules:
  - matches:
    - headers: [{name: X-Ver, value: "2"}, {name: x-ver, value: "3"}]
      queryParams: [{name: k, value: v1}, {name: K, value: v2}]
    backendRefs: [{name: a, port: 80}]
  - matches:
    - headers: [{name: x-stage, value: beta}]
    backendRefs: [{name: b, port: 80}]
`), routeYAML("twice", `
  hostnames: [twice.test]
  rules:
  - matches: [{queryParams: [{name: k, value: v1}, {name: k, value: v2}]}]
    backendRefs: [{name: c, port: 80}]
`))
	h.refused = "is there twice"
	h.apply()
	for _, c := range []struct{ name, url, header, want string }{
		{"header names have no case", "http://x.test/?k=v1&K=v2", "x-VER: 2", "a"},
		{"the second header entry counts for nothing", "http://x.test/?k=v1&K=v2", "x-ver: 3", "404"},
		{"query names have case", "http://x.test/?k=v1&k=v2", "x-ver: 2", "404"},
		{"query values have case", "http://x.test/?k=V1&K=v2", "x-ver: 2", "404"},
		{"header values have case", "http://x.test/", "x-stage: Beta", "404"},
		{"as written", "http://x.test/", "X-Stage: beta", "b"},
		{"what is refused is not served", "http://twice.test/?k=v1", "x-ver: 2", "404"},
	} {
		if got := h.get(c.url, c.header); got.String() != c.want {
			t.Errorf("%s: %s with %s is answered by %s, want %s", c.name, c.url, c.header, got, c.want)
		}
	}
	var counts []int
	for _, r := range h.gateway("edge").Listeners[0].Rules {
		counts = append(counts, len(r.Match.Headers), len(r.Match.Query))
	}
	if want := []int{1, 2, 1, 0}; !slices.Equal(counts, want) {
		t.Errorf("the rules match headers and queries %v, want %v", counts, want)
	}
}

// TestC10 reads Host as HTTP has it: the port is not part of the name, case and
// the trailing dot do not matter, and what the backend gets is what the client
// said. An IPv6 literal has colons of its own.
func TestC10(t *testing.T) {
	h := begin(t, gatewayYAML("edge", `{name: http, port: 8080, protocol: HTTP}`), routeYAML("r", `
  hostnames: [shop.test]
  rules:
  - backendRefs: [{name: a, port: 80}]
`))
	h.apply()
	for host, want := range map[string]string{
		"shop.test:8080": "a", "SHOP.test": "a", "shop.test.": "a", "shop.test:99": "a",
		"[2001:db8::1]:8080": "404", "[2001:db8::1]": "404", "shop.test.evil.test": "404",
	} {
		got := h.raw(8080, "/", host)
		if got.String() != want {
			t.Errorf("Host %s is answered by %s, want %s", host, got, want)
		}
		if want == "a" && got.Host != host {
			t.Errorf("Host %s arrives as %s", host, got.Host)
		}
	}
}
