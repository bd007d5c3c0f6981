// Package member makes gateways members of their meshes: it answers for the
// identities that a MeshBinding gives them, over what a loop knows at that moment:
// which mesh the binding is of, where its CA is, which roots it publishes, on whose
// behalf a certificate is asked for, which one the gateway shows now, and whether
// backends trust the authority of another.
//
// A controller, the command line and the demo use it alike. It holds keys only as
// package issue does, in memory and until they are live; it never reads a cluster,
// never mints a token by itself, and never chooses a provider. Start with [New].
package member
