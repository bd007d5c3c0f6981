// Package kuma is the dialect of Kuma: what a kuma-sidecar accepts from a client
// outside the mesh.
//
// A STRICT inbound has one chain, which ends any client's TLS and wants a
// certificate; the proxy negotiates no ALPN. A PERMISSIVE one ends only TLS whose
// client offers ALPN kuma and passes all other TLS on to the application, so that
// being more open it is closed to load balancers.
//
// It never reads a Secret: roots come from MeshTrusts. Start with [Dialect].
package kuma
