// Package mesh holds the tests of a gateway that is a member of a mesh, from the
// manifests to bytes on real sockets: certificate authorities that rotate, workloads
// that join and leave, and everything that can go wrong with a certificate, under
// load. Meshes are the doubles of fake/mesh, the cloud is the fake one with its data
// plane, and time is moved by hand.
//
// What can be counted is checked, in a quick form by every `go test` and at 500
// requests a second by `make bench-mesh`, which prints a table. The package has no
// code of its own. Start with TestRotations.
package mesh
