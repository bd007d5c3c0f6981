// Package netservices is Network Services v1 as far as load balancers need it: TlsRoutes
// of target TCP proxies.
//
// Start with [New].
package netservices
