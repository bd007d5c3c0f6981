package awstraffic

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"gatehouse.dev/lbmodel"
)

// shop is a gateway with a service of n pods, which run.
func (w *world) shop(name string, n int) lbmodel.Gateway {
	gw := lbmodel.Gateway{
		Owner:     lbmodel.Owner{Cluster: cluster, Kind: "Gateway", Namespace: "shop", Name: name, UID: "uid-" + name},
		Settings:  json.RawMessage(`{"region":"` + region + `","scheme":"internet-facing","trust":{"bucket":"` + bucket + `"},"targetGroupAttributes":{"deregistration_delay.timeout_seconds":"20"}}`),
		Listeners: []lbmodel.Listener{{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP}},
	}
	w.add(&gw, "a", pods(0, 0, n))
	return gw
}

// add adds a service and the route to it, in front of the others.
func (w *world) add(gw *lbmodel.Gateway, name string, endpoints []lbmodel.Endpoint) {
	w.run(name, endpoints)
	gw.Pools = append(slices.Clone(gw.Pools), lbmodel.Pool{Name: name, Group: "shop/" + name + ":80", Protocol: lbmodel.PoolHTTP1,
		Source: lbmodel.Source{Kind: "Service", Namespace: "shop", Name: name}, Endpoints: endpoints})
	gw.Listeners = slices.Clone(gw.Listeners)
	for i := range gw.Listeners {
		l := &gw.Listeners[i]
		l.Rules = append([]lbmodel.Rule{{
			Source: lbmodel.Source{Kind: "HTTPRoute", Namespace: "shop", Name: name, Section: "rules[0].matches[0]"},
			Match:  lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: "/" + name}},
			Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: name, Weight: 1}}}},
		}}, l.Rules...)
	}
}

// pods are n endpoints of a service; each generation has its own addresses.
func pods(service, generation, n int) []lbmodel.Endpoint {
	var out []lbmodel.Endpoint
	for i := range n {
		out = append(out, lbmodel.Endpoint{Address: fmt.Sprintf("10.0.%d.%d", 48+service*10+generation, 1+i), Port: 8080, Ready: true})
	}
	return out
}

// Pods are replaced in waves; each pod ends when its load balancer has let it go.
func TestPodsAreReplaced(t *testing.T) {
	for _, wave := range []int{20, 5, 1} {
		t.Run(fmt.Sprintf("20 pods, %d at a time", wave), func(t *testing.T) {
			w := newWorld(t)
			n := 20
			if wave == 1 {
				n = 6 // each takes the time of a check
			}
			gw := w.shop("pods", n)
			w.bring(gw)
			c := w.traffic(&clients{path: "/a", answers: []string{"a"}})
			next := pods(0, 1, n)
			for done := 0; done < n; done += wave {
				from, to := done, min(n, done+wave)
				old := slices.Clone(gw.Pools[0].Endpoints[from:to])
				w.run("a", next[from:to])
				gw.Pools[0].Endpoints = slices.Clone(gw.Pools[0].Endpoints)
				copy(gw.Pools[0].Endpoints[from:to], next[from:to])
				w.target(gw)
				w.end(old)
				c.more(after)
			}
			c.end("rollout")
		})
	}
}

// Routes come and go, before and after others, and weights move.
func TestRoutesChange(t *testing.T) {
	w := newWorld(t)
	gw := w.shop("routes", 2)
	w.bring(gw)
	c := w.traffic(&clients{path: "/a", answers: []string{"a", "b"}})
	for i, name := range []string{"c", "d", "b"} {
		w.add(&gw, name, pods(1+i, 0, 2))
		w.bring(gw)
		c.more(after)
	}
	last := len(gw.Listeners[0].Rules) - 1
	for _, share := range []int32{1, 50, 99, 100} {
		rules := slices.Clone(gw.Listeners[0].Rules)
		rules[last].Action = lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "a", Weight: 100 - share}, {Pool: "b", Weight: share}}}}
		gw.Listeners = slices.Clone(gw.Listeners)
		gw.Listeners[0].Rules = rules
		w.bring(gw)
		c.more(after)
	}
	gw.Listeners[0].Rules = slices.Clone(gw.Listeners[0].Rules)
	slices.Reverse(gw.Listeners[0].Rules[:last])
	w.bring(gw)
	c.more(after)
	gw.Listeners[0].Rules = gw.Listeners[0].Rules[last:]
	w.bring(gw)
	c.end("routes inserted, weighed, moved and removed")
}

// The process ends at each of its calls while a gateway gains a route, a weight and
// pods.
func TestProcessIsKilled(t *testing.T) {
	w := newWorld(t)
	gw := w.shop("killed", 3)
	w.bring(gw)
	c := w.traffic(&clients{path: "/a", answers: []string{"a"}})
	w.add(&gw, "b", pods(1, 0, 2))
	old := gw.Pools[0].Endpoints
	gw.Pools[0].Endpoints = pods(0, 1, 3)
	w.run("a", gw.Pools[0].Endpoints)
	kills := w.bringKilled(gw)
	w.end(old)
	c.end(fmt.Sprintf("%d processes killed", kills))
	if kills < 10 {
		t.Errorf("%d processes were killed: the change has more calls than that", kills)
	}
	w.start()
	w.remove(gw.Owner)
}

// One gateway comes and goes beside another.
func TestGatewaysComeAndGo(t *testing.T) {
	w := newWorld(t)
	gw := w.shop("stays", 2)
	w.bring(gw)
	c := w.traffic(&clients{path: "/a", answers: []string{"a"}})
	other := w.shop("goes", 2)
	w.bring(other)
	c.more(after)
	w.remove(other.Owner)
	c.end("another gateway came and went")
}
