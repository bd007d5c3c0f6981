// Package e2e holds the end-to-end tests, against a real API server and with
// real processes for pods (build tag e2e, `make e2e`). It has no code of its own.
// The first tests are of the harness itself. Start with TestHarness.
package e2e
