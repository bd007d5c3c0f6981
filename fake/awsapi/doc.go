// Package awsapi is an AWS account without AWS: an HTTP server that speaks the wire
// of Elastic Load Balancing v2, ACM, EC2, S3, STS and the tagging API well enough
// that AWS's own SDKs, the AWS CLI and other controllers work against it.
//
// It exists so that whatever manages load balancers can be tested for what it does
// to an account: which calls, how many, what they cost in token buckets, what is
// left behind, and what happens when AWS throttles, loses a reply, answers from the
// past, or refuses because something is in use.
//
//   - [Server] is the account. It is an http.Handler.
//   - [Config] sets its clock, network, quotas, buckets, delays and keys. With a
//     [account.Manual] clock nothing happens by itself.
//   - [Fault] spoils calls; [Server.Calls] tells who called what; [Server.Dump] is
//     what the account holds.
//
// The services are packages below this one. They meet here only: each asks others
// by functions that [New] ties together. The emulator knows nothing of Gatehouse's
// provider, and nothing of AWS's SDKs: its tests use those.
//
// It checks no signature, keeps no secret, and logs none. It serves no traffic: it
// says what should be served, as a [serve.Config], to whoever asks.
//
// Start with [New].
package awsapi
