// Package serve is the serving half of the AWS emulator: Application and Network
// Load Balancers that really listen on loopback sockets, route, forward, check
// health and answer as the user guides of Elastic Load Balancing say.
//
// A [Config] is everything that is served, as one value: load balancers with
// their listeners and rules, target groups, trust stores, security groups. It is
// applied as a whole; sockets and connections that are still meant live on.
// Which rule takes a request is decided by a pure function, [Explain], which the
// server asks too: there is one matcher. What AWS does not document is never
// decided silently: it is a named switch of [Undocumented] with its possible
// positions, so that a test can ask whether a configuration means the same under
// all of them.
//
// Left out, of what is documented: slow start, zones (cross-zone settings and DNS
// failover), authentication and JWT actions (they answer 500), Lambda targets, QUIC,
// desync modes beyond what the standard library refuses by itself, the GOAWAY
// after 10,000 requests, access logs in S3. What the standard library refuses before
// a request is one (a malformed header, an unknown version) has its body, not AWS's.
// A client that no security group admits is reset, where AWS drops its packets.
//
// The package knows nothing of AWS's wire, of accounts, quotas or time lags (that
// is the control plane's part, which fills Config), and nothing of providers that
// are tested with it. It parses neither HTTP nor TLS: the protocols are the
// standard library's. It never verifies a target's certificate, since these load
// balancers don't. Start with [New] and [Server.Apply].
package serve
