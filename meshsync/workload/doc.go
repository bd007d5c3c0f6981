// Package workload reads what a pod, a Service's port and an annotation say of
// themselves, in the ways that several meshes share: containers and their
// environment, probes that a load balancer can make, lists of ports, label
// selectors, the application's protocol.
//
// It knows no mesh, and what it cannot read it does not guess: it says so, and who
// asks decides towards less trust. Start with [Probe] and [ParsePorts].
package workload
