package spiffe

import "gatehouse.dev/meshsync"

var (
	_ meshsync.Told    = Dialect{}
	_ meshsync.Agented = Dialect{}
)

// ByAgent implements meshsync.Agented.
func (Dialect) ByAgent() {}

// MeshIn implements meshsync.Told: what the server's ConfigMap says comes first.
func (d Dialect) MeshIn(w meshsync.World, trustDomain string) meshsync.Mesh {
	m := d.Mesh(w)
	if m.TrustDomain != "" {
		return m
	}
	d.TrustDomain = trustDomain
	return d.Mesh(w)
}
