package dataplane

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// replay is a request body that several attempts can read. It keeps what was
// read while that is little; a body that outgrows the limit is streamed on and
// can be read once only. Nothing is read ahead, so streams and 100-continue work
// as without it.
type replay struct {
	source    io.Reader
	limit     int
	stall     *guard
	interrupt func() // makes a read of source that waits for the client return

	// Both are read without mu, which waits for the client.
	spilled atomic.Bool // outgrew the limit
	damaged atomic.Bool // ended with an error: the client's, or that of a limit

	mu    sync.Mutex
	kept  []byte
	total int64 // bytes read from source
	err   error // what source ended with
	onEnd []func(body []byte, whole bool)
}

// errSpent is a body that can't be sent again.
var errSpent = errors.New("the body was too large to be kept for another attempt")

// open is a reader from the start. Readers of earlier attempts may still be at
// work: whatever they take from the source, this one gets too.
func (r *replay) open() io.ReadCloser { return &replayReader{replay: r} }

// again says whether the body can be read from the start, and to its end.
func (r *replay) again() bool { return r == nil || !r.spilled.Load() && !r.damaged.Load() }

// broken says whether the body ended with an error: then no backend can be blamed
// for an exchange that failed.
func (r *replay) broken() bool { return r != nil && r.damaged.Load() }

// whenRead calls f once when the body has been read to its end, or is given up.
func (r *replay) whenRead(f func(body []byte, whole bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onEnd = append(r.onEnd, f)
}

// finish gives up a body that nobody will read further. A backend may have
// answered before the client sent everything; then a reader still waits for it.
func (r *replay) finish() {
	r.stall.close()
	if !r.mu.TryLock() {
		r.interrupt()
		r.mu.Lock()
	}
	defer r.mu.Unlock()
	r.end(false)
}

// complete says whether the body was read to its end. It is asked after finish.
func (r *replay) complete() bool { return r != nil && errors.Is(r.err, io.EOF) }

func (r *replay) end(whole bool) {
	for _, f := range r.onEnd {
		f(r.kept, whole && !r.spilled.Load())
	}
	r.onEnd = nil
}

// fill reads on from the source. The caller holds mu, and is the only one who
// waits for the client.
func (r *replay) fill(b []byte) (int, error) {
	r.stall.arm()
	n, err := r.source.Read(b)
	r.stall.disarm()
	r.keep(b[:n])
	if err != nil {
		r.err = err
		r.damaged.Store(err != io.EOF)
		r.end(err == io.EOF)
	}
	return n, err
}

func (r *replay) keep(b []byte) {
	r.total += int64(len(b))
	if r.total > int64(r.limit) {
		r.spilled.Store(true)
		r.kept = nil
		return
	}
	r.kept = append(r.kept, b...)
}

// replayReader is one attempt's place in the body.
type replayReader struct {
	*replay
	at int64
}

// Read implements io.Reader.
func (p *replayReader) Read(b []byte) (int, error) {
	r := p.replay
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case p.at < r.total && r.spilled.Load():
		return 0, errSpent
	case p.at < r.total:
		n := copy(b, r.kept[p.at:])
		p.at += int64(n)
		return n, nil
	case r.err != nil:
		return 0, r.err
	}
	n, err := r.fill(b)
	p.at += int64(n)
	return n, err
}

// Close implements io.Closer. The source is the server's and closed by it.
func (p *replayReader) Close() error { return nil }
