package translate

import (
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
)

// TestStranger: a certificate of the Gateway's own is told when no proxy of the mesh
// can verify it.
func TestStranger(t *testing.T) {
	text := strings.Replace(readFile(t, "mesh-istio-strict", "in.yaml"), "spec: {gatewayClassName: offcluster,", "spec: {gatewayClassName: offcluster, tls: {backend: {clientCertificateRef: {name: own}}},", 1)
	for _, c := range []struct {
		name, why, text, authority string
		told                       bool
	}{
		{"another's", "it leads to no root of the mesh", text, "ff", true},
		{"the mesh's", "", text, rootsIn(t, "ca1.pem")[0].KeyID, false},
		{"nobody knows", "a certificate that does not name its issuer's key", text, "", false},
		{"no roots are known", "there is nothing to compare with", strings.Replace(readFile(t, "mesh-roots-unreadable", "in.yaml"), "spec: {gatewayClassName: offcluster,", "spec: {gatewayClassName: offcluster, tls: {backend: {clientCertificateRef: {name: own}}},", 1), "ff", false},
		{"the mesh issues it", "the Secret is nobody's", readFile(t, "mesh-istio-strict", "in.yaml"), "ff", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			leaf := &lbmodel.Leaf{SHA256: "own", Issuer: "CN=other", Authority: c.authority}
			x, _ := indexOf(t, c.text).With(Change{Put: []any{&Secret{Namespace: "apps", Name: "own", Leaf: leaf}}})
			results, key := translateAll(t, x), Key{KindGateway, "apps", "edge"}
			got := results[key].Meshes[0].Stranger
			if (got != "") != c.told || c.told && !strings.Contains(got, `Secret/apps/own, which spec.tls.backend.clientCertificateRef names, is issued by "CN=other" and leads to none of the 1 roots`) {
				t.Errorf("told is %q: %s", got, c.why)
			}
			v := (&statusWriter{x: x, results: results, outcomes: map[Key]Outcome{key: {}}, now: now()}).view(key, results[key])
			if member, _ := v.meshMember(verdict{}); c.told && (member.reason != reasonJoined || !strings.HasSuffix(member.message, "; "+got)) {
				t.Errorf("MeshMember says %s: %s", member.reason, member.message)
			}
		})
	}
}
