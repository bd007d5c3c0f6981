package main

import (
	"gatehouse.dev/internal/member"
	"gatehouse.dev/meshsync"
	"gatehouse.dev/meshsync/consul"
	"gatehouse.dev/meshsync/spiffe"
)

// meshes are all dialects, with the trust domains that no object of a cluster says:
// Consul's is known to its CA only.
func meshes(domains map[string]string) map[string]meshsync.Dialect {
	out := member.Dialects()
	if domain := domains[consul.Controller]; domain != "" {
		out[consul.Controller] = consul.Dialect{TrustDomain: domain}
	}
	if domain := domains[spiffe.Controller]; domain != "" {
		out[spiffe.Controller] = spiffe.Dialect{TrustDomain: domain}
	}
	return out
}
