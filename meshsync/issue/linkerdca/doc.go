// Package linkerdca has gateways' certificates signed by Linkerd's identity service
// (io.linkerd.proxy.identity.Identity, Certify), as proxies get theirs.
//
// The service stands behind a Linkerd proxy of its own, which ends TLS 1.3 for its
// own name only and selects no ALPN protocol; in plain text it would answer too, and
// is never asked that way, for the token would be readable. How long certificates
// live is the service's to say. The package never sees a private key, keeps no
// connection, and tries nothing again. Start with [New].
package linkerdca
