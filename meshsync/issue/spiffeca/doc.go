// Package spiffeca takes gateways' certificates from a SPIFFE agent, by the Workload
// API (https://github.com/spiffe/spiffe/blob/main/standards/SPIFFE_Workload_API.md).
//
// The agent makes the keys and renews them at half of their lives, as its server's
// entries say; no request is signed. So the package does see private keys: it passes
// them on, and neither keeps nor writes them. It only takes what the agent calls by
// the identity's own SPIFFE ID, and [Agent.Watch] tells when that is another. Start
// with [New].
package spiffeca
