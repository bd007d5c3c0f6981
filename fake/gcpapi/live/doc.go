// Package live is the Google Cloud emulator with its load balancers at work: what the
// control plane of gcpapi holds is served from sockets of this machine, and the health
// that is seen here is what the API tells.
//
// Which backend service takes a request is package serve's to say; how a certificate is
// judged is package pki's. This package brings both to sockets: forwarding rules with
// their target proxies, backend services with network endpoint groups, health checks,
// TLS to backends with trust and client certificates, client certificates of the front,
// TlsRoutes, and packets that pass through. Probes and proxies reach endpoints on
// instances only where a firewall rule lets them in. A change is served after
// [store.Times].Propagation, like at Google.
//
// The protocols are the standard library's: nothing here parses HTTP or TLS. Left out, of
// what is documented: lower-case names of HTTP/1.1 headers, HTTP/3, outlier detection,
// circuit breaking, locality by zone, rates as balancing mode (all endpoints are used
// alike), failover of passthrough load balancers. Packets that pass through have the
// emulator's address and the port of the endpoint, where Google leaves both alone. Start
// with [Start].
package live
