// Package netsec is Network Security v1 as load balancers use it: backend authentication
// configs and server TLS policies. Policies of Traffic Director are not emulated.
//
// Start with [New].
package netsec
