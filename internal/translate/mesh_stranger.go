package translate

import (
	"fmt"
	"slices"

	"gatehouse.dev/lbmodel"
)

// stranger says that a certificate which the Gateway names itself leads to none of the
// roots by which the mesh's proxies verify clients; "" is that it does, or that nobody
// knows. It is told and refuses nothing: proxies may have other roots besides.
func (t *translation) stranger(m *member) string {
	id := t.identities[m.identity]
	known := authorities(m.trust.signers())
	if id.Issuer != lbmodel.IssuerSecret || id.Leaf == nil || id.Leaf.Authority == "" || len(known) == 0 || slices.Contains(known, id.Leaf.Authority) {
		return ""
	}
	return fmt.Sprintf("the certificate of %s, which spec.tls.backend.clientCertificateRef names, is issued by %q and leads to none of the %d roots of the mesh: "+
		"its proxies may not take it; name one of the mesh's, or none, so that the mesh issues it", id.Source.Object(), id.Leaf.Issuer, len(m.trust.signers()))
}
