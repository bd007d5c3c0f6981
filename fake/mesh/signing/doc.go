// Package signing is what the servers of all meshes' CAs have in common: a request
// that was authenticated becomes a chain, calls are recorded, and a [Fault] breaks
// them in one of the ways in which CAs break.
//
// It speaks no protocol and authenticates nobody. Start with [Desk].
package signing
