// Package lbmodel says what an off-cluster gateway should be, without naming a
// cloud, and holds the one engine that turns the difference between what is
// wanted and what is there into an ordered plan.
//
// Two halves meet here. The first is the description: [Gateway] with its
// listeners, rules, pools, trust and identities; [Matcher], the only matcher, used
// by explain and by the data plane alike; [Restrict], which replaces whatever a
// provider cannot do by a fixed 500 answer before anything is compiled. The
// second is the engine: a [Graph] of provider resources, [Diff], [Policy],
// [Plan] and [Outcome], and the error codes every provider maps its own errors
// to.
//
// The package is pure: no I/O, no clock (time is a parameter), no randomness, no
// logging, and no type in it can hold a private key. Start with [Gateway].
package lbmodel
