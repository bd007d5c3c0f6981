// Package istiod is Istio's certificate service (istio.v1.auth.
// IstioCertificateService) as a client outside the mesh meets it at port 15012 of
// istiod: over TLS with the name istiod.istio-system.svc, with a ServiceAccount's
// token of audience istio-ca.
//
// The leaf names whom the token is of, whatever the CSR asks for. A life of zero is
// a day, one above 90 days is refused, and none outlives what signs it. The answer
// is the leaf, each intermediate, and as its last element all roots in one text.
// All of that is as istiod 1.30 does it. Break a server with [Server.Break].
//
// It serves no XDS, knows no cluster, and never sees a private key. Start with
// [Start].
package istiod
