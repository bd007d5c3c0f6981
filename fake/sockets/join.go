package sockets

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Idle says how long a stream may rest.
type Idle struct {
	// Both is without a byte either way; then both ends are closed.
	Both time.Duration
	// Write is for a receiver that takes nothing; 0 is as long as it likes.
	Write time.Duration
}

// Join copies both ways until both are done. Each side's end of data is passed on, so
// that one may stop sending and still be answered; an error closes both, since a stream
// with a hole in it is worth nothing. Who wants it to end sooner closes them.
func Join(a, b net.Conn, idle Idle) {
	var last atomic.Int64
	last.Store(time.Now().UnixNano())
	var both sync.WaitGroup
	both.Go(func() { pipe(a, b, idle, &last) })
	both.Go(func() { pipe(b, a, idle, &last) })
	both.Wait()
}

var pipeBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// pipe copies one way.
func pipe(to, from net.Conn, idle Idle, last *atomic.Int64) {
	buffer := pipeBuffers.Get().(*[32 << 10]byte)
	defer pipeBuffers.Put(buffer)
	for {
		n, err := readActive(from, buffer[:], idle.Both, last)
		if n > 0 {
			if idle.Write > 0 {
				to.SetWriteDeadline(time.Now().Add(idle.Write))
			}
			if _, werr := to.Write(buffer[:n]); werr != nil {
				err = werr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = CloseWrite(to)
			return
		case err != nil:
			to.Close()
			from.Close()
			return
		}
	}
}

// readActive reads; a silence is an error only when the other way is silent too.
func readActive(from net.Conn, b []byte, idle time.Duration, last *atomic.Int64) (int, error) {
	for {
		quietSince := time.Unix(0, last.Load())
		from.SetReadDeadline(quietSince.Add(idle))
		n, err := from.Read(b)
		if n > 0 {
			last.Store(time.Now().UnixNano())
		}
		var timeout net.Error
		silent := errors.As(err, &timeout) && timeout.Timeout()
		if n > 0 || !silent || !time.Unix(0, last.Load()).After(quietSince) {
			return n, err
		}
	}
}

// CloseWrite passes the end of data on; a connection that cannot end one way alone is
// closed.
func CloseWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
