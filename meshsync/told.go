package meshsync

// Told is a Dialect of a mesh whose trust domain may be in no object of the cluster, as
// Consul's, which only its CA knows.
type Told interface {
	// MeshIn is Mesh where somebody has named the trust domain. What the dialect knows by
	// itself comes first.
	MeshIn(w World, trustDomain string) Mesh
}

// MeshOf is what holds for all of a mesh, in a trust domain that somebody named; "" is
// that nobody did.
func MeshOf(d Dialect, w World, trustDomain string) Mesh {
	if told, ok := d.(Told); ok && trustDomain != "" {
		return told.MeshIn(w, trustDomain)
	}
	return d.Mesh(w)
}

// Agented is a Dialect of a mesh that has no CA to be asked: a SPIFFE agent makes the
// keys of its members.
type Agented interface{ ByAgent() }

// ByAgent says whether a dialect's mesh is Agented.
func ByAgent(d Dialect) bool {
	_, is := d.(Agented)
	return is
}
