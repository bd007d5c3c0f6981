// Package spiffe is the dialect of workloads that end SPIFFE TLS themselves, as
// with SPIRE and no mesh: there is no proxy, the application holds the certificate.
//
// A pod is taken for one only by a sign of its own: it mounts the Workload API, or
// says its SPIFFE ID in a label or annotation. That it is registered is no sign:
// installations register every pod.
//
// It asks no SPIRE server; a name that SPIRE's objects do not say is not guessed.
// Start with [Dialect].
package spiffe
