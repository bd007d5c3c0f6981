package cases

import (
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
)

// routeToSafe is the route of the policy cases.
var routeToSafe = routeYAML("r", "  rules: [{backendRefs: [{name: safe, port: 80}]}]")

// refuses wants the Service's traffic to get a 5xx, and the backend to see nothing
// of it: neither in clear nor after a handshake that should have failed.
func (h *harness) refuses(b *tlsBackend, why string) {
	h.Helper()
	before := b.requests.Load()
	if got := h.get("http://x.test/"); got.Status < 500 {
		h.Errorf("%s: answered %s, want a 5xx", why, got)
	}
	if b.plain.Load() > 0 {
		h.Fatalf("%s: the backend was asked in plain text", why)
	}
	if n := b.requests.Load() - before; n > 0 {
		h.Errorf("%s: the backend was asked", why)
	}
}

// TestC35 fails closed. A policy says that a backend is to be verified; when what
// to verify it by is missing, wrong or changed, the traffic stops, and it never
// goes on without.
func TestC35(t *testing.T) {
	h := begin(t, policyYAML("safe", "ConfigMap", "ca"), routeToSafe)
	right, other := newAuthority(t, "right"), newAuthority(t, "other")
	b := h.tlsBackend("safe", right.issue(t, "safe.internal.test"))
	bad := func(why string, words ...string) {
		t.Helper()
		h.apply()
		h.expect("BackendTLSPolicy", "safe", "edge", "ResolvedRefs", "False/InvalidCACertificateRef", words...)
		h.expect("BackendTLSPolicy", "safe", "edge", "Accepted", "False/NoValidCACertificate")
		h.refuses(b, why)
	}
	good := func(why string) {
		t.Helper()
		h.apply()
		h.expect("BackendTLSPolicy", "safe", "edge", "ResolvedRefs", "True/ResolvedRefs")
		h.expect("BackendTLSPolicy", "safe", "edge", "Accepted", "True/Accepted")
		if got := h.get("http://x.test/"); got.String() != "safe" {
			t.Errorf("%s: answered %s, want safe", why, got)
		}
	}
	bad("the ConfigMap is absent", "apps/ca", "does not exist")
	h.put(h.configMap("ca", "root.pem", right.pem()))
	bad("it has another key", "ca.crt")
	h.put(h.configMap("ca", "ca.crt", "-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n"))
	bad("it is garbage", "offset 0")
	h.put(h.configMap("ca", "ca.crt", right.pem()))
	good("the CA is there")

	h.put(h.configMap("ca", "ca.crt", other.pem()))
	h.apply()
	h.refuses(b, "another CA")
	h.put(h.configMap("ca", "ca.crt", right.pem()))
	good("rolled back")

	h.remove("ConfigMap", "ca")
	bad("the ConfigMap is gone", "does not exist")
	h.put(strings.ReplaceAll(policyYAML("safe", "ConfigMap", "ca"), "kind: ConfigMap", "kind: Secret"))
	h.apply()
	h.expect("BackendTLSPolicy", "safe", "edge", "ResolvedRefs", "False/InvalidKind", "Secret")
	h.refuses(b, "a kind that holds no CA")
}

// TestC35Order gives the same result whichever comes first: the policy, or what it
// is about. A controller that looks at a policy only when a route changes leaves
// the backend in plain text until then.
func TestC35Order(t *testing.T) {
	ca := newAuthority(t, "ca")
	show := ca.issue(t, "safe.internal.test")
	for _, order := range []string{"policy, route", "route, policy"} {
		t.Run(order, func(t *testing.T) {
			h := begin(t)
			docs := map[string]string{"policy": policyYAML("safe", "ConfigMap", "ca") + "---\n" + h.configMap("ca", "ca.crt", ca.pem()), "route": routeToSafe}
			h.apply()
			var b *tlsBackend
			for kind := range strings.SplitSeq(order, ", ") {
				if kind == "route" {
					b = h.tlsBackend("safe", show)
				}
				h.put(docs[kind])
				h.apply()
			}
			if got := h.get("http://x.test/"); got.String() != "safe" || b.plain.Load() > 0 {
				t.Errorf("answered %s, and %d connections in plain text", got, b.plain.Load())
			}
			h.expect("BackendTLSPolicy", "safe", "edge", "Accepted", "True/Accepted")
			if tls := h.gateway("edge").Pools[0].TLS; tls.Level() != lbmodel.TLSServerOnly || tls.SNI != "safe.internal.test" {
				t.Errorf("the model has %+v", tls)
			}
		})
	}
}
