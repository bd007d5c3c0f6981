package providers_test

import (
	"testing"
	"testing/synctest"
	"time"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/internal/memcloud"
)

// TestAnAccountForgets: gateways come and go in every way, and an account that has
// seen them all remembers as much as one that has seen none.
func TestAnAccountForgets(t *testing.T) {
	lives := map[string]func(*house, string){
		"a life and a death": func(h *house, name string) { h.build(gateway(name)) },
		"endpoints came before anything was made": func(h *house, name string) {
			gw := gateway(name, func(gw *lbmodel.Gateway) { gw.Pools[0].Group = "apps/" + name + ":80" })
			h.plan(gw)
			h.endpoints(gw.Pools[0])
		},
		"private endpoints came before anything was made": func(h *house, name string) {
			gw := gateway(name, func(gw *lbmodel.Gateway) { gw.Settings = []byte(`{"location":"east","private":true}`) })
			h.plan(gw)
			change := providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: gw.Pools[0]}
			if _, err := h.account.Endpoints(h.t.Context(), change); err != nil {
				h.t.Fatal(err)
			}
		},
		"a foreign balancer is adopted": func(h *house, name string) {
			h.build(gateway(name, func(gw *lbmodel.Gateway) {
				gw.Settings = []byte(`{"location":"east","adopt":"` + string(memcloud.AdoptHandle("east")) + `"}`)
			}))
		},
		"somebody deletes a rule": func(h *house, name string) {
			h.build(gateway(name))
			h.breakIt(name)
		},
		"it lingers, and the provider is no Marker": func(h *house, name string) {
			h.restart(notAMarker)
			h.build(gateway(name))
			h.lingering(name)
		},
	}
	for how, life := range lives {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, nil)
				if _, err := h.account.Live(t.Context()); err != nil {
					t.Fatal(err)
				}
				empty := h.account.Remembered()
				for _, name := range []string{"a", "b", "c"} {
					life(h, name)
					h.bury(name)
				}
				if got := h.account.Remembered(); got != empty {
					t.Errorf("an account that nobody uses any more remembers\n%s, and a new one\n%s", got, empty)
				}
			})
		})
	}
}

// bury drops a gateway, deletes what is left of it and makes sure.
func (h *house) bury(name string) {
	h.t.Helper()
	h.account.Drop(owner(name))
	time.Sleep(10 * time.Minute)
	if _, err := h.account.Drift(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	h.mustApply(h.planOwners(owner(name)))
	time.Sleep(10 * time.Minute)
	if gone, err := h.account.Gone(h.t.Context(), owner(name)); err != nil || !gone {
		h.t.Fatalf("Gone = %v, %v", gone, err)
	}
}
