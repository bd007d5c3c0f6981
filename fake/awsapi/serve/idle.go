package serve

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// idle ends an exchange in which nothing has moved for too long.
type idle struct {
	limit time.Duration
	timer *time.Timer
	over  atomic.Bool
}

func newIdle(limit time.Duration, expire func()) *idle {
	i := &idle{limit: limit}
	i.timer = time.AfterFunc(limit, func() {
		if !i.over.Load() {
			expire()
		}
	})
	return i
}

func (i *idle) touch() {
	if !i.over.Load() {
		i.timer.Reset(i.limit)
	}
}

func (i *idle) stop() {
	i.over.Store(true)
	i.timer.Stop()
}

// clientBody is a request's body that keeps the exchange alive as it comes. Its
// methods take nil, a request without one.
type clientBody struct {
	io.ReadCloser
	idle    *idle
	reading atomic.Bool
	began   atomic.Bool
	mu      sync.Mutex
	err     error
}

// Read implements io.Reader.
func (b *clientBody) Read(p []byte) (int, error) {
	b.began.Store(true)
	b.reading.Store(true)
	n, err := b.ReadCloser.Read(p)
	b.reading.Store(false)
	b.idle.touch()
	if err != nil && !errors.Is(err, io.EOF) {
		b.mu.Lock()
		b.err = err
		b.mu.Unlock()
	}
	return n, err
}

// reads says whether the exchange waits for the client now.
func (b *clientBody) reads() bool { return b != nil && b.reading.Load() }

// touched says whether some of the body is used up.
func (b *clientBody) touched() bool { return b != nil && b.began.Load() }

// failed is what the client's side broke with.
func (b *clientBody) failed() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// targetBody is a response's body that keeps the exchange alive, and tells when it
// is done with. That of a switched protocol can be written.
func targetBody(body io.ReadCloser, i *idle, done func()) io.ReadCloser {
	a := &answerBody{body, i, done}
	if both, ok := body.(io.ReadWriteCloser); ok {
		return &switched{a, both}
	}
	return a
}

type answerBody struct {
	io.ReadCloser
	idle *idle
	done func()
}

// Read implements io.Reader.
func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.idle.touch()
	return n, err
}

// Close implements io.Closer.
func (b *answerBody) Close() error {
	b.done()
	return b.ReadCloser.Close()
}

type switched struct {
	*answerBody
	both io.ReadWriteCloser
}

// Write implements io.Writer.
func (s *switched) Write(p []byte) (int, error) {
	s.idle.touch()
	return s.both.Write(p)
}

// CloseWrite passes the client's end of data on where that can be done.
func (s *switched) CloseWrite() error {
	if half, ok := s.both.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return s.Close()
}
