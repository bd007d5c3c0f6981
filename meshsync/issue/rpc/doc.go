// Package rpc is what the CAs that speak gRPC have in common: a connection whose
// server has proven who it is before anything is sent, and errors with a code.
//
// It keeps no connection, tries nothing again, and no error that it makes repeats a
// token. Start with [Server].
package rpc
