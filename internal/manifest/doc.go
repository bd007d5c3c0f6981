// Package manifest reads Kubernetes manifests from files, folders and standard
// input into a translate.Snapshot, so that a file means here what it means in a
// cluster: the same defaults, the same validation with the same CEL rules from
// the same CustomResourceDefinitions, by the API server's own library.
//
// What a cluster knows and files do not is filled in as follows. A missing
// namespace is "default". A Namespace that no document describes exists all the
// same, with nothing but its kubernetes.io/metadata.name label. There is no UID
// unless a file states one, and no creationTimestamp, so that ties that Gateway
// API breaks by age are broken by namespace and name. The status in a file is
// kept: a Pod's address and the conditions of others live there. Rules about
// changes (oldSelf) do not apply, for a file has no past.
//
// A bad document costs itself: it becomes a [Problem] with its place, and the
// rest is read. But what is missing then proves nothing, so [Loaded.Incomplete]
// says that no absence may be acted upon. Secrets are split here: public facts go
// into the Snapshot, key bytes only into [Keys], and no text ever quotes them.
//
// The package never talks to a network, never writes a file, and never decides
// what a gateway is. Start with [Load].
package manifest
