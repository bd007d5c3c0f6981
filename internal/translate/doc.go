// Package translate turns Kubernetes objects into lbmodel gateways and findings,
// and findings and outcomes back into status patches. Every field means what the
// documentation in the types of sigs.k8s.io/gateway-api says; where that leaves a
// choice, the code says which one we took and why.
//
// It works on an [Index] of a [Snapshot]. The index is a value: [Index.With]
// makes the next one from a change, shares what did not change, and says exactly
// which gateways the change concerns. [Index.Gateway] translates one gateway; its
// cost depends on that gateway alone. [Index.PoolsOf] is the fast path of an
// endpoint change. [Status] writes down the result.
//
// A gateway that a MeshBinding lets in is a member of a mesh: each of its backends
// is divided into the groups of pods that are reached alike, as a meshsync.Dialect
// describes them and meshsync.Judge decides. [BindingStatus] sums that up for each
// binding, [Index.MeshReport] for a person who thinks about joining.
//
// Three rules hold everywhere. One bad route, rule, reference, certificate or
// endpoint costs itself and nothing else. A bad rule keeps its place and answers
// 500, so that no request slides into another rule. Nothing that asks for TLS is
// ever reached in plain text: what cannot be verified is refused.
//
// The package is pure: no client, no clock, no provider, no randomness, and the
// order of a snapshot's lists means nothing. Start with [New].
package translate
