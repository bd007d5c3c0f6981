// Package istioca has gateways' certificates signed by Istio's CA, as workloads
// outside of pods get theirs: istio.v1.auth.IstioCertificateService, which istiod
// serves at port 15012 and istio-csr serves alike.
//
// The CA goes by the token, and ignores the names in the request. The token is sent
// only to a server that proved by the mesh's own roots to be the CA. The package
// never sees a private key, keeps no connection, and tries nothing again. Start with
// [New].
package istioca
