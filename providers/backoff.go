package providers

import (
	"context"
	"errors"
	"time"

	"gatehouse.dev/lbmodel"
)

// backoff is how long to wait before the next try after a failed one, and
// whether there may be one: within a run only what time alone may heal is tried
// again. The delay is the error table's with full jitter, and never less than
// the cloud asked for: who asks for more than Patience.Cap is asked by a later run.
func (a *Account) backoff(err error, try int) (wait time.Duration, again bool) {
	next := lbmodel.RetryOf(lbmodel.CodeOf(err))
	switch next.Rule {
	case lbmodel.RetryBackoff, lbmodel.RetryWhenTold:
	default:
		return 0, false
	}
	asked := askedFor(err)
	if a.leaves(err) {
		return 0, false
	}
	jittered := time.Duration(a.config.Rand() * float64(next.Delay(try, 0)))
	return min(max(jittered, asked), a.config.Patience.Cap), try < a.config.Patience.Attempts
}

// leaves says whether a run does not wait for what an error is about: it would be too
// long, or is somebody else's business than the cloud's.
func (a *Account) leaves(err error) bool {
	if askedFor(err) > a.config.Patience.Cap {
		return true
	}
	for e, ok := errors.AsType[*lbmodel.Error](err); ok; e, ok = errors.AsType[*lbmodel.Error](e.Err) {
		if e.Elsewhere {
			return true
		}
	}
	return false
}

// pollAfter is how long to wait before the next look at a Pending step: jittered
// in its upper half, so that looks are spread but never rapid.
func (a *Account) pollAfter(err error, look int) time.Duration {
	delay := lbmodel.RetryOf(lbmodel.CodePending).Delay(look, askedFor(err))
	return min(delay/2+time.Duration(a.config.Rand()*float64(delay/2)), a.config.Patience.Cap)
}

// askedFor is the wait that the cloud asked for, or 0.
func askedFor(err error) time.Duration {
	if e, ok := errors.AsType[*lbmodel.Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// sleep waits and says whether it was allowed to: not when ctx ended first.
func (a *Account) sleep(ctx context.Context, wait time.Duration) bool {
	select {
	case <-a.config.Clock.After(wait):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
