package sockets

import (
	"net"
	"net/netip"
	"sync"
)

// Handover is a net.Listener of connections that were accepted elsewhere: whoever
// accepts them sees first whom they are for.
type Handover struct {
	conns  chan net.Conn
	done   chan struct{}
	once   sync.Once
	listen net.Addr
}

// NewHandover makes a Handover that says of itself that it listens at an address.
func NewHandover(addr net.Addr) *Handover {
	return &Handover{conns: make(chan net.Conn), done: make(chan struct{}), listen: addr}
}

// Give hands a connection to whoever calls Accept next, and waits for that. After
// Close it closes the connection.
func (h *Handover) Give(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.done:
		c.Close()
	}
}

// Accept implements net.Listener.
func (h *Handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *Handover) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

// Addr implements net.Listener.
func (h *Handover) Addr() net.Addr { return h.listen }

// AddrPortOf is the address of a TCP or UDP socket, IPv4 as such and not mapped into
// IPv6; the zero AddrPort of any other.
func AddrPortOf(a net.Addr) netip.AddrPort {
	var ap netip.AddrPort
	switch a := a.(type) {
	case *net.TCPAddr:
		ap = a.AddrPort()
	case *net.UDPAddr:
		ap = a.AddrPort()
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}
