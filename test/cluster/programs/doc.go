// Package programs runs the programs that are tested against a [cluster.Cluster] as
// processes of their own: the fake cloud, which outlives everything else as a real
// cloud does, and replicas of gatehouse-controller-manager. A process's memory, CPU
// time and death are then its own.
//
// It never ends a process that it did not start, and leaves none behind. Start with
// [StartCloud], and with [StartManager] on it.
package programs
