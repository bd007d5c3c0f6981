package dataplane

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// CutError is what Shutdown had to end when the time was over. Streams have no end
// that could be waited for, so a caller may take a note of them only; a request
// that was cut off has lost its answer.
type CutError struct {
	Requests int // without their answer, or in the middle of it
	Streams  int // WebSockets, TCP and TLS connections that were still open
}

// Error implements error.
func (e *CutError) Error() string {
	var parts []string
	if e.Requests > 0 {
		parts = append(parts, countOf(e.Requests, "request was cut off", "requests were cut off"))
	}
	if e.Streams > 0 {
		parts = append(parts, countOf(e.Streams, "open stream (WebSocket, TCP or TLS) was closed", "open streams (WebSocket, TCP or TLS) were closed"))
	}
	return "the time to drain was over: " + strings.Join(parts, ", ")
}

// Lost is how many clients did not get what they had asked for. With none, the
// shutdown is as clean as one can be while a stream is open.
func (e *CutError) Lost() int { return e.Requests }

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// cuts counts what draining sockets end by force.
type cuts struct {
	requests, streams atomic.Int64
}

// begin forgets what was cut off for listeners that were removed before.
func (c *cuts) begin() {
	c.requests.Store(0)
	c.streams.Store(0)
}

func (c *cuts) err() error {
	e := &CutError{Requests: int(c.requests.Load()), Streams: int(c.streams.Load())}
	if *e == (CutError{}) {
		return nil
	}
	return e
}

// noteCut counts an exchange that its socket ended.
func (x *exchange) noteCut() {
	switch cuts := &x.socket.plane.cuts; {
	case x.socket.lifetime.Err() == nil:
	case x.status == http.StatusSwitchingProtocols:
		cuts.streams.Add(1)
	default:
		cuts.requests.Add(1)
	}
}
