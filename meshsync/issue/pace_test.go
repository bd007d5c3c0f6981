package issue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// TestThousandIdentities: a thousand gateways that renew at one moment ask their CA
// at its quota and no faster, each for one certificate, and all are served in little
// more than the time that this takes. Time is virtual.
func TestThousandIdentities(t *testing.T) {
	const gateways, perSecond, burst = 1000, 10, 20
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.ring.pace = newPace(Quota{PerSecond: perSecond, Burst: burst})
		var mu sync.Mutex
		var asked []time.Duration
		began := time.Now()
		w.answer = func(ctx context.Context, r meshsync.Request) (meshsync.Issued, error) {
			mu.Lock()
			asked = append(asked, time.Since(began))
			mu.Unlock()
			return w.sign(ctx, r)
		}
		var told, longest int
		var wg sync.WaitGroup
		for i := range gateways {
			wg.Go(func() {
				for try := 1; ; try++ {
					_, err := w.ring.pair(t.Context(), identity(fmt.Sprint("g", i)))
					if err == nil {
						return
					}
					e, ok := errors.AsType[*lbmodel.Error](err)
					if !ok || e.Code != lbmodel.CodeThrottled || e.RetryAfter <= 0 {
						t.Errorf("got %v", err)
						return
					}
					mu.Lock()
					told, longest = told+1, max(longest, try)
					mu.Unlock()
					time.Sleep(e.RetryAfter)
				}
			})
		}
		wg.Wait()
		if len(asked) != gateways {
			t.Fatalf("%d calls for %d identities", len(asked), gateways)
		}
		within := 0
		for i, at := range asked {
			for within < i && asked[within] <= at-time.Second {
				within++
			}
			if n := i - within + 1; n > perSecond+burst {
				t.Fatalf("%d calls in the second before %s", n, at)
			}
			if allowed := burst + at.Seconds()*perSecond + 1; float64(i) > allowed {
				t.Fatalf("%d calls after %s, allowed are %.0f", i+1, at, allowed)
			}
		}
		if took, least := time.Since(began), gateways/perSecond*time.Second; took > least*5/4 {
			t.Errorf("all were served after %s, at the quota it takes %s", took, least)
		}
		if longest > 3 {
			t.Errorf("one was sent away %d times: all come again together", longest)
		}
		t.Logf("%d calls in %s; sent away %d times in all, one of them %d times", len(asked), time.Since(began), told, longest)
	})
}

// TestPaceOfEach: one CA's quota is no other's.
func TestPaceOfEach(t *testing.T) {
	p := newPace(Quota{PerSecond: 0.1, Burst: 1})
	if err := p.wait(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.wait(ctx, "a"); err == nil { // the place is ten seconds away
		t.Error("no wait, and no error")
	}
	if err := p.wait(t.Context(), "a"); lbmodel.CodeOf(err) != lbmodel.CodeThrottled {
		t.Errorf("got %v", err)
	}
	if err := p.wait(t.Context(), "b"); err != nil {
		t.Errorf("the quota of another: %v", err)
	}
}

// TestSilentIssuerRests: while a CA hangs, one gateway at a time finds that out, and
// the others are told at once. Time is virtual.
func TestSilentIssuerRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.answer = func(ctx context.Context, _ meshsync.Request) (meshsync.Issued, error) {
			<-ctx.Done()
			return meshsync.Issued{}, ctx.Err()
		}
		took := func(name string) time.Duration {
			began := time.Now()
			e := w.refused(identity(name), lbmodel.CodeUnavailable)
			if !e.Elsewhere {
				t.Errorf("%v: a run would wait for it", e)
			}
			return time.Since(began)
		}
		for range 2 {
			calls := w.calls()
			if d := took("a"); d != 10*time.Second {
				t.Errorf("who goes first is told after %s", d)
			}
			if d := took("b") + took("a"); d != 0 || w.calls() != calls+1 {
				t.Errorf("others wait for %s, and the CA is called %d times", d, w.calls()-calls)
			}
			w.pass(rest)
		}
		w.answer = w.sign
		w.get(identity("b"))
		w.get(identity("a"))
	})
}
