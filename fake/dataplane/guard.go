package dataplane

import (
	"io"
	"sync"
	"time"
)

// guard ends an operation that takes too long. It is armed around single reads
// or writes, so that a quiet but healthy stream lives on. A nil guard does
// nothing.
type guard struct {
	limit  time.Duration
	expire func()

	mu     sync.Mutex
	timer  *time.Timer
	fired  bool
	closed bool
}

func newGuard(limit time.Duration, expire func()) *guard {
	return &guard{limit: limit, expire: expire}
}

func (g *guard) arm() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
	case g.timer == nil:
		g.timer = time.AfterFunc(g.limit, g.fire)
	default:
		g.timer.Reset(g.limit)
	}
}

// fire runs under the lock, so that nothing is touched after close.
func (g *guard) fire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.fired = true
		g.expire()
	}
}

func (g *guard) disarm() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timer != nil {
		g.timer.Stop()
	}
}

// close ends the guard for good: what it would have ended is gone.
func (g *guard) close() {
	if g == nil {
		return
	}
	g.disarm()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

func (g *guard) expired() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fired
}

// upgraded is a connection that switched protocols, ended when it is silent both
// ways for too long.
type upgraded struct {
	io.ReadWriteCloser
	idle *guard
}

func newUpgraded(conn io.ReadWriteCloser, limit time.Duration) *upgraded {
	u := &upgraded{ReadWriteCloser: conn}
	u.idle = newGuard(limit, func() { _ = conn.Close() })
	u.idle.arm()
	return u
}

// Read implements io.Reader.
func (u *upgraded) Read(b []byte) (int, error) {
	n, err := u.ReadWriteCloser.Read(b)
	u.idle.arm()
	return n, err
}

// Write implements io.Writer.
func (u *upgraded) Write(b []byte) (int, error) {
	u.idle.arm()
	return u.ReadWriteCloser.Write(b)
}

// CloseWrite passes the client's end of data on where the backend's connection
// can be half closed.
func (u *upgraded) CloseWrite() error {
	if half, ok := u.ReadWriteCloser.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return u.Close()
}

// Close implements io.Closer.
func (u *upgraded) Close() error {
	u.idle.close()
	return u.ReadWriteCloser.Close()
}
