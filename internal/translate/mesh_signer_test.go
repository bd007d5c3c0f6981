package translate

import (
	"testing"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/istio"
	"gatehouse.dev/meshsync/spiffe"
)

// TestSignerOf: what makes no difference to who signs is no reason for another
// certificate.
func TestSignerOf(t *testing.T) {
	type identity = v1alpha1.MeshIdentity
	for _, c := range []struct {
		name, why string
		dialect   meshsync.Dialect
		spec      identity
		want      string
	}{
		{"nothing said", "the mesh's own", istio.Dialect{}, identity{}, ""},
		{"the default said", "the same", istio.Dialect{}, identity{Issuer: v1alpha1.IssuerMesh, ServerName: "x", TokenSecret: "y"}, ""},
		{"elsewhere", "istio-csr is another CA than istiod", istio.Dialect{}, identity{Address: "istio-csr:443"}, "istio-csr:443"},
		{"the agent of a mesh of agents", "Mesh is the agent there", spiffe.Dialect{}, identity{Issuer: v1alpha1.IssuerWorkloadAPI, Socket: "unix:///s"}, ""},
		{"an agent beside the mesh's CA", "it has a CA of its own", istio.Dialect{}, identity{Issuer: v1alpha1.IssuerWorkloadAPI}, "WorkloadAPI"},
		{"a signer", "named by it", istio.Dialect{}, identity{Issuer: v1alpha1.IssuerCSR, SignerName: "a.b/c"}, "CertificateSigningRequest a.b/c"},
		{"cert-manager by the defaults", "files are not defaulted", istio.Dialect{}, identity{Issuer: v1alpha1.IssuerCertManager, IssuerRef: &v1alpha1.IssuerReference{Name: "m"}}, "CertManager cert-manager.io ClusterIssuer m"},
		{"cert-manager in full", "the same as by the defaults", istio.Dialect{}, identity{Issuer: v1alpha1.IssuerCertManager, IssuerRef: &v1alpha1.IssuerReference{Group: "cert-manager.io", Kind: "ClusterIssuer", Name: "m"}}, "CertManager cert-manager.io ClusterIssuer m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &v1alpha1.MeshBinding{}
			b.Spec.Identity = c.spec
			if got := signerOf(b, c.dialect); got != c.want {
				t.Errorf("%q, want %q: %s", got, c.want, c.why)
			}
		})
	}
}
