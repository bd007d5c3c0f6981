package issue

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"gatehouse.dev/lbmodel"
)

// hold is how long a call waits for its issuer's quota. Beyond that its worker has
// better things to do, and is told when to come again.
const hold = time.Second

// rest is how long an issuer that did not answer in time is asked by nobody. Then one
// goes first: of many gateways that wait for it, each would keep a worker for all of
// Config.Timeout.
const rest = 30 * time.Second

// pace keeps each issuer within its quota.
type pace struct {
	quota Quota

	mu     sync.Mutex
	queues map[string]*queue
}

// queue is one issuer's bucket, and when the last of those who were sent away was
// told to come again: each later than the one before, so that they do not come
// together.
type queue struct {
	bucket *rate.Limiter
	last   time.Time
	rests  time.Time // until when nobody asks it; zero is that it answered last time
}

func newPace(q Quota) *pace { return &pace{quota: q, queues: map[string]*queue{}} }

// wait returns when the issuer may be called.
func (p *pace) wait(ctx context.Context, issuer string) error {
	delay, again := p.reserve(issuer, time.Now())
	if again > 0 {
		e := refusal(lbmodel.CodeThrottled, "%s is asked %g times a second at most, and others are first", issuer, p.quota.PerSecond)
		e.RetryAfter = again
		return e
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err() // its place is lost, which is slower than allowed
	}
}

// reserve takes a place that is free within hold, or says when to come again.
func (p *pace) reserve(issuer string, now time.Time) (delay, again time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queue(issuer)
	each := time.Duration(float64(time.Second) / p.quota.PerSecond)
	if missing := 1 - q.bucket.TokensAt(now); missing*float64(each) <= float64(max(hold, each)) {
		return q.bucket.ReserveN(now, 1).DelayFrom(now), 0
	}
	q.last = later(q.last, now.Add(hold)).Add(each)
	return 0, q.last.Sub(now)
}

// queue is an issuer's. pace.mu is held.
func (p *pace) queue(issuer string) *queue {
	q := p.queues[issuer]
	if q == nil {
		q = &queue{bucket: rate.NewLimiter(rate.Limit(p.quota.PerSecond), p.quota.Burst)}
		p.queues[issuer] = q
	}
	return q
}

// awake is nil when an issuer may be asked, and else says when to come again. Who is
// told so of one that was silent goes first, and the others wait for what comes of it.
func (p *pace) awake(issuer string, now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queue(issuer)
	again := q.rests.Sub(now)
	switch {
	case q.rests.IsZero():
		return nil
	case again > 0 && again <= rest: // more is a clock that was set back
		e := refusal(lbmodel.CodeUnavailable, "%s did not answer in time, and is left alone for a moment", issuer)
		e.RetryAfter = again
		return e
	}
	q.rests = now.Add(rest)
	return nil
}

// silent notes that an issuer did not answer in time.
func (p *pace) silent(issuer string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue(issuer).rests = now.Add(rest)
}

// spoke notes that it answered, whatever it said.
func (p *pace) spoke(issuer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue(issuer).rests = time.Time{}
}
