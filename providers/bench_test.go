package providers_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/internal/memcloud"
	"gatehouse.dev/providers/providertest"
)

// BenchmarkChange is one rule of one gateway among many changing: Want and Plan.
// All share their endpoints and trust. The times must not grow with the number of
// gateways.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("gateways=%d", n), func(b *testing.B) {
			account := manyGateways(b, n)
			versions := []lbmodel.Gateway{gateway("gw0"), gateway("gw0", func(gw *lbmodel.Gateway) {
				gw.Listeners[0].Rules[1].Action = lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 404}}
			})}
			i := 0
			for b.Loop() {
				i++
				account.Want(versions[i%2])
				plan, err := account.Plan(b.Context(), []lbmodel.Owner{owner("gw0")})
				if err != nil || len(plan.Steps) != i%2 {
					b.Fatalf("%d steps, %v; want %d", len(plan.Steps), err, i%2)
				}
			}
		})
	}
}

// BenchmarkEndpoints is the endpoints of a pool that all gateways share, when
// there is nothing to do for the cloud: the cost of the fast path itself, told by
// one gateway and by each.
func BenchmarkEndpoints(b *testing.B) {
	for _, n := range []struct{ gateways, told int }{{10, 1}, {1000, 1}, {1000, 1000}} {
		b.Run(fmt.Sprintf("gateways=%d/told=%d", n.gateways, n.told), func(b *testing.B) {
			account := manyGateways(b, n.gateways)
			var changes []providers.PoolChange
			for i := range n.told {
				changes = append(changes, poolChange(fmt.Sprintf("gw%d", i), pool("10.0.0.1")))
			}
			for b.Loop() {
				if _, err := account.Endpoints(b.Context(), changes...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// manyGateways is an account with many gateways, all as they should be.
func manyGateways(b *testing.B, n int) *providers.Account {
	b.Helper()
	cloud := memcloud.New(providertest.Env{Now: time.Now}, memcloud.None).NewProvider()
	still := &still{Provider: cloud, graph: lbmodel.Graph{}}
	for i := range n {
		still.add(gateway(fmt.Sprintf("gw%d", i)))
	}
	account := providers.NewAccount(providers.Config{Provider: still, Cluster: "test"})
	for i := range n {
		account.Want(gateway(fmt.Sprintf("gw%d", i)))
	}
	plan, err := account.Plan(b.Context(), []lbmodel.Owner{owner("gw0")})
	if err != nil || !plan.Empty() {
		b.Fatalf("not as it should be: %v %v", stepsOf(plan), err)
	}
	return account
}

// still is a cloud that holds what was compiled, and stands still.
type still struct {
	providers.Provider
	graph lbmodel.Graph
}

func (p *still) add(gw lbmodel.Gateway) {
	own, shared, _ := p.Compile(gw)
	for id, r := range own {
		r.Owner = gw.Owner
		p.graph[id] = r
	}
	maps.Copy(p.graph, shared)
}

func (p *still) Observe(context.Context, lbmodel.Owner, []lbmodel.Handle) (lbmodel.Graph, error) {
	return p.graph, nil
}
