// Package rootsync brings the roots that no object of a cluster has into translation:
// it asks the places that MeshBindings and meshes name (package roots does the
// reading), and hands out a translate.Bundle for each. Likewise it follows the SPIFFE
// agents that have gateways' certificates, and hands out a translate.Held for each of
// those. A controller, the command line and the stack without a cluster use it alike.
//
// It has a [Memory] for what must outlive a process: the last good roots, their
// sequences, and since when each root is known. What cannot be understood of it is not
// believed at all: then everything begins anew, and nothing is trusted sooner for it.
//
// It never decides who is trusted for what, never reads the cluster's objects, and
// keeps tokens in memory only. Start with [New].
package rootsync
