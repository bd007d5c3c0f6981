package providers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// TestRetries fails one call of a run with each code and expects what the error
// table says.
func TestRetries(t *testing.T) {
	tests := []struct {
		name  string
		code  lbmodel.Code
		calls int
		why   string
	}{
		{"throttled", lbmodel.CodeThrottled, 5, "the cloud asks to come again"},
		{"unavailable", lbmodel.CodeUnavailable, 5, "networks heal"},
		{"unknown", lbmodel.CodeUnknown, 5, "it may be anything"},
		{"denied", lbmodel.CodeDenied, 1, "only a person can help"},
		{"quota", lbmodel.CodeQuota, 1, "only a person can help"},
		{"invalid", lbmodel.CodeInvalid, 1, "the same again is wrong again"},
		{"not found", lbmodel.CodeNotFound, 1, "what we know is out of date"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, nil)
				h.cloud.Hook(failing("CreateTrust", tt.code, -1))
				out := h.account.Apply(t.Context(), h.plan(gateway("edge")), nil)
				if code := lbmodel.CodeOf(out.Err()); code != tt.code || len(out.Failed) != 1 {
					t.Errorf("failed: %v, want one with %s", out.Failed, tt.code)
				}
				if n := h.account.Calls()["CreateTrust"]; n != tt.calls {
					t.Errorf("%d calls, want %d: %s", n, tt.calls, tt.why)
				}
			})
		})
	}
}

// TestBranchesGoOn lets one branch fail and expects the others to be done.
func TestBranchesGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.cloud.Hook(failing("CreateTrust", lbmodel.CodeDenied, -1))
		out := h.account.Apply(t.Context(), h.plan(gateway("edge")), nil)
		if got, want := kindsOf(out.Done), "[Address 1 Group 1 Identity 1 Listener 1]"; got != want {
			t.Errorf("done %s, want %s", got, want)
		}
		if got, want := kindsOf(out.Blocked), "[Backend 1 Rule 2]"; got != want {
			t.Errorf("blocked %s, want %s", got, want)
		}
	})
}

// TestRetryBudget lets everything fail and expects the run to give up long before
// every step has had all its tries.
func TestRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *providers.Config) { c.Patience = providers.Patience{Attempts: 100, Retries: 7} })
		h.cloud.Hook(hook{before: func(c providertest.Call) providertest.Fault {
			if !c.Write {
				return providertest.Fault{}
			}
			return providertest.Fault{Kind: providertest.Refuse, Code: lbmodel.CodeUnavailable}
		}})
		plan := h.plan(gateway("edge"))
		observed := sum(h.account.Calls())
		h.account.Apply(t.Context(), plan, nil)
		roots := 4 // address, group, trust, identity: the steps that wait for nothing
		if n, most := sum(h.account.Calls())-observed, roots+7+len(plan.Steps)/4; n != most {
			t.Errorf("%d calls, want %d: each of %d steps once, and the budget", n, most, roots)
		}
	})
}

// TestBackoffHasJitterAndObeysTheCloud measures waits on the bubble's clock.
func TestBackoffHasJitterAndObeysTheCloud(t *testing.T) {
	tests := []struct {
		name string
		rand float64
		ask  time.Duration
		want time.Duration
		why  string
	}{
		{"full", 1, 0, 1 * time.Second, "the table's first delay of Throttled"},
		{"jittered", 0.25, 0, 250 * time.Millisecond, "full jitter starts at nothing"},
		{"asked for more", 0.25, 7 * time.Second, 7 * time.Second, "never sooner than asked"},
		{"asked for too much", 0.25, time.Hour, 0, "a run never sleeps for an hour, and the next one comes then"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &asking{after: tt.ask}
				h := newHouse(t, func(c *providers.Config) {
					p.Provider = c.Provider
					c.Provider, c.Rand = p, func() float64 { return tt.rand }
				})
				var waits []time.Duration
				h.account.Apply(t.Context(), h.plan(gateway("edge")), func(e providers.Event) {
					if e.What == providers.Retrying {
						waits = append(waits, e.Wait)
					}
				})
				if tt.want == 0 && len(waits) > 0 || tt.want > 0 && !slices.Equal(waits, []time.Duration{tt.want}) {
					t.Errorf("waited %v, want %v: %s", waits, tt.want, tt.why)
				}
			})
		})
	}
}

// asking is a provider whose first write is throttled, with a wish.
type asking struct {
	providers.Provider
	after time.Duration
	asked atomic.Bool
}

func (p *asking) Apply(ctx context.Context, o lbmodel.Owner, s lbmodel.Step, r providers.Resolve) (lbmodel.Resource, error) {
	if s.ID.Kind == "Trust" && !p.asked.Swap(true) {
		return lbmodel.Resource{}, &lbmodel.Error{Code: lbmodel.CodeThrottled, RetryAfter: p.after}
	}
	return p.Provider.Apply(ctx, o, s, r)
}

