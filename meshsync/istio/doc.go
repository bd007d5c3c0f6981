// Package istio is the meshsync.Dialect of Istio, with sidecars and ambient: what
// the proxy of a pod accepts at a port, as istiod would configure it.
//
// Three things decide, each read as Istio reads it: how the pod is in the mesh
// (sidecar, ambient, proxyless gRPC, gateway), the effective mode of its
// PeerAuthentications at the pod's own port, and the protocol that the Service
// declares. A client of the outside offers ALPN as everybody does; under
// PERMISSIVE, Istio's default, a sidecar takes that for TLS of the application.
//
// What the objects of a cluster do not show, and istiod's environment changes, is
// taken for its default. Two Services with different protocols for one pod's port
// are such a case: the older one decides, and a Dialect sees one Service only.
//
// It is pure, and never takes what it cannot read for a permission: an object that
// Istio's own API would refuse, and a mesh configuration that is no YAML, leave the
// pods that they may concern Blocked. Start with [Dialect].
package istio
