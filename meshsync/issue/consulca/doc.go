// Package consulca has gateways' certificates signed by Consul's Connect CA
// (hashicorp.consul.connectca.ConnectCAService, Sign), so that the key is ours; the
// agent's HTTP endpoint would make it.
//
// How long certificates live is LeafCertTTL's to say. The token is sent only to a
// server that proved to be Consul, by the roots of its agents' TLS and not by those
// of the mesh. The package never sees a private key, keeps no connection, and tries
// nothing again. Start with [New].
package consulca
