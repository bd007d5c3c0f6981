package translate

import (
	"cmp"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/api/v1alpha1"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// Held is the certificate that a SPIFFE agent has for an identity now. Whoever follows
// the agent puts one into the Snapshot for each identity. Of a tainted authority an
// agent has none any more, while the bundle has that authority until it is revoked.
type Held struct {
	Socket   string // of the agent, as MeshBinding.spec.identity.socket has it
	SPIFFEID string
	lbmodel.Held
}

// HeldKey is the key of the Held of an identity.
func HeldKey(socket, id string) Key {
	name := id
	if socket != "" {
		name += "/" + shortHash(socket)
	}
	return Key{Kind: KindHeld, Name: name}
}

// Agent is the socket of the SPIFFE agent that has the certificates of a binding's
// gateways, "" being the process' own; ok is false where somebody else signs.
func (b Bound) Agent() (socket string, ok bool) { return agentOf(b.Binding, b.Dialect) }

func agentOf(b *v1alpha1.MeshBinding, d meshsync.Dialect) (socket string, ok bool) {
	switch cmp.Or(b.Spec.Identity.Issuer, v1alpha1.IssuerMesh) {
	case v1alpha1.IssuerWorkloadAPI:
		ok = true
	case v1alpha1.IssuerMesh:
		ok = meshsync.ByAgent(d)
	}
	return b.Spec.Identity.Socket, ok
}

// held is what the agent of a binding has for an identity; nil is that nobody knows, or
// that it is of an authority whose root is not published yet: nobody would take it.
func (x *Index) held(b *v1alpha1.MeshBinding, d meshsync.Dialect, id lbmodel.Identity) *lbmodel.Held {
	socket, is := agentOf(b, d)
	if !is || id.SPIFFEID == "" {
		return nil
	}
	h, ok := lookup[*Held](x, KindHeld, "", HeldKey(socket, id.SPIFFEID).Name)
	if !ok || len(id.Renew.Authorities) > 0 && !slices.Contains(id.Renew.Authorities, h.Authority) {
		return nil
	}
	return &h.Held
}

// held concerns the gateway whose certificate it is.
func (m *meshChange) held(old, obj any) {
	before, _ := old.(*Held)
	after, _ := obj.(*Held)
	h := cmp.Or(after, before)
	if before != nil && after != nil && *before == *after {
		return
	}
	for _, b := range m.bindings {
		d := m.next.options.Dialects[b.Spec.ControllerName]
		if socket, is := agentOf(b, d); d == nil || !is || socket != h.Socket {
			continue
		}
		mesh := m.next.mesh(d)
		for _, key := range m.next.Gateways() {
			g, is := lookup[*gwv1.Gateway](m.next, KindGateway, key.Namespace, key.Name)
			if !is || key.Kind != KindGateway || !m.next.admits(b, key.Namespace) {
				continue
			}
			account := meshsync.AccountOf(m.next.ownerOf(g), string(g.Spec.GatewayClassName), m.next.options.meshNamespace())
			if id, _ := meshsync.NameOf(d, mesh, account); id == h.SPIFFEID {
				m.concerned[key] = true
			}
		}
	}
}
