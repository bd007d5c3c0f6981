// Package pki is how Google Cloud's load balancers judge certificates, of backends and
// of clients: which keys, hashes, purposes and chains they take, how far they search, and
// by what names they log a refusal.
//
// It reads no network and knows no clock: time is a parameter. It makes no certificate
// and never sees a key, but to tell whether it fits. Source: the pages "Backend
// authenticated TLS and backend mTLS overview" and "Mutual TLS overview" of Cloud Load
// Balancing. Start with [Store.Verify].
package pki
