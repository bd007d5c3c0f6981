// Package sockets is what data planes on real sockets have in common: a listener of
// connections that were accepted elsewhere, and two connections joined to one stream.
//
// It never chooses where a connection goes, never reads what is in it and knows no
// model: it serves load balancers that must not know of one another. Start with
// Handover.
package sockets
