// Package watch follows the objects of a cluster: first all of them as one whole,
// then what changed, in batches. It watches the kinds that are installed, takes up
// those that are installed later, and lets go of those that are removed.
//
// What translation does not read is dropped before anything is kept: managed
// fields, most of a Pod, and above all the keys in Secrets, which leave this
// package split into their public part. It never writes and never translates.
// Start with [New].
package watch
