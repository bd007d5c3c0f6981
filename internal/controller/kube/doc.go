// Package kube is how the controller speaks to an API server: the table of the
// kinds that it reads and writes, a client for each version that a server serves
// of them, and the discovery of what is served right now.
//
// An object is always decoded into the one Go type that a Snapshot has for its
// kind, whichever of its versions the server has: those in the table are alike on
// the wire. Kinds that are built into Kubernetes travel as protobuf, those of
// CustomResourceDefinitions as JSON.
//
// The package never caches an object, never retries and never decides anything.
// Start with [New].
package kube
