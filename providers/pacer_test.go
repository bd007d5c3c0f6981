package providers_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/providers"
)

var _ providers.Pacer = (*providers.Buckets)(nil)

// readOrWrite is how most clouds count: reads and writes apart.
func readOrWrite(op string) string {
	if strings.HasPrefix(op, "Observe") {
		return "read"
	}
	return "write"
}

func TestBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := providers.NewBuckets(map[string]providers.Quota{"write": {PerSecond: 2, Burst: 4}}, readOrWrite)
		began := time.Now()
		for range 10 {
			if err := b.Wait(t.Context(), "CreateRule"); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("ten writes took %v, want 3 s: four at once, six at two a second", took)
		}
		if err := b.Wait(t.Context(), "Observe"); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("a bucket without a quota held a call back: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if b.Wait(ctx, "CreateRule") == nil || b.Wait(ctx, "Observe") == nil {
			t.Error("a cancelled call was let through")
		}
	})
}

func TestEveryCallIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pacer := &counting{}
		h := newHouse(t, func(c *providers.Config) { c.Pacer, c.Parallel = pacer, 1 })
		h.build(gateway("a"))
		if calls := sum(h.account.Calls()); pacer.n != calls {
			t.Errorf("%d calls of which %d were paced", calls, pacer.n)
		}
	})
}

type counting struct{ n int }

func (p *counting) Wait(ctx context.Context, _ string) error {
	p.n++
	return ctx.Err()
}
