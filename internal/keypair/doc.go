// Package keypair takes a Secret apart at the edge: what is public goes into a
// Snapshot, the private key goes to whoever sends it, and no error repeats a byte
// of it. Files and clusters are read alike.
//
// It never reads a Secret by itself and keeps nothing. Start with [Take].
package keypair
