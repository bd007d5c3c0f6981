package cases

import (
	"encoding/json"
	"strings"
	"testing"
)

// modelText is a gateway's model as JSON, to look for what must not be in it.
func (h *harness) modelText(gateway string) string {
	h.Helper()
	text, err := json.Marshal(h.gateway(gateway))
	if err != nil {
		h.Fatal(err)
	}
	return string(text)
}

// TestC08 serves a route on the names that it and a listener have in common, and
// nowhere else.
func TestC08(t *testing.T) {
	listeners := []string{
		`{name: apex, port: 80, protocol: HTTP, hostname: dev.shop.test}`,
		`{name: wild, port: 80, protocol: HTTP, hostname: "*.dev.shop.test"}`,
	}
	t.Run("names and no names", func(t *testing.T) {
		h := begin(t, gatewayYAML("edge", listeners...), routeYAML("r1", `
  hostnames: [dev.shop.test, p.dev.shop.test, evil.test]
  rules: [{matches: [{path: {value: /r1}}], backendRefs: [{name: a, port: 80}]}]`), routeYAML("r2", `
  rules: [{matches: [{path: {value: /any}}], backendRefs: [{name: b, port: 80}]}]`), routeYAML("r3", `
  hostnames: [other.test]
  rules: [{backendRefs: [{name: c, port: 80}]}]`))
		h.apply()
		answers{
			"http://dev.shop.test/r1": "a", "http://p.dev.shop.test/r1": "a", "http://evil.test/r1": "404", "http://q.dev.shop.test/r1": "404",
			"http://dev.shop.test/any": "b", "http://q.dev.shop.test/any": "b", "http://evil.test/any": "404",
			"http://other.test/": "404", "http://dev.shop.test/": "404",
		}.check(h)
		h.expect("HTTPRoute", "r1", "edge", "Accepted", "True/Accepted")
		h.expect("HTTPRoute", "r2", "edge", "Accepted", "True/Accepted")
		h.expect("HTTPRoute", "r3", "edge", "Accepted", "False/NoMatchingListenerHostname")
		h.attached("edge", "apex", 2)
		h.attached("edge", "wild", 2)
		for _, host := range []string{"evil.test", "other.test"} {
			if strings.Contains(h.modelText("edge"), host) {
				t.Errorf("%s is in the model, and no listener has it", host)
			}
		}
	})
	t.Run("two wildcards", func(t *testing.T) {
		h := begin(t, gatewayYAML("edge", listeners...), routeYAML("r4", `
  hostnames: ["*.test"]
  rules: [{backendRefs: [{name: c, port: 80}]}]`))
		h.apply()
		answers{"http://q.dev.shop.test/": "c", "http://q.shop.test/": "404", "http://dev.shop.test/": "c"}.check(h)
		if strings.Contains(h.modelText("edge"), `"*.test"`) {
			t.Error("*.test is in the model: it is wider than any listener")
		}
	})
}

// TestC11 costs the listeners that conflict their own service and nobody else's.
// Picking a winner would serve half of what somebody wrote by mistake.
func TestC11(t *testing.T) {
	h := begin(t, gatewayYAML("edge",
		`{name: ok, port: 80, protocol: HTTP}`,
		`{name: bad1, port: 443, protocol: HTTP}`,
		`{name: bad2, port: 443, protocol: TCP}`,
		`{name: dns, port: 53, protocol: UDP}`,
		`{name: dnst, port: 53, protocol: TCP}`,
	), routeYAML("r", `
  rules: [{backendRefs: [{name: a, port: 80}]}]`))
	h.apply()
	answers{"http://x.test/": "a"}.check(h)
	for _, l := range []string{"bad1", "bad2"} {
		h.expect("Gateway", "edge", l, "Conflicted", "True/ProtocolConflict")
		h.expect("Gateway", "edge", l, "Accepted", "False/ProtocolConflict")
		h.expect("Gateway", "edge", l, "Programmed", "False/ProtocolConflict")
	}
	for _, l := range []string{"ok", "dns", "dnst"} {
		h.expect("Gateway", "edge", l, "Conflicted", "False/NoConflicts")
		h.expect("Gateway", "edge", l, "Accepted", "True/Accepted")
		h.expect("Gateway", "edge", l, "Programmed", "True/Programmed")
	}
	h.expect("Gateway", "edge", whole, "Accepted", "True/ListenersNotValid", "bad1", "bad2")
	for _, l := range h.gateway("edge").Listeners {
		if l.Port == 443 {
			t.Errorf("listener %s is in the model on port 443", l.Name)
		}
	}
	h.unserved("edge", 443)
}
