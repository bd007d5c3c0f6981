package translate

import (
	"cmp"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/meshsync"
)

// signerOf says who signs for a binding's gateways, for comparing: a certificate that
// somebody else signed is not kept. "" is the mesh's own CA, or agent, where it usually
// is. How that is reached otherwise says nothing of who it is.
func signerOf(b *v1alpha1.MeshBinding, d meshsync.Dialect) string {
	spec := &b.Spec.Identity
	switch how := cmp.Or(spec.Issuer, v1alpha1.IssuerMesh); {
	case how == v1alpha1.IssuerMesh, how == v1alpha1.IssuerWorkloadAPI && meshsync.ByAgent(d):
		return string(spec.Address)
	case how == v1alpha1.IssuerCSR:
		return string(how) + " " + spec.SignerName
	case how == v1alpha1.IssuerCertManager && spec.IssuerRef != nil:
		r := spec.IssuerRef
		return string(how) + " " + cmp.Or(r.Group, "cert-manager.io") + " " + cmp.Or(r.Kind, "ClusterIssuer") + " " + r.Name
	default:
		return string(how)
	}
}
