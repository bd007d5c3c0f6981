// Package soak holds the test that lets everything happen at once for a long time:
// random edits, pods that come and go, an API server that restarts, managers that
// are killed, all under requests whose every answer must be one that an edit asked
// for (build tag e2e, `make soak`). What is left at the end is compared with a fresh
// start, and everything is deleted in random order. It has no code of its own.
// Start with TestSoak.
package soak
