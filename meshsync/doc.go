// Package meshsync says what a service mesh asks of a gateway that stands outside
// the cluster, and what the gateway gets for it: whether a backend is a member,
// by which path a gateway can reach it over mutual TLS, with which names, and what
// is lost on the way.
//
// It is pure: a [Dialect] (one folder for each mesh) describes what the proxy of a
// pod accepts as an [Inbound], [Groups] gathers pods that are alike, and [Judge]
// says what a provider of given abilities can do with that, the same for every
// mesh. Roots and client certificates are fetched at the edges: see the folders
// roots and issue.
//
// It never reads a cluster or a clock, never writes into a mesh's own objects, and
// never gives up a protection that was asked for: what cannot be had is Blocked,
// with a reason and a way out. Start with [Judge].
package meshsync
