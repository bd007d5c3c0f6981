// Package dataplane serves gateways on real sockets of this machine: the load
// balancer of the fake provider. It is programmed with whole gateways at a time,
// swaps configuration under running requests without losing one, and protects
// its own hop to the backends exactly as the model says or not at all.
//
// A request passes port → listener → rule → backend → endpoint. A port is a
// socket whose meaning is one atomic pointer; a pool is one way to speak to its
// endpoints; a link is one endpoint in that way, with its own connections. Program
// builds new ports and pools beside the old, keeps every link that is still
// meant, swaps the pointers, and lets what is no longer meant drain.
//
// The protocols are the standard library's: nothing here parses HTTP or TLS. It
// never reads Kubernetes or a cloud, never decides which rule matches (that is
// lbmodel's matcher, which explain uses too), and never sends plain text to a
// pool that has TLS. Start with [New] and [DataPlane.Program].
package dataplane
