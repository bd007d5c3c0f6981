// Package compute is what load balancers need of Compute Engine v1: addresses,
// forwarding rules, target proxies, URL maps, backend services, health checks, network
// endpoint groups, certificates, TLS policies, firewall rules, and the network to read.
//
// Messages are Google's where they are known; what they refuse is what Google documents.
// It serves no traffic, and looks at no private key but to see that it fits.
//
// Start with [New].
package compute
