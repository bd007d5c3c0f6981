package translate

import (
	"slices"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// Bound is what a MeshBinding comes to, whichever gateway it lets in: for those who
// ask its mesh for certificates, and who tell of its roots.
type Bound struct {
	Binding  *v1alpha1.MeshBinding
	Dialect  meshsync.Dialect // nil: nobody here knows the mesh, and the rest is empty
	Mesh     meshsync.Mesh
	Trust    lbmodel.Trust
	Problems []string // why the roots cannot be read
	// Admits are the roots under which the mesh takes gateways, where those are others
	// than Trust's; none: they are the same.
	Admits []lbmodel.Root
}

// Bound finds a MeshBinding by its name.
func (x *Index) Bound(name string) (Bound, bool) {
	b, ok := lookup[*v1alpha1.MeshBinding](x, KindMeshBinding, "", name)
	if !ok {
		return Bound{}, false
	}
	m := x.member(b)
	return Bound{Binding: b, Dialect: m.dialect, Mesh: m.mesh, Trust: m.trust.trust, Problems: m.trust.problems, Admits: m.trust.admits}, true
}

// Outside are the places of its roots that are no objects: somebody must fetch them
// and put a Bundle for each into the Snapshot.
func (b Bound) Outside() []meshsync.RootsAt {
	return slices.DeleteFunc(slices.Clone(rootSources(b.Binding, b.Mesh)), func(at meshsync.RootsAt) bool { return !at.Outside() })
}

// Bounds are all of them, by name.
func (x *Index) Bounds() []Bound {
	var out []Bound
	for _, b := range x.bindings() {
		if bound, ok := x.Bound(b.Name); ok {
			out = append(out, bound)
		}
	}
	return out
}
