package providers

import (
	"context"

	"golang.org/x/time/rate"
)

// Pacer holds calls back so that an account stays within its provider's quotas.
// Account asks it before every call, and a provider may ask the same one before
// each of the API requests that its call is made of, under names of its own.
type Pacer interface {
	// Wait returns when op (Observe, CreateRule, DeleteTrust, …) may be called, or
	// with the context's error.
	Wait(ctx context.Context, op string) error
}

// Quota is the room that one bucket gives: PerSecond calls in the long run, Burst
// of them at once.
type Quota struct {
	PerSecond float64
	Burst     int
}

// Buckets is a Pacer of token buckets, the way clouds themselves count.
type Buckets struct {
	limiters map[string]*rate.Limiter
	bucketOf func(op string) string
}

// NewBuckets makes a bucket for each quota. bucketOf names the bucket that an
// operation draws from; operations of a bucket without a quota are not held
// back.
func NewBuckets(quotas map[string]Quota, bucketOf func(op string) string) *Buckets {
	limiters := make(map[string]*rate.Limiter, len(quotas))
	for name, q := range quotas {
		limiters[name] = rate.NewLimiter(rate.Limit(q.PerSecond), q.Burst)
	}
	return &Buckets{limiters: limiters, bucketOf: bucketOf}
}

// Wait implements Pacer.
func (b *Buckets) Wait(ctx context.Context, op string) error {
	limiter := b.limiters[b.bucketOf(op)]
	if limiter == nil {
		return ctx.Err()
	}
	return limiter.Wait(ctx)
}

// unpaced is the Pacer of an account without quotas.
type unpaced struct{}

func (unpaced) Wait(ctx context.Context, _ string) error { return ctx.Err() }

type backgroundKey struct{}

// InBackground marks a call that no user waits for: a scan for drift, a look at the
// health of targets. Requests that it is made of should give way to others.
func InBackground(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

// IsBackground says whether a call was marked so.
func IsBackground(ctx context.Context) bool { return ctx.Value(backgroundKey{}) != nil }
