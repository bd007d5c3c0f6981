// Package cilium is the dialect of Cilium: what its protections of pods mean for a
// client outside the cluster.
//
// None of them is TLS that such a client could take part in. Mutual authentication
// is between agents and leaves the bytes as they are; WireGuard and IPsec are below
// the connection; ztunnel takes only its own tunnel.
//
// It never calls a pod protected that a gateway reaches in clear text. Start with
// [Dialect].
package cilium
