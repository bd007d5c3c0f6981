package translate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestMeshIdentity: who a gateway is towards the pods of a mesh.
func TestMeshIdentity(t *testing.T) {
	istioCase, linkerdCase := readFile(t, "mesh-istio-strict", "in.yaml"), readFile(t, "mesh-linkerd-accounts", "in.yaml")
	own := func(text string) string {
		return strings.Replace(text, "spec: {gatewayClassName: offcluster,", "spec: {gatewayClassName: offcluster, tls: {backend: {clientCertificateRef: {name: own}}},", 1)
	}
	with := func(text, extra string) string {
		return strings.Replace(text, "spec: {controllerName", "spec: {"+extra+", controllerName", 1)
	}
	const rsa = "---\nkind: Secret\nmetadata: {name: own, namespace: apps}\nkeyType: RSA\n"
	const secret = "---\nkind: Secret\nmetadata: {name: own, namespace: apps}\n"
	cases := []struct {
		name, why, text string
		want            string
	}{
		{"the mesh's", "", istioCase, "MeshBinding/istio: MeshBinding/istio 0s; ClientAndServer"},
		{"for so long", "", with(istioCase, "identity: {duration: 168h}"), "MeshBinding/istio: MeshBinding/istio 168h0m0s; ClientAndServer"},
		{"the Gateway's own", "clientCertificateRef comes before the issuer", own(istioCase) + secret, "apps/own: Secret 0s; ClientAndServer"},
		{"the Gateway's own is gone", "it does not turn into somebody else", own(istioCase), "Blocked ClientCertificateUnsupported"},
		{"the Gateway's own, RSA", "Linkerd verifies only ECDSA", own(linkerdCase) + rsa, "Blocked ClientCertificateUnsupported"},
		{"the Gateway's own, RSA, elsewhere", "Istio verifies both", own(istioCase) + rsa, "apps/own: Secret 0s; ClientAndServer"},
		{"nobody", "sidecars under STRICT ask for a certificate", with(istioCase, "identity: {issuer: None}, minimumTLS: ServerOnly"), "Blocked ClientCertificateUnsupported"},
		{"nobody, and any client is let in", "Linkerd asks for none, and the minimum allows it", with(linkerdCase, "identity: {issuer: None}, minimumTLS: ServerOnly"), "none; ServerOnly"},
		{"nobody below the minimum", "the minimum is ClientAndServer unless somebody says otherwise", with(linkerdCase, "identity: {issuer: None}"), "Blocked BelowMinimum"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := indexOf(t, c.text)
			r := translateAll(t, x)[Key{KindGateway, "apps", "edge"}]
			want(t, c.why, identityText(&r), c.want)
		})
	}
}

func identityText(r *Result) string {
	if v := r.Meshes[0].Groups[0].Verdict; v.Reason != "" {
		return fmt.Sprintf("%s %s", v.Path, v.Reason)
	}
	p := r.Gateway.Pools[0]
	for _, id := range r.Gateway.Identities {
		if id.Name == p.TLS.Identity {
			return fmt.Sprintf("%s: %s %s; %s", id.Name, id.Issuer, id.Renew.Lifetime, p.TLS.Level())
		}
	}
	return fmt.Sprintf("none; %s", p.TLS.Level())
}

// TestMeshRoots: where a binding's roots come from, and what counts as not known.
func TestMeshRoots(t *testing.T) {
	text := readFile(t, "mesh-istio-strict", "in.yaml")
	bundles := func(list string) string {
		return strings.Replace(text, "spec: {controllerName", "spec: {trustBundles: ["+list+"], controllerName", 1)
	}
	const bundle = `
---
kind: ClusterTrustBundle
metadata: {name: "istio.io:istiod-ca:root-cert"}
spec: {signerName: istio.io/istiod-ca, trustBundle: "@ca2"}
---
kind: ConfigMap
metadata: {name: both, namespace: trust}
data: {ca.crt: "@ca1", old.pem: "@ca2", junk: "x"}
`
	cases := []struct {
		name, why, text string
		want            string
	}{
		{"the mesh's own place", "", text, "CN=test ca1"},
		{"both of its places", "istiod leaves the ConfigMap when it publishes a bundle", text + bundle, "CN=test ca1 CN=test ca2"},
		{"named", "then nothing else counts", bundles(`{kind: ClusterTrustBundle, name: "istio.io:istiod-ca:root-cert"}`) + bundle, "CN=test ca2"},
		{"two keys of one ConfigMap", "a key that is not said is ca.crt", bundles("{kind: ConfigMap, namespace: trust, name: both}, {kind: ConfigMap, namespace: trust, name: both, key: old.pem}") + bundle, "CN=test ca1 CN=test ca2"},
		{"one of two is gone", "a root that only it had must not go", bundles("{kind: ConfigMap, namespace: trust, name: both}, {kind: ConfigMap, namespace: trust, name: gone}") + bundle, "unknown: ConfigMap trust/gone does not exist"},
		{"no key", "", bundles("{kind: ConfigMap, namespace: trust, name: both, key: new.pem}") + bundle, "unknown: ConfigMap trust/both has no key new.pem"},
		{"a Secret", "roots are public", bundles("{kind: Secret, namespace: trust, name: both}") + bundle, "unknown: Secret trust/both holds no roots; ConfigMap and ClusterTrustBundle do"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := indexOf(t, c.text)
			trust := translateAll(t, x)[Key{KindGateway, "apps", "edge"}].Meshes[0]
			var got []string
			for _, r := range trust.Trust.Roots {
				got = append(got, r.Subject)
			}
			slices.Sort(got)
			if trust.Trust.Unknown {
				got = append(got, "unknown: "+strings.Join(trust.Problems, "; "))
			}
			want(t, c.why, strings.Join(got, " "), c.want)
		})
	}
}
