// Package gcpapi is a Google Cloud project without Google Cloud: an HTTP server that
// speaks the JSON of Compute Engine (what load balancers need of it), Certificate
// Manager, Network Security and Network Services well enough that Google's own clients
// work against it.
//
// It exists so that whatever manages load balancers can be tested for what it does to a
// project: which calls, how many, what they cost of the quotas per minute, what is left
// behind, and what happens when an operation fails after it was accepted, a reply is
// lost, a list is stale, or something is in use.
//
//   - [Server] is the project. It is an http.Handler, and an http.RoundTripper for
//     clients in the same process.
//   - [Config] sets its clock, network, quotas, rates, times, and the sides that it takes
//     where Google documents none. With a [clock.Manual] nothing happens by itself.
//   - [Fault] spoils calls; [Server.Calls] tells who called what; [Server.Dump] is what
//     the project holds.
//
// What requests may say comes from Google's discovery documents (package schema). The
// APIs are packages below this one, and share package store. The emulator knows nothing
// of Gatehouse's provider, and nothing of Google's clients: its tests use those.
//
// It checks no token, and logs none. It serves no traffic: [Server.Look] shows what
// should be served to whoever asks.
//
// Start with [New].
package gcpapi
