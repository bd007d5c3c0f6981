// Package spiffe is a SPIFFE agent and a bundle endpoint, as SPIRE has them: the
// Workload API over a Unix socket ([StartAgent]), and a trust domain's bundle over
// HTTPS ([StartEndpoint]) in both of its profiles, with the ways in which such an
// endpoint fails.
//
// Bundles follow a fake/mesh/ca as it rotates: streams are told at once, and the
// document's sequence counts. SVIDs are renewed when [Agent.Rotate] says so.
//
// It attests nobody: whoever opens the socket is given every entry, its key too, as
// that API does. It has no JWTs. Start with [StartAgent].
package spiffe
