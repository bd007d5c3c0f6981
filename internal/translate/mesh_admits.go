package translate

import (
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// admitted are the roots under which a mesh takes gateways, where it keeps those apart.
// A place that cannot be read admits nobody.
func (x *Index) admitted(mesh meshsync.Mesh) []lbmodel.Root {
	var out []lbmodel.Root
	for _, at := range mesh.Admits {
		roots, _ := x.rootsAt(at)
		out = append(out, roots...)
	}
	return uniqueRoots(out)
}

// signers are the roots that a gateway's own certificate may lead to.
func (t boundTrust) signers() []lbmodel.Root {
	if len(t.admits) > 0 {
		return t.admits
	}
	return t.trust.Roots
}
