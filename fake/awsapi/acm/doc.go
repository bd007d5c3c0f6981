// Package acm emulates the part of AWS Certificate Manager that keeps imported
// certificates: import, re-import under the same ARN, describe, list, get, delete,
// tags, with ACM's checks and quotas.
//
// Private keys are held in memory, for those that serve with them. They are never
// in a dump, a log, an error or an answer. It issues no certificate. Start with
// [New].
package acm
