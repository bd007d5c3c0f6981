// Package snapshot reads the wire fixtures that AWS ships with every module of its
// Go SDK: for each action a request and a response with every member filled in, and
// each error. The emulator's tests hold its wire against them.
//
// It finds a module where the Go command says it is, and is for tests only. Start
// with [Load].
package snapshot
