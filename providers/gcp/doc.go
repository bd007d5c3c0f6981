// Package gcp is the provider for Application and Network Load Balancers of Google
// Cloud.
//
// What Google documents is kept to the letter, and what it leaves open never decides
// which backend a request reaches: a match or an action is offered only where its
// encoding means the same whichever way the open question goes, or where the operator
// vouches for the answer (settings.Assumption). See docs/decisions/0029.
//
// Of a project everything is read in all places, and what is ours is told by its
// description: names alone are no proof. What others have made, and fields that no Spec
// states, are never touched. Keys of certificates pass through and are never kept.
//
// The pure part is [Compiler]: it makes no call and holds no credentials. The rest is
// [Provider]. Start there.
package gcp
