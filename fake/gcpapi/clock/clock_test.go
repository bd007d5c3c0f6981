package clock

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A manual clock wakes who waits when the time has come, and not before.
func TestManual(t *testing.T) {
	start := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	m := NewManual(start)
	if err := m.Wait(t.Context(), start); err != nil {
		t.Errorf("what is over is not waited for: %v", err)
	}
	woken := make(chan error, 2)
	go func() { woken <- m.Wait(t.Context(), start.Add(time.Hour)) }()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { woken <- m.Wait(ctx, start.Add(time.Minute)) }()
	for far, n := m.Next(); n < 2 || far != time.Minute; far, n = m.Next() {
		time.Sleep(time.Millisecond) // until both wait
	}
	cancel()
	if err := <-woken; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up got %v", err)
	}
	m.Advance(time.Hour - 1)
	select {
	case <-woken:
		t.Error("woken too early")
	default:
	}
	m.Advance(1)
	if err := <-woken; err != nil {
		t.Error(err)
	}
	if _, n := m.Next(); n != 0 || m.Now() != start.Add(time.Hour) {
		t.Errorf("%d wait at %s", n, m.Now())
	}
}

// The wall clock waits for real time, and for the context.
func TestWall(t *testing.T) {
	if err := (Wall{}).Wait(t.Context(), Wall{}.Now().Add(time.Millisecond)); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Wall{}).Wait(ctx, Wall{}.Now().Add(time.Hour)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
