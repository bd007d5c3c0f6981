// Package serve is what Google Cloud's proxy load balancers do with a request: the
// meaning of a URL map with its backend services, and of TlsRoutes, as pure
// functions.
//
// A [Config] is one load balancer's routing as the REST API has it: its types are the
// API's JSON with the fields that change an answer, so a body that is sent to
// urlMaps.insert can be read into a [URLMap]. A [Matcher] answers requests by it. What
// Google does not document, or documents in two ways, is never decided silently: it
// is a named switch of [Switches] with its possible positions, so that a test can ask
// whether a configuration means the same under all of them. [URLMap.Check] says what
// the API refuses.
//
// The package opens no socket, knows no clock and no chance: a share of a weighted
// choice is told as a share. It knows nothing of the emulator's control plane, nor of
// providers that are tested with it. Left out, of what is documented: classic
// Application Load Balancers (EXTERNAL), custom error responses, backend buckets,
// metadata filters, Cloud CDN. Start with [New] and [Matcher.Answer].
package serve
