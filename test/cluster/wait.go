package cluster

import (
	"context"
	"testing"
	"time"
)

// Eventually asks until the answer is nil, and fails the test with the last one
// when the time is over.
func Eventually(tb testing.TB, within time.Duration, ask func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), within)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return
		}
		if pause(ctx) != nil {
			tb.Fatalf("not within %s: %v", within, err)
		}
	}
}
