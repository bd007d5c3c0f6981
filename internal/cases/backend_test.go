package cases

import (
	"fmt"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
)

// tally counts who answers n requests.
func (h *harness) tally(n int, url string) map[string]int {
	h.Helper()
	counts := map[string]int{}
	for range n {
		counts[h.get(url).String()]++
	}
	return counts
}

// TestC21 keeps a bad backend's share bad. Dropping it would hide the mistake and
// hand its share to the others; refusing the route would take the good share down.
func TestC21(t *testing.T) {
	h := begin(t, routeYAML("r", `
  rules:
  - backendRefs: [{name: a, port: 80, weight: 90}, {name: ghost, port: 80, weight: 10}]
  - matches: [{path: {value: /p}}]
    backendRefs: [{name: a, port: 81}]
  - matches: [{path: {value: /e}}]
    backendRefs: [{name: empty, port: 80}]
  - matches: [{path: {value: /z}}]
    backendRefs: [{name: a, port: 80, weight: 1}, {name: never, port: 80, weight: 0}]
`), serviceYAML("empty", ""), strings.ReplaceAll(sliceYAML("empty", "192.0.2.7"), "ready: true", "ready: false"))
	h.apply()
	got := h.tally(500, "http://x.test/")
	if bad := got["500"]; bad < 25 || bad > 75 || got["a"] != 500-bad {
		t.Errorf("500 requests are answered %v, want 5 to 15 %% by 500 and the rest by a", got)
	}
	answers{"http://x.test/p": "500", "http://x.test/e": "503"}.check(h)
	if got := h.tally(20, "http://x.test/z"); got["a"] != 20 {
		t.Errorf("a bad reference of weight 0 costs traffic: %v", got)
	}
	h.expect("HTTPRoute", "r", "edge", "Accepted", "True/Accepted")
	h.expect("HTTPRoute", "r", "edge", "ResolvedRefs", "False/BackendNotFound", "ghost", "rules[1]", "81", "never")

	h.backend("ghost")
	h.put(sliceYAML("empty", h.b.host()))
	h.apply()
	if got = h.tally(100, "http://x.test/"); got["a"]+got["ghost"] != 100 || got["ghost"] == 0 {
		t.Errorf("with ghost there, 100 requests are answered %v", got)
	}
	answers{"http://x.test/e": "b", "http://x.test/p": "500"}.check(h)
}

// TestC22 takes a rule whose weights are all zero as what it says: it is there,
// and nobody serves it. Providers refuse a forward whose weights add up to nothing,
// and with it, if nobody takes care, the whole listener.
func TestC22(t *testing.T) {
	h := begin(t, routeYAML("r", `
  rules:
  - {matches: [{path: {value: /drain}}], backendRefs: [{name: a, port: 80, weight: 0}, {name: b, port: 80, weight: 0}]}
  - {matches: [{path: {value: /alone}}], backendRefs: [{name: a, port: 80, weight: 0}]}
  - {matches: [{path: {value: /none}}], backendRefs: []}
  - {matches: [{path: {value: /ok}}], backendRefs: [{name: a, port: 80}]}
  - {backendRefs: [{name: c, port: 80}]}
`))
	h.apply()
	if !h.last.Settled {
		t.Errorf("the cloud refuses it: %v", h.last.Failed)
	}
	answers{"http://x.test/drain": "500", "http://x.test/alone": "500", "http://x.test/none": "500", "http://x.test/ok": "a", "http://x.test/": "c"}.check(h)
	if n := h.a.requests.Load(); n != 1 || h.b.requests.Load() != 0 {
		t.Errorf("a got %d requests and b %d, want 1 and none", n, h.b.requests.Load())
	}
	h.expect("Gateway", "edge", "http", "Programmed", "True/Programmed")
}

// TestC24 lets a broken rule cost itself. It keeps its place, so that a request
// for it does not slide into a rule that was never meant for it.
func TestC24(t *testing.T) {
	docs := []string{routeYAML("a-bad", `
  hostnames: [bad.test]
  rules:
  - {matches: [{path: {value: /critical}}], backendRefs: [{name: gone, port: 80}]}
  - {matches: [{path: {value: /second}}], backendRefs: [{name: b, port: 80}]}
`), routeYAML("catch", `
  hostnames: [bad.test]
  rules: [{backendRefs: [{name: c, port: 80}]}]`)}
	for i := range 5 {
		docs = append(docs, routeYAML(fmt.Sprint("good-", i), fmt.Sprintf(`
  hostnames: [good%d.test]
  rules: [{backendRefs: [{name: a, port: 80}]}]`, i)))
	}
	docs[0] = strings.Replace(docs[0], "namespace: apps}", `namespace: apps, creationTimestamp: "2020-01-01T00:00:00Z"}`, 1)
	h := begin(t, docs...)
	h.apply()
	answers{"http://bad.test/critical": "500", "http://bad.test/critical/x": "500", "http://bad.test/second": "b", "http://bad.test/": "c"}.check(h)
	for i := range 5 {
		answers{fmt.Sprintf("http://good%d.test/", i): "a"}.check(h)
		h.expect("HTTPRoute", fmt.Sprint("good-", i), "edge", "ResolvedRefs", "True/ResolvedRefs")
	}
	h.expect("HTTPRoute", "a-bad", "edge", "ResolvedRefs", "False/BackendNotFound", "gone", "rules[0]")
	h.expect("Gateway", "edge", "http", "Programmed", "True/Programmed")
	h.expect("Gateway", "edge", whole, "Programmed", "True/Programmed")
	h.attached("edge", "http", 7)
	if got := h.stack.Local.Cloud.Calls()["CreateRule"]; got != 8 {
		t.Errorf("%d rules were made, want all 8", got)
	}
}

// TestC73ExternalName refuses ExternalName Services, whatever name is behind them:
// they let a route's author reach what only the gateway can reach. The refusal
// never names what the name leads to.
func TestC73ExternalName(t *testing.T) {
	names := []string{"localhost", "127.0.0.1", "2130706433", "[::1]", "0.0.0.0", "169.254.169.254", "metadata.google.internal",
		"x.vault.svc", "x.vault.svc.cluster.local.", "LOCALHOST", "foo.localhost", "127.0.0.1.nip.test", "www.shop.test"}
	h := begin(t)
	for i, name := range names {
		h.put(fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: ext-%d, namespace: apps}
spec: {type: ExternalName, externalName: %q, ports: [{port: 80}]}
`, i, name), routeYAML(fmt.Sprint("r", i), fmt.Sprintf(`
  hostnames: [r%d.test]
  rules: [{backendRefs: [{name: ext-%d, port: 80}]}]`, i, i)))
	}
	h.apply()
	for i, name := range names {
		answers{fmt.Sprintf("http://r%d.test/", i): "500"}.check(h)
		h.expect("HTTPRoute", fmt.Sprint("r", i), "edge", "ResolvedRefs", "False/InvalidKind", "ExternalName", "XBackend")
		c, _ := h.condition("HTTPRoute", fmt.Sprint("r", i), "edge", "ResolvedRefs")
		if strings.Contains(c.Message, name) {
			t.Errorf("the refusal of %s repeats it: %s", name, c.Message)
		}
	}
	if pools := h.gateway("edge").Pools; len(pools) > 0 {
		t.Errorf("pools are in the model: %v", lbmodel.Gateway{Pools: pools})
	}
}
