// Package link is a stretch of network that can be bad: a TCP proxy with delay,
// loss and an end, for tests of what a bad network does. The kernel's own means
// (netem) are not on every machine that runs tests.
//
// Loss is of connections, not of packets: TCP hides the loss of packets, and
// what an application sees of it is delay and resets. It never changes a byte.
// Start with [New].
package link

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Quality says how bad a link is. The zero value is a good one.
type Quality struct {
	Delay  time.Duration // of each direction
	Jitter time.Duration // at most this much more; order is kept
	Loss   float64       // the share of new connections that are reset, 0 to 1
	Cut    bool          // new connections get no answer, old ones stand still
}

// Link listens at one address and leads to another.
type Link struct {
	listener net.Listener
	target   string
	quality  atomic.Pointer[Quality]
	wait     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]bool
}

// New listens at an address ("host:port"; port 0 is any free one) and passes
// connections on to the target. The error is that of listening.
func New(listen, target string) (*Link, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	k := &Link{listener: l, target: target, conns: map[net.Conn]bool{}}
	k.quality.Store(&Quality{})
	k.wait.Go(k.accept)
	return k, nil
}

// Addr is where the link listens.
func (k *Link) Addr() net.Addr { return k.listener.Addr() }

// Set changes the quality, of the connections that are open too.
func (k *Link) Set(q Quality) { k.quality.Store(&q) }

// Reset breaks every open connection at once.
func (k *Link) Reset() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for c := range k.conns {
		reset(c)
	}
}

// Close ends the link with all its connections.
func (k *Link) Close() {
	k.listener.Close()
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.Reset()
	k.wait.Wait()
}

func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // closing it is what counts
	}
	c.Close()
}

func (k *Link) accept() {
	for {
		c, err := k.listener.Accept()
		if err != nil {
			return // closed
		}
		if !k.hold(c) {
			return
		}
		k.wait.Go(func() { k.carry(c) })
	}
}

// hold keeps a connection for Reset and Close; false when closed.
func (k *Link) hold(c net.Conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		reset(c)
		return false
	}
	k.conns[c] = true
	return true
}

func (k *Link) drop(c net.Conn) {
	c.Close()
	k.mu.Lock()
	delete(k.conns, c)
	k.mu.Unlock()
}

func (k *Link) carry(client net.Conn) {
	defer k.drop(client)
	if rand.Float64() < k.quality.Load().Loss {
		reset(client)
		return
	}
	k.hang(client)
	server, err := net.DialTimeout("tcp", k.target, 5*time.Second)
	if err != nil {
		reset(client)
		return
	}
	if !k.hold(server) {
		return
	}
	defer k.drop(server)
	var both sync.WaitGroup
	both.Go(func() { k.pump(server, client) })
	both.Go(func() { k.pump(client, server) })
	both.Wait()
}

// piece is bytes that are due at a time.
type piece struct {
	data []byte
	due  time.Time
}

// pump copies one direction, each piece after its delay, and then its end.
func (k *Link) pump(to, from net.Conn) {
	pieces := make(chan piece, 256)
	go func() {
		defer close(pieces)
		for {
			buf := make([]byte, 16<<10)
			n, err := from.Read(buf)
			if n > 0 {
				pieces <- piece{buf[:n], time.Now().Add(k.delay())}
			}
			if err != nil {
				if err != io.EOF { //nolint:errorlint // Read returns it bare
					reset(to)
				}
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		k.hang(to)
		if _, err := to.Write(p.data); err != nil {
			reset(from)
		}
	}
	time.Sleep(k.quality.Load().Delay)
	if t, ok := to.(*net.TCPConn); ok {
		_ = t.CloseWrite() // it may be closed
	}
}

func (k *Link) delay() time.Duration {
	q := k.quality.Load()
	if q.Jitter <= 0 {
		return q.Delay
	}
	return q.Delay + rand.N(q.Jitter)
}

// hang waits while the link is cut, unless the connection is broken meanwhile.
func (k *Link) hang(c net.Conn) {
	for k.quality.Load().Cut && k.alive(c) {
		time.Sleep(10 * time.Millisecond)
	}
}

func (k *Link) alive(c net.Conn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.conns[c] && !k.closed
}
