package providers_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// TestChaos lets several gateways change at once, beside endpoint changes and
// drift scans, on a cloud that answers slowly and fails often. When that ends,
// everything becomes what was wished last, and nothing else is there.
func TestChaos(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { chaos(t, seed) })
		})
	}
}

func chaos(t *testing.T, seed uint64) {
	h := newHouse(t, func(c *providers.Config) { c.Patience.Pending = 20 * time.Second })
	h.cloud.Hook(&moody{r: rand.New(rand.NewPCG(seed, 1))})
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() { h.live(t, fmt.Sprintf("gw%d", i), rand.New(rand.NewPCG(seed, uint64(10+i)))) })
	}
	all.Go(func() {
		for i := range 20 {
			time.Sleep(5 * time.Second)
			_, _ = h.account.Endpoints(t.Context(), poolChange("x", pool("10.0.0.1", fmt.Sprintf("10.0.1.%d", i))))
			_, _ = h.account.Drift(t.Context())
		}
	})
	all.Wait()
	h.cloud.Hook(nil)
	time.Sleep(time.Hour)
	h.settleDown(t)
}

// live is the life of one gateway: what becomes of each turn is not looked at.
func (h *house) live(t *testing.T, name string, r *rand.Rand) {
	for range 10 {
		time.Sleep(time.Duration(r.IntN(8000)) * time.Millisecond)
		if r.IntN(4) == 0 {
			h.account.Drop(owner(name))
		} else {
			h.account.Want(gateway(name, rooted(fmt.Sprintf("r%d", r.IntN(3))), withPool(pool("10.0.0.1"))))
		}
		patience := time.Duration(r.IntN(2)*20) * time.Second
		plan, err := h.account.Plan(t.Context(), []lbmodel.Owner{owner(name)}, lbmodel.Linger(patience))
		if err == nil {
			h.account.Apply(t.Context(), plan, nil)
		}
	}
}

// settleDown wishes two gateways and expects them, and nothing else.
func (h *house) settleDown(t *testing.T) {
	t.Helper()
	owners := []lbmodel.Owner{owner("gw0"), owner("gw1"), owner("gw2"), owner("gw3"), owner("gw4")}
	for _, o := range owners[2:] {
		h.account.Drop(o)
	}
	h.account.Want(gateway("gw0"))
	h.account.Want(gateway("gw1"))
	for range 3 {
		h.account.Apply(t.Context(), h.planOwners(owners...), nil)
	}
	if plan := h.planOwners(owners...); !plan.Empty() || len(plan.Waiting()) > 0 {
		t.Errorf("still to do: %v, waiting: %v", stepsOf(plan), plan.Waiting())
	}
	var got []lbmodel.ID
	graph, err := h.cloud.NewProvider().Observe(t.Context(), lbmodel.Owner{Cluster: "test"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, r := range graph {
		got = append(got, id)
		if !r.Facts.DroppedAt.IsZero() {
			t.Errorf("%s is wanted, and noted as dropped at %s", id, r.Facts.DroppedAt)
		}
	}
	want := "[Address 2 Backend 2 Group 1 Identity 2 Listener 2 Rule 4 Trust 1]"
	if kindsOf(got) != want {
		t.Errorf("there is %s, want %s", kindsOf(got), want)
	}
	ours := slices.DeleteFunc(h.cloud.Dump(), func(o providertest.Object) bool { return o.Foreign != "" })
	if len(ours) != len(got) {
		t.Errorf("%d objects for %d resources: something was doubled", len(ours), len(got))
	}
}

// moody is a cloud that takes its time, and fails one call in five.
type moody struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (m *moody) Before(c providertest.Call) providertest.Fault {
	m.mu.Lock()
	codes := []lbmodel.Code{lbmodel.CodeUnavailable, lbmodel.CodeThrottled, lbmodel.CodeDenied}
	delay, mood, code := time.Duration(m.r.IntN(1500))*time.Millisecond, m.r.IntN(15), codes[m.r.IntN(len(codes))]
	m.mu.Unlock()
	time.Sleep(delay)
	switch {
	case mood < 2 && c.Write:
		return providertest.Fault{Kind: providertest.LoseReply, Code: lbmodel.CodeUnavailable}
	case mood < 3:
		return providertest.Fault{Kind: providertest.Refuse, Code: code}
	default:
		return providertest.Fault{}
	}
}

func (m *moody) After(providertest.Call) {}
