package gcptraffic

import (
	"fmt"
	"slices"
	"testing"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// targets brings endpoints by the fast path, until all of it is served.
func (w *world) targets(gw lbmodel.Gateway) {
	w.Helper()
	var changes []providers.PoolChange
	for _, p := range gw.Pools {
		changes = append(changes, providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: p})
	}
	var out lbmodel.Outcome
	w.until(func() string { return fmt.Sprintf("endpoints settle: %v", out.Err()) }, func() bool {
		var err error
		out, err = w.account.Endpoints(w.Context(), changes...)
		return err == nil && out.Settled()
	})
	w.served()
}

// healthy waits until the account says that the load balancers find all of a pool's
// endpoints well: what readiness gates go by.
func (w *world) healthy(gw lbmodel.Gateway) {
	w.Helper()
	var health providers.PoolHealth
	w.until(func() string { return fmt.Sprintf("all are healthy: %v", health.Targets) }, func() bool {
		_, err := w.account.ReadHealth(w.Context())
		w.do(err)
		health = w.account.Health(providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: gw.Pools[0]})
		for _, e := range gw.Pools[0].Endpoints {
			if health.Targets[e.Target()] != lbmodel.HealthHealthy {
				return false
			}
		}
		return true
	})
}

// Why: pods are replaced all the time: one that is asked for and gone is an error for
// somebody. With readiness gates those who go are told of after those who come are
// healthy; without, both in one change.
func TestPodsAreReplaced(t *testing.T) {
	for _, c := range []struct {
		name, flavour string
		wave          int
		gated         bool
	}{
		{"one by one", "GlobalExternal", 1, true},
		{"all at once", "RegionalExternal", 4, true},
		{"one by one, without gates", "RegionalInternal", 1, false},
		{"all at once, without gates", "GlobalExternal", 4, false},
	} {
		t.Run(c.flavour+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			x := newWorld(t).meshed(c.flavour, istio())
			for range 4 {
				x.start(x.mesh.pods, x.ca)
			}
			x.bring(x.gw)
			client := x.client(x.gw.Owner, 80, nil)
			client.answers("/", "200")
			l := client.under("/")
			for gone := 0; gone < 4; gone += c.wave {
				for range c.wave {
					x.start(x.mesh.pods, x.ca)
				}
				if c.gated {
					x.targets(x.gw)
					x.healthy(x.gw)
				}
				x.gw.Pools[0].Endpoints = slices.Clone(x.gw.Pools[0].Endpoints[c.wave:])
				x.targets(x.gw)
				l.more()
				for _, p := range x.pods[gone : gone+c.wave] {
					_ = p.Close()
				}
			}
			l.end()
		})
	}
}

// Why: a route that is led to another Service in one edit, while the first one goes, must
// not be led to what is gone already (ingress-gce #1756), nor to one that nobody has used
// before until it has somebody healthy.
func TestServicesAreExchanged(t *testing.T) {
	w := newWorld(t)
	gw := w.shop("GlobalExternal")
	w.bring(gw)
	client := w.client(gw.Owner, 80, nil)
	client.answers("/a", "200 a")
	client.answers("/v1", "200 b")
	l := client.under("/a")
	l.more()
	w.pod(podAddress(4), "c")
	c := lbmodel.Action{Forward: to(lbmodel.Backend{Pool: "c", Weight: 1})}
	gw.Listeners = slices.Clone(gw.Listeners)
	gw.Listeners[0].Rules = []lbmodel.Rule{gw.Listeners[0].Rules[2], rule("a", prefix("/a"), c)}
	gw.Listeners[1].Rules = []lbmodel.Rule{gw.Listeners[1].Rules[0]}
	gw.Pools = append(slices.Clone(gw.Pools[1:]), pool("c", lbmodel.PoolHTTP1, podAddress(4)))
	w.bring(gw)
	client.answers("/a", "200 c")
	l.end()
	w.remove(gw.Owner)
}

// Why: routes come, go, move and are led elsewhere while others are used; the whole of
// it is one URL map.
func TestRoutesChange(t *testing.T) {
	w := newWorld(t)
	gw := w.shop("GlobalExternal")
	whole := gw.Listeners[0].Rules
	last := len(whole) - 1
	rules := func(r ...lbmodel.Rule) lbmodel.Gateway {
		out := gw
		out.Listeners = slices.Clone(gw.Listeners)
		out.Listeners[0].Rules = r
		return out
	}
	shares := func(a, b int32) lbmodel.Rule {
		one := whole[last]
		one.Action = lbmodel.Action{Forward: to(lbmodel.Backend{Pool: "a", Weight: a}, lbmodel.Backend{Pool: "b", Weight: b})}
		return one
	}
	w.bring(rules(whole[last]))
	client := w.client(gw.Owner, 80, nil)
	client.answers("/a", "200 a")
	l := client.under("/a")
	for _, step := range []lbmodel.Gateway{
		rules(whole...), rules(append(slices.Clone(whole[2:last]), whole[0], whole[last])...), rules(append(slices.Clone(whole[:last]), shares(9, 1))...),
		rules(append(slices.Clone(whole[:last]), shares(1, 9))...), rules(shares(0, 1)), rules(whole[last]),
	} {
		w.bring(step)
		l.more()
	}
	l.end()
	w.remove(gw.Owner)
}

// Why: one gateway's coming and going is nothing to another, though they share a Service.
func TestGatewaysComeAndGo(t *testing.T) {
	x := newWorld(t).meshed("RegionalExternal", istio())
	x.start(x.mesh.pods, x.ca)
	x.bring(x.gw)
	client := x.client(x.gw.Owner, 80, nil)
	client.answers("/", "200")
	l := client.under("/")
	other := x.gw
	other.Owner.Name, other.Owner.UID = "other", "uid-other"
	x.bring(other)
	l.more()
	x.client(other.Owner, 80, nil).answers("/", "200")
	x.account.Drop(other.Owner)
	x.until(func() string { return "the other is gone" }, func() bool {
		plan, err := x.account.Plan(x.Context(), []lbmodel.Owner{other.Owner})
		x.do(err)
		x.account.Apply(x.Context(), plan, nil)
		gone, err := x.account.Gone(x.Context(), other.Owner)
		return err == nil && gone
	})
	x.served()
	l.end()
	x.remove(x.gw.Owner)
}
