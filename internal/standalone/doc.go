// Package standalone is the whole of Gatehouse in one process without a cluster:
// a folder of manifests, the loop, the embedded cloud and its data plane. The demo
// and the end-to-end cases drive it; `gatehouse up` adds a person's interface.
//
// It never watches anything: its user says when the files changed. Start with
// [Open].
package standalone
