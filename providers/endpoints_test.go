package providers_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

func withPool(p lbmodel.Pool) func(*lbmodel.Gateway) {
	return func(gw *lbmodel.Gateway) { gw.Pools = []lbmodel.Pool{p} }
}

// poolChange is new endpoints as a gateway sees them.
func poolChange(name string, p lbmodel.Pool) providers.PoolChange {
	return providers.PoolChange{Owner: owner(name), Settings: gateway(name).Settings, Pool: p}
}

func (h *house) endpoints(p lbmodel.Pool) lbmodel.Outcome {
	h.t.Helper()
	out, err := h.account.Endpoints(h.t.Context(), poolChange("x", p))
	if err != nil || !out.Settled() {
		h.t.Fatalf("Endpoints: %v, %v", err, out.Err())
	}
	return out
}

func TestEndpointsTouchNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"), gateway("b"))
		k, calls := recording()
		h.cloud.Hook(k)
		next := pool("10.0.0.1", "10.0.0.2")
		h.endpoints(next)
		if got := calls(); !slices.Equal(got, []string{"UpdateGroup"}) {
			t.Errorf("the fast path made the calls %v, want one UpdateGroup", got)
		}
		h.endpoints(next)
		if got := calls(); len(got) != 1 {
			t.Errorf("the same endpoints again made the calls %v", got[1:])
		}
		h.expectNothing(gateway("a", withPool(next)), gateway("b", withPool(next)))
	})
}

// TestEndpointsOfManyGateways: what gateways share is brought once, whatever
// becomes of it; what is each one's own is brought for each.
func TestEndpointsOfManyGateways(t *testing.T) {
	private := func(gw *lbmodel.Gateway) { gw.Settings = []byte(`{"location":"east","private":true}`) }
	tests := []struct {
		name    string
		edit    func(*lbmodel.Gateway)
		fail    lbmodel.Code
		updates int
		why     string
	}{
		{"shared", func(*lbmodel.Gateway) {}, lbmodel.CodeOK, 1, "three gateways see one change of one group"},
		{"shared, and refused", func(*lbmodel.Gateway) {}, lbmodel.CodeDenied, 1, "a refusal is not asked for once more by each gateway"},
		{"private", private, lbmodel.CodeOK, 3, "each has a group of its own, which must not be forgotten"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, nil)
				next := pool("10.0.0.1", "10.0.0.2")
				var gateways []lbmodel.Gateway
				var changes []providers.PoolChange
				for _, name := range []string{"a", "b", "c"} {
					gw := gateway(name, tt.edit)
					gateways = append(gateways, gw)
					changes = append(changes, providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: next})
				}
				h.build(gateways...)
				if tt.fail != lbmodel.CodeOK {
					h.cloud.Hook(failing("UpdateGroup", tt.fail, -1))
				}
				before := h.account.Calls()["UpdateGroup"]
				out, err := h.account.Endpoints(t.Context(), changes...)
				if err != nil || lbmodel.CodeOf(out.Err()) != tt.fail {
					t.Fatalf("Endpoints: %v, %v", err, out.Err())
				}
				if n := h.account.Calls()["UpdateGroup"] - before; n != tt.updates {
					t.Errorf("%d updates, want %d: %s", n, tt.updates, tt.why)
				}
				h.cloud.Hook(nil)
				if _, err := h.account.Endpoints(t.Context(), changes...); err != nil {
					t.Fatal(err)
				}
				for i := range gateways {
					gateways[i].Pools = []lbmodel.Pool{next}
				}
				h.expectNothing(gateways...)
			})
		})
	}
}

func TestEndpointsOfNobodyAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"))
		before := sum(h.account.Calls())
		stray := pool("10.9.9.9")
		stray.Group = "apps/nobody:80"
		h.endpoints(stray)
		if n := sum(h.account.Calls()) - before; n != 0 {
			t.Errorf("%d calls for a pool that no gateway has", n)
		}
	})
}

// TestEndpointsThatComeEarly change after the plan was made and before their
// group is there: the run catches up by itself.
func TestEndpointsThatComeEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		plan := h.plan(gateway("a"))
		next := pool("10.0.0.7")
		h.endpoints(next)
		h.mustApply(plan)
		h.expectNothing(gateway("a", withPool(next)))
	})
}

// TestEndpointsBesideAPlan change while a plan that changes them too is running:
// the newest win, whoever comes first.
func TestEndpointsBesideAPlan(t *testing.T) {
	for name, delay := range map[string]time.Duration{"the fast path first": 0, "the plan first": 2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, nil)
				h.build(gateway("a"))
				plan := h.plan(gateway("a", withPool(pool("10.0.0.1", "10.0.0.2"))))
				newest := pool("10.0.0.1", "10.0.0.3")
				h.cloud.Hook(hook{before: func(c providertest.Call) providertest.Fault {
					time.Sleep(time.Second) // so that the two meet
					return providertest.Fault{}
				}})
				var both sync.WaitGroup
				both.Go(func() {
					time.Sleep(2*time.Second - delay)
					h.account.Apply(t.Context(), plan, nil)
				})
				both.Go(func() {
					time.Sleep(delay)
					h.endpoints(newest)
				})
				both.Wait()
				h.cloud.Hook(nil)
				h.expectNothing(gateway("a", withPool(newest)))
			})
		})
	}
}

// TestEndpointsAreNotHeldUp has a configuration run that is stuck.
func TestEndpointsAreNotHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, func(c *providers.Config) { c.Parallel = 1 })
		h.build(gateway("a"))
		stuck := make(chan struct{})
		h.cloud.Hook(hook{before: func(c providertest.Call) providertest.Fault {
			if c.Name == "CreateAddress" {
				<-stuck
			}
			return providertest.Fault{}
		}})
		plan := h.plan(gateway("b"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan lbmodel.Outcome)
		go func() { ended <- h.account.Apply(ctx, plan, nil) }()
		synctest.Wait()
		h.endpoints(pool("10.0.0.1", "10.0.0.2"))
		close(stuck)
		<-ended
	})
}

// TestUnknownEndpointsStay is a plan from files, which know no endpoints.
func TestUnknownEndpointsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"))
		unknown := pool()
		unknown.Endpoints = nil
		h.expectNothing(gateway("a", withPool(unknown)))
	})
}

func TestFastPathRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.build(gateway("a"))
		h.cloud.Hook(failing("UpdateGroup", lbmodel.CodeDenied, 1))
		next := pool("10.0.0.1", "10.0.0.2")
		out, err := h.account.Endpoints(t.Context(), poolChange("a", next))
		if err != nil || lbmodel.CodeOf(out.Err()) != lbmodel.CodeDenied {
			t.Fatalf("Endpoints = %v, %v; want Denied", out.Err(), err)
		}
		h.endpoints(next)
		if n := h.account.Calls()["Observe"]; n != 2 {
			t.Errorf("%d observations, want one more after the failure", n)
		}
	})
}
