// Package aws is the provider for Application and Network Load Balancers of AWS.
//
// What AWS documents is kept to the letter, and what it leaves open never decides
// which backend a request reaches: a match or an action is offered only where its
// encoding means the same whichever way the open question goes, or where the
// operator vouches for the answer (settings.Assumption). See docs/decisions/0028.
//
// [Compiler] is the pure part: it makes no call and holds no credentials. [Provider]
// does the calls, as few as AWS lets it: everything is made with tags that say whose it
// is (tag.go), so a process needs no state of its own and may end at any call. What a
// process remembers (memory.go) only saves it reads. It never deletes, changes or tags
// what is not its cluster's, never turns off a protection against deletion, and never
// waits inside a step. Start with [Provider].
package aws
