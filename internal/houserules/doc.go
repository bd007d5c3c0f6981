// Package houserules holds the tests of the rules that the whole repository
// keeps: what may import what, how long a function or file may be, that every
// package says what it is. It has no code of its own; each failing test prints
// the reason of its rule. Start with the tables in its tests.
package houserules
