// Package bench measures the Google Cloud provider on the emulator: calls, operations in
// a row, and virtual seconds of what gateways go through, with the least that it takes
// beside. It has no code of its own; `make bench-gcp` prints docs/reference/figures-gcp.md.
// Start with TestFigures.
package bench
