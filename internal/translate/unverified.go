package translate

import (
	"fmt"
	"slices"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
)

const reasonUnverified = "Unverified"

// attainable is the TLS of a hop as the class's provider can have it: one that verifies
// no backend at all encrypts without, where the operator has named just that as what will
// do, in the class's parameters: who owns the backend asked for more, and no Gateway's
// author may give that up. The policy is told so. Everywhere else what cannot be had is
// refused, and a mesh's hop is judged by what the mesh needs.
func (t *translation) attainable(tls *lbmodel.BackendTLS) *lbmodel.BackendTLS {
	verifies := t.class.offers(lbmodel.FeatureBackendTLSTrust) || t.class.offers(lbmodel.FeatureBackendTLSSystem)
	willDo := t.floor() == lbmodel.TLSUnverified && t.class.params.MinimumBackendTLS == v1alpha1.TLSUnverified
	if tls.Level() == lbmodel.TLSUnverified || !willDo || verifies ||
		!t.class.offers(lbmodel.FeatureBackendTLSUnverified) || tls.Source.Kind == KindMeshBinding {
		return tls
	}
	detail := fmt.Sprintf("provider %s verifies no backend's certificate and presents none: the hop is encrypted and not verified, which minimumBackendTLS: %s allows", t.class.provider, lbmodel.TLSUnverified)
	f := lbmodel.Finding{About: tls.Source, Parent: t.key.source(""), Condition: CondBackendTLS, Reason: reasonUnverified, Detail: detail, Code: lbmodel.CodeUnsupported}
	if !slices.Contains(t.findings, f) {
		t.find(f)
	}
	return &lbmodel.BackendTLS{Source: tls.Source}
}
