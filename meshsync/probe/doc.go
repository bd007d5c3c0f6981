// Package probe makes the connection that a load balancer would make to a pod, and
// says what came of it: a real TLS handshake with the very roots, server name, names,
// ALPN, version and certificate that are about to be programmed.
//
// It sends no request, so that no application sees it, and it never prints, keeps or
// logs a key. It never decides whether anything is programmed. Start with [Dial].
package probe
