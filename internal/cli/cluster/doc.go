// Package cluster is how the command reaches an API server: by a kubeconfig as
// kubectl reads it, and no more than the few calls that commands need. It never
// caches, and writes nothing but approvals. Commands over files do not open it.
// Start with [Open].
package cluster
