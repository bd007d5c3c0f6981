package turns

import (
	"context"
	"errors"
	"sync"
	"testing"
)

func TestOneAtATime(t *testing.T) {
	var turns Turns
	var all sync.WaitGroup
	inside := 0 // the race detector sees two at once
	for range 50 {
		all.Go(func() {
			release, err := turns.Take(t.Context(), "a")
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			inside++
		})
	}
	all.Wait()
	if inside != 50 {
		t.Errorf("%d turns were had, want 50", inside)
	}
	if len(turns.taken) != 0 {
		t.Errorf("%v is still taken", turns.taken)
	}
}

func TestNamesDoNotWaitForOneAnother(t *testing.T) {
	var turns Turns
	first, err := turns.Take(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer first()
	second, err := turns.Take(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	second()
}

func TestWhoIsTiredLeaves(t *testing.T) {
	var turns Turns
	release, err := turns.Take(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turns.Take(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting ended with %v, want %v", err, context.Canceled)
	}
	release()
	again, err := turns.Take(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	again()
}
