package cases

import (
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
)

const grantYAML = `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: g, namespace: vault}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: apps}, {group: gateway.networking.k8s.io, kind: Gateway, namespace: apps}]
  to: [{group: "", kind: Service}, {group: "", kind: Secret, name: crt}]
`

// TestC31 takes a permission back. What was granted once must not stay served
// because nobody looked again: neither the traffic nor, worse, the certificate.
func TestC31(t *testing.T) {
	ca := newAuthority(t, "public")
	crt := ca.issue(t, "shop.test")
	h := begin(t, gatewayYAML("edge", `{name: http, port: 80, protocol: HTTP}`,
		`{name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: crt, namespace: vault}]}}`),
		routeYAML("r", "  rules: [{backendRefs: [{name: s, namespace: vault, port: 80}]}]"),
		secretYAML("vault", "crt", crt), grantYAML)
	inVault := strings.NewReplacer("namespace: apps", "namespace: vault", "name: b", "name: s")
	h.put(inVault.Replace(serviceYAML("b", "")), strings.ReplaceAll(inVault.Replace(sliceYAML("b", h.b.host())), "name: b", "name: s"))

	granted := func() {
		t.Helper()
		h.expect("HTTPRoute", "r", "edge", "ResolvedRefs", "True/ResolvedRefs")
		h.expect("Gateway", "edge", "https", "ResolvedRefs", "True/ResolvedRefs")
		answers{"http://x.test/": "b", "https://shop.test/": "b"}.check(h)
		if h.handshake(443, "shop.test") != crt.fingerprint() {
			t.Error("the certificate is not served")
		}
	}
	h.apply()
	granted()

	h.remove("ReferenceGrant", "vault/g")
	h.mark()
	h.apply()
	h.expect("HTTPRoute", "r", "edge", "ResolvedRefs", "False/RefNotPermitted", "vault")
	h.expect("Gateway", "edge", "https", "ResolvedRefs", "False/RefNotPermitted", "vault")
	h.expect("Gateway", "edge", "https", "Programmed", "False/Invalid")
	answers{"http://x.test/": "500"}.check(h)
	if h.handshake(443, "shop.test") != "" {
		t.Error("a certificate is still served after the grant is gone")
	}
	if !slices.Contains(h.writes(), "DeleteCertificate") {
		t.Errorf("the certificate is still in the cloud; calls: %v", h.writes())
	}

	h.put(grantYAML)
	h.apply()
	granted()
}

// TestC33 lets a missing certificate cost itself. Renewals fail one at a time; a
// listener that goes down with the one that is missing takes good names with it.
func TestC33(t *testing.T) {
	ca := newAuthority(t, "public")
	good, good2, late := ca.issue(t, "a.test"), ca.issue(t, "b.test"), ca.issue(t, "late.test")
	h := begin(t, gatewayYAML("edge",
		`{name: many, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: good}, {name: absent}]}}`,
		`{name: one, port: 443, protocol: HTTPS, hostname: b.test, tls: {certificateRefs: [{name: good2}]}}`),
		secretYAML("apps", "good", good), secretYAML("apps", "good2", good2),
		routeYAML("r", "  rules: [{backendRefs: [{name: a, port: 80}]}]"))
	served := func(name string, want leaf) {
		t.Helper()
		if h.handshake(443, name) != want.fingerprint() {
			t.Errorf("%s is not served with its certificate", name)
		}
		answers{"https://" + name + "/": "a"}.check(h)
	}
	h.apply()
	served("a.test", good)
	served("b.test", good2)
	h.expect("Gateway", "edge", "many", "ResolvedRefs", "False/InvalidCertificateRef", "absent")
	h.expect("Gateway", "edge", "many", "Programmed", "True/Programmed")
	h.expect("Gateway", "edge", "one", "ResolvedRefs", "True/ResolvedRefs")

	h.put(secretYAML("apps", "absent", late))
	h.apply()
	served("late.test", late)
	served("a.test", good)
	h.expect("Gateway", "edge", "many", "ResolvedRefs", "True/ResolvedRefs")

	h.remove("Secret", "absent")
	h.apply()
	served("a.test", good)
	served("b.test", good2)
	if h.handshake(443, "late.test") == late.fingerprint() {
		t.Error("a certificate is served whose Secret is gone")
	}
}

// TestC33Upload fails to upload one certificate of two. The other listener does
// not wait for it, and the next pass mends the rest.
func TestC33Upload(t *testing.T) {
	ca := newAuthority(t, "public")
	good, good2 := ca.issue(t, "a.test"), ca.issue(t, "b.test")
	h := begin(t, gatewayYAML("edge", `{name: http, port: 80, protocol: HTTP}`),
		routeYAML("r", "  rules: [{backendRefs: [{name: a, port: 80}]}]"))
	h.apply()
	h.put(secretYAML("apps", "good", good), secretYAML("apps", "good2", good2), gatewayYAML("edge", `{name: http, port: 80, protocol: HTTP}`,
		`{name: any, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: good}]}}`,
		`{name: one, port: 443, protocol: HTTPS, hostname: b.test, tls: {certificateRefs: [{name: good2}]}}`))
	h.refuse("CreateCertificate", "good2", cloud.AccessDenied)
	h.apply()
	if !h.failedWith(lbmodel.CodeDenied) {
		t.Errorf("the fault was not met: %v", h.last.Failed)
	}
	if h.handshake(443, "a.test") != good.fingerprint() {
		t.Error("a.test is not served because b.test's certificate could not be uploaded")
	}
	answers{"http://x.test/": "a"}.check(h)
	h.expect("Gateway", "edge", "http", "Programmed", "True/Programmed")
	h.expect("Gateway", "edge", "any", "Programmed", "True/Programmed")
	h.expect("Gateway", "edge", "one", "Programmed", "False/Denied", "CreateCertificate")

	h.heal()
	h.apply()
	if h.handshake(443, "b.test") != good2.fingerprint() {
		t.Error("b.test is not served after the cloud works again")
	}
	h.expect("Gateway", "edge", "one", "Programmed", "True/Programmed")
}
