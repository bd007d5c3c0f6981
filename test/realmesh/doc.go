// Package realmesh holds the end-to-end tests against the real servers of two meshes,
// SPIRE's and Istio's, which build.sh builds from their modules, and against nginx as
// a client that nobody here wrote (build tag e2e, `make e2e-mesh`). It has no code of
// its own; test/e2e and test/mesh try the same things against doubles, and more of
// them, so these tests say whether the doubles are right.
//
// Nothing here sends anything to another host: all runs in namespaces of its own, and
// ends with them. Start with TestSPIRE.
package realmesh
