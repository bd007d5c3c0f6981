// Package kubelet runs pods as processes: the part of a node that tests need,
// for as many nodes as they like in one program. It binds pods to its nodes,
// materialises their volumes and environment, runs each container's program in
// namespaces of its own and under a root folder of its own, and reports what
// becomes of it as a real kubelet does. An image is a static program of the
// machine, by a table.
//
// What differs from a real one: a container without a readiness probe is ready
// when one of its declared TCP ports accepts (a real one says ready at once, and
// the first connections fail); a readiness probe is asked more often until its
// first success; Secrets and ConfigMaps are refreshed within a second; exec
// probes and hooks, host paths and persistent volumes are refused with an event;
// resource limits are not enforced.
//
// It never touches the network of the machine: it must run inside the namespaces
// that package cluster makes. Start with [Start]; [Init] must come first in main.
package kubelet
