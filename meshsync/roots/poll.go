package roots

import (
	"context"
	"errors"
	"time"
)

// reading is what one look at a source found.
type reading struct {
	found []Bundle
	same  bool          // nothing changed since the last good one; found is empty
	next  time.Duration // until the next look; zero is as the pace has it
}

// pace is how often a source is read.
type pace struct {
	usual time.Duration
	retry time.Duration // after a failure, doubled for each that follows, up to most
	most  time.Duration
}

// maxLater bounds what a server may ask for by Retry-After.
const maxLater = time.Hour

// laterError is a failure of which the server said when to come again.
type laterError struct {
	error
	after time.Duration
}

func (e laterError) Unwrap() error { return e.error }

// refusal is a failure that is an answer: the same comes again until somebody changes
// something.
type refusal struct{ error }

func (e refusal) Unwrap() error { return e.error }

// wait is until the next look. A server's own wish is kept to the full.
func (p pace) wait(s Start, r reading, err error, failures int) time.Duration {
	d := p.usual
	switch {
	case r.next > 0:
		d = r.next
	case err != nil:
		d = doubled(p.retry, failures, p.most)
	}
	d = s.spread(d)
	var later laterError
	if errors.As(err, &later) {
		after := min(later.after, maxLater)
		d = max(d, after+after-s.spread(after))
	}
	return d
}

// doubled is a delay after some failures in a row, the first being 1.
func doubled(d time.Duration, failures int, most time.Duration) time.Duration {
	for ; failures > 1 && d < most; failures-- {
		d *= 2
	}
	return min(d, most)
}

// poll reads a source again and again.
func poll(ctx context.Context, s Start, l *ledger, p pace, read func(context.Context) (reading, error), tell func([]Bundle)) {
	for failures := 0; ; {
		r, err := read(ctx)
		if ctx.Err() != nil {
			return
		}
		failures++
		if err == nil {
			failures = 0
		}
		wait := p.wait(s, r, err, failures)
		now := s.Clock.Now()
		switch next := now.Add(wait); {
		case errors.As(err, new(refusal)):
			l.refused(now, next, steady(err.Error()))
		case err != nil:
			l.failed(now, next, steady(err.Error()))
		case r.same:
			l.again(now, next)
		default:
			l.read(now, next, r.found)
		}
		tell(l.all())
		if !s.sleep(ctx, wait) {
			return
		}
	}
}
