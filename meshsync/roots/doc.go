// Package roots reads the roots of meshes where no Kubernetes object has them: a
// SPIFFE bundle endpoint ([Endpoint]), a SPIFFE agent ([Workload]), a Consul
// ([Consul], [ConsulStream]) and a file ([File]). Roots in ConfigMaps and
// ClusterTrustBundles are read by translation, out of its Snapshot.
//
// A [Source] tells of a [Bundle] for each trust domain and never merges two. What
// cannot be read, or is empty, older or too large, changes no roots: the last good
// ones stay, with the problem beside them, until the source is good again. Roots are
// in lbmodel's normal form, so that two readings can be compared.
//
// It never decides who is trusted for what, never drops a root that a mesh still
// publishes, and writes nothing. Errors name host and path; queries, tokens and what
// else came with them are left out. Start with [Hub], which runs sources.
package roots
