// Package local is the fake provider as it runs on one machine: the cloud that
// holds what was applied, the provider over it, and a data plane that serves
// what the cloud holds, as a real cloud's load balancers would. What the data plane
// learns of endpoints, the cloud knows.
//
// It only wires them. What a gateway is, is decided elsewhere; what is served
// comes from the cloud, never from what somebody wants. Start with [Open].
package local
