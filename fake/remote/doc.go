// Package remote is the fake cloud as a process of its own, and the way to it: a
// [Server] holds the cloud and its data plane and answers the cloud's API on a Unix
// socket; [Open] is a provider that calls it. Gateways are served, and keep their
// addresses and keys, whatever becomes of the process that applies them, as with a
// real cloud; and two of those see one cloud.
//
// What crosses the socket are the cloud's own calls (see cloud.API): compile,
// place, observe and apply stay with the caller, as for every other provider. A key
// crosses it only inside the call that creates or updates its certificate, and is
// never answered, logged or put in an error.
//
// The client never retries. providers.Account does, and knows what this layer
// cannot: which step it is, whether its effect may be there already, what a whole
// run has spent and when its context ends. A retrying HTTP client below it (such as
// go-retryablehttp) would multiply tries, hide throttling from the pacer, and repeat
// a create whose reply was lost before anybody looked whether it took effect.
//
// It never listens on TCP, and never sees Kubernetes. Start with [Open], or with
// [Start] on the other side.
package remote
