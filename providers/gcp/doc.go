// Package gcp is the provider for Application and Network Load Balancers of Google
// Cloud.
//
// What Google documents is kept to the letter, and what it leaves open never decides
// which backend a request reaches: a match or an action is offered only where its
// encoding means the same whichever way the open question goes, or where the operator
// vouches for the answer (settings.Assumption). See docs/decisions/0029.
//
// Here is the pure part: it makes no call and holds no credentials. Start with
// [Compiler].
package gcp
