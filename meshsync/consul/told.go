package consul

import "gatehouse.dev/meshsync"

var _ meshsync.Told = Dialect{}

// MeshIn implements meshsync.Told.
func (d Dialect) MeshIn(w meshsync.World, trustDomain string) meshsync.Mesh {
	d.TrustDomain = or(d.TrustDomain, trustDomain)
	return d.Mesh(w)
}
