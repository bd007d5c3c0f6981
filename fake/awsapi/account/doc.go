// Package account is what the emulated services of one AWS account in one region
// share: a clock that a test can move, names and ARNs, versioned tables (so that a
// read can be stale and a refused call leaves nothing behind), tags, pages, and the
// form of an action.
//
// It never speaks HTTP and knows no service. Start with [Action].
package account
