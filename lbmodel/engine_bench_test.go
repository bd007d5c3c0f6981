package lbmodel

import (
	"fmt"
	"maps"
	"testing"
)

// bigGraph is a load balancer with an address, a listener, rules and pools: size
// resources in all, an even number.
func bigGraph(size int) Graph {
	g := Graph{}
	add := func(kind, name, slot string, needs ...ID) ID {
		id := ID{Kind: kind, Location: "here", Name: name}
		g[id] = NewResource(id, &engineSpec{Value: name, Refs: needs, Port: slot})
		return id
	}
	address := add("Address", "shop", "")
	lb := add("LoadBalancer", "shop", "", address)
	trust := add("Trust", "mesh", "")
	listener := add("Listener", "shop/443", "shop:443", lb)
	for i := 0; len(g)+2 <= size; i++ {
		pool := add("Pool", fmt.Sprintf("apps/p%d", i), "", trust)
		add("Rule", fmt.Sprintf("shop/443/r%d", i), fmt.Sprintf("shop:443/%d", i), listener, pool)
	}
	return g
}

func BenchmarkDiffEqual20000(b *testing.B) {
	want := bigGraph(20000)
	have, base := maps.Clone(want), maps.Clone(want)
	for b.Loop() {
		if plan, err := Diff(want, base, have); err != nil || !plan.Empty() {
			b.Fatalf("%d steps, %v", len(plan.Steps), err)
		}
	}
}

func BenchmarkDiffOneChange20000(b *testing.B) {
	want := bigGraph(20000)
	have := maps.Clone(want)
	id := ID{Kind: "Rule", Location: "here", Name: "shop/443/r77"}
	spec := *want[id].Spec.(*engineSpec)
	spec.Value = "changed"
	want[id] = NewResource(id, &spec)
	steps := 0
	for b.Loop() {
		plan, err := Diff(want, have, have)
		if steps = len(plan.Steps); err != nil || steps != 1 {
			b.Fatalf("%d steps, %v", steps, err)
		}
	}
	b.ReportMetric(float64(steps), "steps")
}

func BenchmarkDiffCreate20000(b *testing.B) { benchmarkWhole(b, bigGraph(20000), Graph{}) }
func BenchmarkDiffDelete20000(b *testing.B) { benchmarkWhole(b, Graph{}, bigGraph(20000)) }
func BenchmarkDiffReplace20000(b *testing.B) {
	benchmarkWhole(b, renamed(bigGraph(20000)), bigGraph(20000))
}

// benchmarkWhole measures a plan that touches everything.
func benchmarkWhole(b *testing.B, want, have Graph) {
	for b.Loop() {
		plan, err := Diff(want, nil, have)
		if len(plan.Steps) != len(want)+len(have) || err != nil {
			b.Fatalf("%d steps, %v", len(plan.Steps), err)
		}
	}
}

// renamed is the same graph under other names: all is replaced, and every slot
// passes from old to new.
func renamed(g Graph) Graph {
	out := Graph{}
	for _, r := range g {
		spec := *r.Spec.(*engineSpec)
		spec.Refs = nil
		for _, need := range needsOf(r.Spec) {
			spec.Refs = append(spec.Refs, renamedID(need))
		}
		out[renamedID(r.ID)] = NewResource(renamedID(r.ID), &spec)
	}
	return out
}

func renamedID(id ID) ID {
	id.Name += "#2"
	return id
}
