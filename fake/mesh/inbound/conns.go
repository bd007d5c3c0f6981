package inbound

import (
	"net"
	"sync"
)

// conns are open connections, to be closed with the pod.
type conns struct {
	mu     sync.Mutex
	all    map[net.Conn]struct{}
	closed bool
}

// add reports whether there is anything to add to still.
func (c *conns) add(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if c.all == nil {
		c.all = map[net.Conn]struct{}{}
	}
	c.all[conn] = struct{}{}
	return true
}

func (c *conns) remove(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, conn)
}

func (c *conns) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}

func (c *conns) closeAll() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.closeOpen()
}

// closeOpen closes those that are there; others may come.
func (c *conns) closeOpen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.all {
		conn.Close()
	}
}
