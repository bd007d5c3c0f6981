// Package consul is the dialect of Consul's service mesh on Kubernetes: what a
// sidecar's public listener accepts from a client outside the mesh.
//
// The listener has one chain on a port of its own, ends any client's TLS, wants a
// certificate, and negotiates the ALPN of the service's protocol. Its certificate
// names the service, not a ServiceAccount, in a trust domain that only Consul's CA
// knows.
//
// It reads objects and nothing else, and asks no Consul server. Start with
// [Dialect].
package consul
