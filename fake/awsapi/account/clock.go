package account

import (
	"sync"
	"time"
)

// Clock is the account's time. Everything that takes time in the emulator
// (provisioning, draining, token buckets) is computed from it when somebody asks;
// nothing runs in the background.
type Clock interface{ Now() time.Time }

// Wall is the real time.
type Wall struct{}

// Now implements Clock.
func (Wall) Now() time.Time { return time.Now().UTC() }

// Manual is a clock that moves only when it is told to.
type Manual struct {
	mu  sync.Mutex
	now time.Time
}

// NewManual is a clock that stands at start.
func NewManual(start time.Time) *Manual { return &Manual{now: start.UTC()} }

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
	return m.now
}
