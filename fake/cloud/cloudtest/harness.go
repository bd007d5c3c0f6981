package cloudtest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"gatehouse.dev/fake/cloud"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// Reach is how the clients of a cloud get at it. It is asked once for each cloud,
// and ends what it starts with the test.
type Reach func(testing.TB, *cloud.Cloud) cloud.API

// Harness is the fake provider's, over clients that reach their clouds in a way.
func Harness(reach Reach) providertest.Harness {
	return providertest.Harness{
		New: func(tb testing.TB, env providertest.Env) providertest.World { return newWorld(tb, env, reach) },
		Settings: func(location string) json.RawMessage {
			return json.RawMessage(fmt.Sprintf(`{"location":%q}`, location))
		},
		Locations: []string{"local", "remote"},
		Adopt: func(w providertest.World, gw lbmodel.Gateway) lbmodel.Gateway {
			gw.Settings = json.RawMessage(fmt.Sprintf(`{"location":"local","network":%q,"networkIdleSeconds":30}`, w.(*world).network))
			return gw
		},
	}
}

// world is a fake cloud under the laws.
type world struct {
	*cloud.Cloud
	api     cloud.API // how clients reach it
	keys    providers.Keyring
	network lbmodel.Handle
}

func newWorld(tb testing.TB, env providertest.Env, reach Reach) *world {
	c, err := cloud.New(cloud.Options{
		AddressDelay: -1, HealthDelay: -1, Now: env.Now, PageSize: 20, Locations: []string{"local", "remote"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	w := &world{Cloud: c, api: reach(tb, c), keys: env.Keyring}
	w.addForeign(tb)
	return w
}

// addForeign fills the account with what is nearly ours: an address that we would
// get, a rule with a number that we would choose, trust and endpoints of another
// cluster under the names that ours have.
func (w *world) addForeign(tb testing.TB) {
	w.network = w.create(tb, cloud.KindNetwork, "prod", &cloud.Network{CIDR: "10.0.0.0/8", Description: "theirs", IdleSeconds: 600})
	w.create(tb, cloud.KindAddress, "theirs", &cloud.Address{Value: "127.71.0.1", Prefixes: []string{"127.71.0.0/16"}})
	balancer := w.create(tb, cloud.KindBalancer, "theirs", &cloud.Balancer{Network: string(w.network)})
	listener := w.create(tb, cloud.KindListener, "theirs", &cloud.Listener{Balancer: string(balancer), Port: 80, Protocol: lbmodel.ProtocolHTTP})
	w.create(tb, cloud.KindRule, "theirs", &cloud.Rule{
		Listener: string(listener), Number: 1 << 16, Action: lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 418}},
	})
	w.addCluster(tb)
}

// create makes an object without tags.
func (w *world) create(tb testing.TB, kind, name string, body cloud.Body) lbmodel.Handle {
	tb.Helper()
	o, err := w.Create(tb.Context(), cloud.CreateRequest{Kind: kind, Location: "local", Name: name, Body: text(tb, body)})
	if err != nil {
		tb.Fatalf("create %s %s: %v", kind, name, err)
	}
	return o.Handle
}

// foreignRoot is the same in every world, so that worlds can be compared.
var foreignRoot = sync.OnceValue(newRoot)

// addCluster applies another cluster's gateway, as far as ours could meet it.
func (w *world) addCluster(tb testing.TB) {
	tb.Helper()
	gw := lbmodel.Gateway{
		Owner: lbmodel.Owner{Cluster: "other", Kind: "Gateway", Namespace: "apps", Name: "gw0", UID: "uid-gw0"},
		Trust: []lbmodel.Trust{{Name: "mesh", Roots: []lbmodel.Root{foreignRoot()}}},
		Pools: []lbmodel.Pool{{Name: "p0", Group: "apps/a:80", Protocol: lbmodel.PoolHTTP1, Endpoints: []lbmodel.Endpoint{{Address: "10.9.9.9", Port: 80, Ready: true}}}},
	}
	account := providers.NewAccount(providers.Config{Provider: cloud.NewProvider(w.Cloud, nil), Cluster: gw.Owner.Cluster, Parallel: 1})
	account.Want(gw)
	plan, err := account.Plan(context.Background(), []lbmodel.Owner{gw.Owner})
	if err != nil {
		tb.Fatal(err)
	}
	if err := account.Apply(context.Background(), plan, nil).Err(); err != nil {
		tb.Fatal(err)
	}
}

// Provider implements providertest.World.
func (w *world) Provider() providers.Provider { return cloud.NewProvider(w.api, w.keys) }

// Hook implements providertest.World.
func (w *world) Hook(h providertest.Hook) {
	if h == nil {
		w.Intercept(nil)
		return
	}
	w.Intercept(hook{h})
}

// hook lets the suite's hook see our calls.
type hook struct{ providertest.Hook }

// Before implements cloud.Interceptor.
func (h hook) Before(c cloud.Call) cloud.Fault {
	f := h.Hook.Before(providertest.Call{Name: c.Name, Write: c.Write})
	kinds := map[providertest.FaultKind]cloud.FaultKind{
		providertest.Works: cloud.Works, providertest.Refuse: cloud.Refuse, providertest.LoseReply: cloud.LoseReply,
		providertest.Hang: cloud.Hang, providertest.Stale: cloud.Stale,
	}
	return cloud.Fault{Kind: kinds[f.Kind], Error: &cloud.CallError{Code: cloud.FaultOf(f.Code), Message: "injected"}}
}

// After implements cloud.Interceptor.
func (h hook) After(c cloud.Call) { h.Hook.After(providertest.Call{Name: c.Name, Write: c.Write}) }
