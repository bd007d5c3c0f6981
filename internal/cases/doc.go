// Package cases runs inputs that broke other load balancer controllers end to
// end: manifests in a folder, translation, plan, the embedded cloud, and real
// requests over real sockets on loopback. Each test is named after its number in
// the project's list of cases and begins with why the input is there; where the
// Gateway API leaves the answer open, it expects ours (docs/decisions/0008).
//
// It has no code of its own, only tests. What stands elsewhere: the deep tables
// of one stage are tests of that stage. C59 (names) is TestNameIsLegalAndUnique
// of fake/cloud, on 100,000 pairs; what DNS can answer for C73 is TestC73Names of
// fake/dataplane. C51, C52 for a Service, and C54 are about core Services of type
// LoadBalancer and come with them. Cases about a cluster's own machinery or a
// real cloud's API are not here.
//
// Start with harness in harness_test.go.
package cases
