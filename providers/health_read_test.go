package providers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// reporting is a provider that tells health by itself: everything is sick.
type reporting struct{ providers.Provider }

func (r *reporting) Health(ctx context.Context, cluster string) (map[lbmodel.ID]map[lbmodel.Target]lbmodel.Health, error) {
	graph, err := r.Observe(ctx, lbmodel.Owner{Cluster: cluster}, nil)
	out := map[lbmodel.ID]map[lbmodel.Target]lbmodel.Health{}
	for id, resource := range graph {
		sick := map[lbmodel.Target]lbmodel.Health{}
		for target := range resource.Facts.Health {
			sick[target] = lbmodel.HealthUnhealthy
		}
		if len(sick) > 0 {
			out[id] = sick
		}
	}
	return out, err
}

// TestReadHealth: a look at the health alone is remembered, names the owners whom a
// change concerns, and costs one call; a provider that has no such call is observed.
func TestReadHealth(t *testing.T) {
	for _, c := range []struct {
		name  string
		wrap  bool
		op    string
		first []lbmodel.Owner // whom the first look concerns
		want  lbmodel.Health
	}{
		{"told by the provider", true, "Health", []lbmodel.Owner{owner("a")}, lbmodel.HealthUnhealthy},
		{"observed", false, "Observe", nil, lbmodel.HealthHealthy},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, func(config *providers.Config) {
					if c.wrap {
						config.Provider = &reporting{Provider: config.Provider}
					}
				})
				h.mustApply(h.plan(gateway("a")))
				time.Sleep(time.Minute)
				before, began := h.account.Calls()[c.op], time.Now()
				for _, want := range [][]lbmodel.Owner{c.first, nil} {
					changed, err := h.account.ReadHealth(t.Context())
					if err != nil || cmp.Diff(want, changed) != "" && len(want)+len(changed) > 0 {
						t.Errorf("it concerns %v, %v; want %v", changed, err, want)
					}
				}
				got := h.account.Health(poolChange("a", pool("10.0.0.1")))
				if got.Targets["10.0.0.1:8080"] != c.want || !got.At.Equal(began) {
					t.Errorf("known: %+v, want %s at %s", got, c.want, began)
				}
				if n := h.account.Calls()[c.op] - before; n != 2 {
					t.Errorf("%d calls for two looks", n)
				}
				h.expectNothing(gateway("a")) // health is a fact, and no reason for a step
			})
		})
	}
}