// TestPendingHoldsNoWorker has two things that take their time, and one worker.
func TestPendingHoldsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *providers.Config) { c.Parallel = 1 })
		began := time.Now()
		h.build(gateway("a"), gateway("b"), gateway("c"))
		// Each address takes 5 s, and is looked at after 2 s and 4 s more.
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("three addresses of 5 s took %v: they waited for each other", took)
		}
	})
}

func TestPendingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *providers.Config) { c.Patience.Pending = 4 * time.Second })
		gw := gateway("edge", withPool(pool())) // endpoints would be Pending too
		out := h.account.Apply(t.Context(), h.plan(gw), nil)
		if code := lbmodel.CodeOf(out.Err()); code != lbmodel.CodePending || kindsOf(out.Blocked) != "[Listener 1 Rule 2]" {
			t.Fatalf("failed %v, blocked %v; want the address Pending and what needs it blocked", out.Failed, out.Blocked)
		}
		later := out.Held.Waiting()
		if len(later) != 1 || later[0].Reason != lbmodel.WaitPending || !later[0].Until.After(time.Now()) {
			t.Errorf("Held waits for %v, want when to look again", later)
		}
		time.Sleep(5 * time.Second)
		h.build(gw)
		h.expectNothing(gw)
	})
}

// Why: a certificate that backends do not trust yet may wait for hours. A run that
// looks again every half minute asks for one each time, and holds up its gateway.
func TestLongPendingIsGivenUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.gate = time.Hour
		gw, began := gateway("edge"), time.Now()
		out := h.account.Apply(t.Context(), h.plan(gw), nil)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("looked at it for %s", took)
		}
		if n := h.issued.Load(); n != 1 {
			t.Errorf("asked for a certificate %d times, want once", n)
		}
		later := out.Held.Waiting()
		if len(later) != 1 || later[0].Until.Sub(began) < time.Hour || !strings.Contains(later[0].Why, "backends do not trust it yet") {
			t.Errorf("Held waits for %+v, want an hour and the reason that was given", later)
		}
	})
}

func TestCancelStopsStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *providers.Config) { c.Parallel = 2 })
		ctx, cancel := context.WithCancel(t.Context())
		inFlight := make(chan struct{})
		h.cloud.Hook(hook{before: func(c providertest.Call) providertest.Fault {
			if c.Write {
				cancel()
				<-inFlight
			}
			return providertest.Fault{}
		}})
		plan := h.plan(gateway("edge"))
		time.AfterFunc(3*time.Second, func() { close(inFlight) })
		began := time.Now()
		out := h.account.Apply(ctx, plan, nil)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("returned after %v: what is in flight is waited for, and nothing else", took)
		}
		if len(out.Done)+len(out.Failed) == 0 || len(out.Done)+len(out.Failed) > 2 || len(out.Blocked) < len(plan.Steps)-2 {
			t.Errorf("done %v, failed %v, blocked %v; want at most what was in flight", out.Done, out.Failed, out.Blocked)
		}
		h.cloud.Hook(nil)
		h.build(gateway("edge"))
	})
}

// TestHangIsGivenUp has a provider that ignores its deadline.
func TestHangIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *providers.Config) {
			c.CallTimeout, c.Patience.Attempts = 20*time.Second, 1
		})
		stuck := make(chan struct{})
		var once atomic.Bool
		h.cloud.Hook(hook{before: func(c providertest.Call) providertest.Fault {
			if c.Name == "CreateTrust" && !once.Swap(true) {
				<-stuck
			}
			return providertest.Fault{}
		}})
		gw := gateway("edge")
		began := time.Now()
		out := h.account.Apply(t.Context(), h.plan(gw), nil)
		if took := time.Since(began); took != 25*time.Second {
			t.Errorf("gave up after %v, want the deadline of 20 s and a quarter", took)
		}
		if code := lbmodel.CodeOf(out.Err()); code != lbmodel.CodeUnavailable || kindsOf(out.Done) != "[Address 1 Group 1 Identity 1 Listener 1]" {
			t.Errorf("failed %v, done %v; want only the hanging branch to fail", out.Err(), kindsOf(out.Done))
		}
		// While the call is still out there nobody calls about the same resource.
		if out = h.account.Apply(t.Context(), h.plan(gw), nil); lbmodel.CodeOf(out.Err()) != lbmodel.CodePending {
			t.Errorf("beside a call that has not returned: %v, want Pending", out.Err())
		}
		close(stuck)
		synctest.Wait()
		h.build(gw)
		h.expectNothing(gw)
	})
}

func TestPanicCostsOneStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *providers.Config) { c.Patience.Attempts = 1 })
		h.cloud.Hook(hook{before: func(c providertest.Call) providertest.Fault {
			if c.Name == "CreateTrust" {
				panic(errors.New("key: sesame"))
			}
			return providertest.Fault{}
		}})
		out := h.account.Apply(t.Context(), h.plan(gateway("edge")), nil)
		err := out.Err()
		if lbmodel.CodeOf(err) != lbmodel.CodeInternal || strings.Contains(err.Error(), "sesame") {
			t.Errorf("a panic became %v, want Internal without the value", err)
		}
		if got := kindsOf(out.Done); got != "[Address 1 Group 1 Identity 1 Listener 1]" {
			t.Errorf("done %s, want the other branches", got)
		}
	})
}

// TestTeardownWaitsForItsReplacement moves a gateway to an address that the cloud
// refuses.
func TestTeardownWaitsForItsReplacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("edge"))
		moved := gateway("edge", func(gw *lbmodel.Gateway) { gw.Settings = []byte(`{"location":"west"}`) })
		h.cloud.Hook(failing("CreateRule", lbmodel.CodeQuota, -1))
		probe := providertest.Probe{Owner: owner("edge"), Port: 80, Path: "/one"}
		out := h.account.Apply(t.Context(), h.plan(moved), nil)
		if len(out.Failed) != 2 || len(h.cloud.Answer(probe)) == 0 {
			t.Errorf("failed %v, answered by %v: the old must stay while the new does not work", out.Failed, h.cloud.Answer(probe))
		}
		h.cloud.Hook(nil)
		h.build(moved)
		h.expectNothing(moved)
		if got := h.cloud.Answer(probe); len(got) != 1 {
			t.Errorf("answered by %v, want the new one only", got)
		}
	})
}

func TestEventsTellTheStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.cloud.Hook(failing("CreateTrust", lbmodel.CodeThrottled, 2))
		var trust []string
		h.account.Apply(t.Context(), h.plan(gateway("edge")), func(e providers.Event) {
			if e.Step.ID.Kind == "Trust" {
				trust = append(trust, string(e.What))
			}
		})
		if want := []string{"Started", "Retrying", "Retrying", "Done"}; !slices.Equal(trust, want) {
			t.Errorf("events of the trust: %v, want %v", trust, want)
		}
	})
}

// TestInUseIsWaitedFor has a shared object that somebody unseen still uses.
func TestInUseIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *providers.Config) { c.Patience.Pending = 10 * time.Second })
		h.build(gateway("edge"))
		h.account.Drop(owner("edge"))
		h.cloud.Hook(failing("DeleteTrust", lbmodel.CodeConflict, -1))
		out := h.account.Apply(t.Context(), h.planOwners(owner("edge")), nil)
		if code := lbmodel.CodeOf(out.Err()); code != lbmodel.CodePending || len(out.Failed) != 1 {
			t.Errorf("failed %v, want one Pending", out.Failed)
		}
	})
}

// TestAScanDoesNotEndAWait observes the cloud while a group has no healthy
// endpoint yet: that it is there does not mean that it is ready.
func TestAScanDoesNotEndAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		plan := h.plan(gateway("edge"))
		var ready time.Duration
		began := time.Now()
		go func() {
			time.Sleep(time.Second)
			_, _ = h.account.Gone(t.Context(), owner("z")) // observes what is shared
		}()
		h.account.Apply(t.Context(), plan, func(e providers.Event) {
			if e.What == providers.Done && e.Step.ID.Kind == "Group" {
				ready = time.Since(began)
			}
		})
		if ready < 3*time.Second {
			t.Errorf("the group was taken for ready after %v, its endpoints are healthy after 3 s", ready)
		}
	})
}

// elsewhere is a provider that cannot make trust, for a reason outside of its cloud.
type elsewhere struct {
	providers.Provider
	code lbmodel.Code
}

func (p elsewhere) Apply(ctx context.Context, o lbmodel.Owner, s lbmodel.Step, r providers.Resolve) (lbmodel.Resource, error) {
	if s.ID.Kind == "Trust" {
		return lbmodel.Resource{}, fmt.Errorf("wrapped: %w", &lbmodel.Error{Code: p.code, Elsewhere: true})
	}
	return p.Provider.Apply(ctx, o, s, r)
}

// TestElsewhere: a run does not wait for somebody outside of the cloud, whatever the
// code says of time.
func TestElsewhere(t *testing.T) {
	for _, code := range []lbmodel.Code{lbmodel.CodeUnavailable, lbmodel.CodeThrottled, lbmodel.CodePending} {
		t.Run(code.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, func(c *providers.Config) { c.Provider = elsewhere{c.Provider, code} })
				rests := 0
				out := h.account.Apply(t.Context(), h.plan(gateway("edge")), func(e providers.Event) {
					if e.Step.ID.Kind == "Trust" && (e.What == providers.Retrying || e.What == providers.Polling) {
						rests++
					}
				})
				if rests > 0 || lbmodel.CodeOf(out.Err()) != code || len(out.Done) == 0 {
					t.Errorf("it was waited for %d times; done %d, error %v", rests, len(out.Done), out.Err())
				}
			})
		})
	}
}
