// Package bench has the figures of the AWS provider: how many calls each kind of change
// makes, in which of AWS's token buckets, how long these make it take, and what the
// least would be. All is counted on the emulator, in a time that does not pass by
// itself, so the figures are equal on every machine. It has tests only, which fail
// when a figure is worse than it was promised to be; make bench-aws prints them.
package bench
