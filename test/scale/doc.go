// Package scale holds the tests that measure a manager with many objects, against
// a real API server and over a fake cloud in a process of its own (build tag e2e,
// `make bench-cluster`). What can be counted is checked; times are only printed,
// beside what is aimed at, since they are the machine's too. It has no code of its
// own. Start with TestScale.
package scale
