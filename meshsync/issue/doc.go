// Package issue gives a gateway its client certificate for a mesh: it makes the key
// and the request, has the mesh's CA sign it through a [meshsync.Issuer], believes
// nothing of the answer that it has not verified, and holds a certificate of a new
// authority back until the backends trust that authority.
//
// Keys are ECDSA P-256, fresh for each certificate, and live in memory only. The
// package never writes one anywhere, never calls a CA faster than its quota, never
// tries a call again by itself, and does not know who asks. The CAs are in the
// folders below. Start with [Keyring].
package issue
