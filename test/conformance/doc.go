// Package conformance runs the conformance suite of Gateway API, unmodified,
// against the manager with the fake provider on a real API server, and one test
// more in its style: the same route behaves alike behind a gateway inside the
// cluster and behind one outside it.
//
// Everything in it is a test. It never leaves a test of the suite out, never
// claims a feature that the GatewayClass does not advertise in its status, and
// needs nothing but Go and a Linux kernel. `make conformance` runs all of it and
// writes the report to docs/conformance; `make conformance-core` runs what the
// API calls core. Start with TestConformance.
package conformance
