// Package consul is the Connect CA of a Consul server and agent, as a client outside
// the mesh meets it: ConnectCAService over gRPC (WatchRoots, Sign), and over HTTP
// /v1/connect/ca/roots and /v1/agent/connect/ca/leaf/<service>, both with blocking
// queries.
//
// Roots that were rotated out stay in the list with Active false until the CA drops
// them. Sign keeps to the CSR's SPIFFE ID and to what the token may write; the leaf
// endpoint makes the key itself, as Consul's does. Two of its known mistakes can be
// had: [Server.Freeze] keeps old roots (consul #8681) or old leaves (#10871).
//
// It has no catalog, no intentions (those are fake/mesh/inbound's) and no
// configuration entries. Start with [Start].
package consul
