// Package linkerdid is Linkerd's identity service (io.linkerd.proxy.identity.
// Identity) as a client outside the mesh meets it at port 8080 of
// linkerd-identity-headless: behind a Linkerd proxy of its own.
//
// So TLS is ended only for the server name [ServerName], in TLS 1.3, and no ALPN is
// negotiated, which gRPC's own TLS credentials refuse: a client dials TLS itself
// and speaks gRPC over that connection. Without TLS it answers too.
//
// Certify takes a token of audience identity.l5d.io and a CSR in DER with one DNS
// name, which must be the token's own; the key must be ECDSA; the life is the
// service's. Leaf and intermediates are returned in DER, whatever the API's comments
// say. Break a server with [Server.Break].
//
// It never sees a private key and has no roots to give. Start with [Start].
package linkerdid
