// Package linkerd is the dialect of Linkerd: what a linkerd-proxy accepts from a
// client outside the mesh.
//
// The proxy ends a client's TLS where the server name is the proxy's own identity,
// and nowhere else; it speaks TLS 1.3 only, negotiates no ALPN, and verifies client
// keys of the kinds ECDSA and Ed25519. A port whose bytes it does not read (opaque)
// has no TLS at all. What counts is what a pod was injected with and which Server
// selects it, not what its namespace asks for since.
//
// It reads objects and nothing else, and never writes one: policies are offered as
// text. Start with [Dialect].
package linkerd
