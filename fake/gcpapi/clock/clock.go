// Package clock is the emulated project's time: the wall clock, or one that a test
// moves. Nothing else in the emulator asks what time it is.
//
// Start with [Clock].
package clock

import (
	"context"
	"sync"
	"time"
)

// Clock is the project's time.
type Clock interface {
	Now() time.Time
	// Wait returns when the time has come, or with the context's error.
	Wait(ctx context.Context, until time.Time) error
}

// Wall is the real time.
type Wall struct{}

// Now implements Clock.
func (Wall) Now() time.Time { return time.Now().UTC() }

// Wait implements Clock.
func (w Wall) Wait(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(until.Sub(w.Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Manual is a clock that moves only when it is told to.
type Manual struct {
	mu      sync.Mutex
	now     time.Time
	waiting map[chan struct{}]time.Time
}

// NewManual is a clock that stands at start.
func NewManual(start time.Time) *Manual {
	return &Manual{now: start.UTC(), waiting: map[chan struct{}]time.Time{}}
}

// Now implements Clock.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock forward, and returns the new time.
func (m *Manual) Advance(by time.Duration) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(max(0, by))
	for woken, until := range m.waiting {
		if !until.After(m.now) {
			close(woken)
			delete(m.waiting, woken)
		}
	}
	return m.now
}

// Next is how far it is to the earliest time that somebody waits for, and how many wait;
// 0 and 0 if nobody does.
func (m *Manual) Next() (time.Duration, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var first time.Time
	for _, until := range m.waiting {
		if first.IsZero() || until.Before(first) {
			first = until
		}
	}
	if first.IsZero() {
		return 0, 0
	}
	return first.Sub(m.now), len(m.waiting)
}

// Wait implements Clock.
func (m *Manual) Wait(ctx context.Context, until time.Time) error {
	m.mu.Lock()
	if !until.After(m.now) {
		m.mu.Unlock()
		return nil
	}
	woken := make(chan struct{})
	m.waiting[woken] = until
	m.mu.Unlock()
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.waiting, woken)
		return ctx.Err()
	}
}
