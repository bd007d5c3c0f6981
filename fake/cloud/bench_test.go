package cloud

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// many is a gateway with n rules to some pools.
func many(n int) lbmodel.Gateway {
	gw := lbmodel.Gateway{
		Owner: lbmodel.Owner{Cluster: "c1", Kind: "Gateway", Namespace: "apps", Name: "edge"},
		Pools: []lbmodel.Pool{pool("a", lbmodel.PoolHTTP1, "10.0.0.1", "10.0.0.2"), pool("b", lbmodel.PoolHTTP1, "10.0.1.1")},
	}
	l := httpListener(80)
	for i := range n {
		l.Rules = append(l.Rules, prefix("/r"+strconv.Itoa(i), "a"))
	}
	gw.Listeners = []lbmodel.Listener{l}
	return gw
}

// BenchmarkCalls tells how many calls a change costs: writes/op must be 1 for one
// rule or endpoint, and 0 for nothing. Each change is made and taken back.
func BenchmarkCalls(b *testing.B) {
	changes := map[string]func(*lbmodel.Gateway){
		"nothing": func(*lbmodel.Gateway) {},
		"one-rule-inserted": func(g *lbmodel.Gateway) {
			g.Listeners[0].Rules = slices.Insert(slices.Clone(g.Listeners[0].Rules), 50, prefix("/new", "b"))
		},
		"one-endpoint": func(g *lbmodel.Gateway) {
			g.Pools = slices.Clone(g.Pools)
			g.Pools[0].Endpoints = append(slices.Clone(g.Pools[0].Endpoints), ready("10.0.0.3"))
		},
	}
	for _, name := range []string{"nothing", "one-rule-inserted", "one-endpoint"} {
		b.Run(name, func(b *testing.B) {
			c := newCloud(b, nil)
			l, before := newLoop(b, c, nil), many(100)
			l.apply(before)
			after := before
			after.Listeners = slices.Clone(before.Listeners)
			changes[name](&after)
			start, passes := writes(c.Calls()), 0
			for b.Loop() {
				l.apply(after)
				l.apply(before)
				passes += 2
			}
			b.ReportMetric(float64(writes(c.Calls())-start)/float64(passes), "writes/change")
		})
	}
}

// BenchmarkTwentyThousandRules tells what the pure parts and a full observation
// cost where there are very many rules.
func BenchmarkTwentyThousandRules(b *testing.B) {
	const n = 19_999
	c := newCloud(b, nil)
	gw := many(n)
	l := newLoop(b, c, nil)
	l.apply(gw)
	have, err := l.provider.Observe(b.Context(), gw.Owner, nil)
	if err != nil {
		b.Fatal(err)
	}
	gw.Listeners[0].Rules = slices.Insert(gw.Listeners[0].Rules, n/2, prefix("/new", "b"))
	own, _, _ := l.provider.Compile(gw)
	b.Run("Compile", func(b *testing.B) {
		for b.Loop() {
			l.provider.Compile(gw)
		}
	})
	b.Run("Place", func(b *testing.B) {
		for b.Loop() {
			l.provider.Place(own, have, time.Now())
		}
	})
	b.Run("Observe", func(b *testing.B) {
		for b.Loop() {
			if _, err := l.provider.Observe(b.Context(), gw.Owner, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Serving", func(b *testing.B) {
		for b.Loop() {
			c.Serving()
		}
	})
}

// BenchmarkStateDir tells what one write costs in a directory that holds very many
// objects: one line appended and flushed, now and then a snapshot.
func BenchmarkStateDir(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("%d-objects", n), func(b *testing.B) {
			c := newCloud(b, func(o *Options) { o.StateDir = b.TempDir() })
			var last Object
			for i := range n {
				last = mustCreate(b, c, KindNetwork, "n"+strconv.Itoa(i), &Network{})
			}
			i := int32(0)
			for b.Loop() {
				i++
				mustUpdate(b, c, last, &Network{IdleSeconds: i})
			}
		})
	}
}
