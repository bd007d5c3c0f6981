// Package cli is the command `gatehouse`: it reads files, asks the engine, and
// says what it found in words and colours that a person likes to read, or in
// YAML and JSON that a program does.
//
// It decides nothing about gateways. It never knows which providers there are:
// main hands them over. It never prints a key, since it never sees one. Start
// with [Main] and [Config].
package cli
