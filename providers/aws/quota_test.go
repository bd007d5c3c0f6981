package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
)

// Why: what is too much is told to who brings it, before any call, and costs nobody
// else anything.
func TestQuotas(t *testing.T) {
	forwards := func(n int) lbmodel.Gateway {
		gw := listenerOf(paths(n)...)
		for i := range gw.Listeners[0].Rules {
			name := fmt.Sprint("p", i)
			gw.Pools = append(gw.Pools, lbmodel.Pool{Name: name, Protocol: lbmodel.PoolHTTP1, Endpoints: []lbmodel.Endpoint{}})
			gw.Listeners[0].Rules[i].Action = lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: name, Weight: 1}}}}
		}
		return gw
	}
	ports := func(n int) lbmodel.Gateway {
		gw := listenerOf()
		for i := range n {
			gw.Listeners = append(gw.Listeners, lbmodel.Listener{Name: fmt.Sprint(i), Source: lbmodel.Source{Name: fmt.Sprint("l", i)}, Port: int32(1000 + i), Protocol: lbmodel.ProtocolHTTP})
		}
		return gw
	}
	crowd := forwards(2)
	for i := range crowd.Pools {
		crowd.Pools[i].Source.Name = crowd.Pools[i].Name
		crowd.Pools[i].Endpoints = []lbmodel.Endpoint{{Address: fmt.Sprint("10.0.0.", i), Port: 80, Ready: true}}
	}
	ranged := listenerOf()
	ranged.Listeners[0].SourceRanges = []string{"10.0.0.0/8", "11.0.0.0/8"}
	for _, c := range []struct {
		name, quotas string
		gw           lbmodel.Gateway
		culprits     []string
		rules        int
	}{
		{"rules", `{"rulesPerLoadBalancer":3}`, listenerOf(paths(5)...), []string{"/p003", "/p004"}, 3},
		{"rules that fit", `{"rulesPerLoadBalancer":3}`, listenerOf(paths(3)...), nil, 3},
		{"target groups", `{"targetGroupsPerLoadBalancer":2}`, forwards(3), []string{"/p002"}, 3},
		{"targets", `{"targetsPerLoadBalancer":1}`, crowd, []string{"p1"}, 2},
		{"listeners", `{"listenersPerLoadBalancer":2}`, ports(3), []string{"l1", "l2"}, 0},
		{"source ranges", `{"rulesPerSecurityGroup":1}`, ranged, []string{"edge"}, 0},
		{"values", `{"conditionValuesPerRule":1,"wildcardsPerRule":1}`, listenerOf("/a"), nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.gw.Settings = settingsWith(`"quotas":` + c.quotas)
			own, _, findings := Compiler{}.Compile(c.gw)
			var culprits []string
			for _, f := range findings {
				culprits = append(culprits, f.About.Name)
				if !strings.Contains(f.Detail, "quota") && f.Code != lbmodel.CodeQuota {
					t.Errorf("%+v", f)
				}
			}
			rules := len(slices.Concat(slices.Collect(valuesOf(rulesByListener(own)))...))
			if !slices.Equal(culprits, c.culprits) || rules != c.rules {
				t.Errorf("%v and %d rules, want %v and %d", culprits, rules, c.culprits, c.rules)
			}
		})
	}
}

func valuesOf[K comparable, V any](m map[K]V) func(func(V) bool) {
	return func(yield func(V) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// Why: shares must stay what they are, and nobody who has one may lose it.
func TestWeightsAreScaled(t *testing.T) {
	for _, c := range []struct {
		name    string
		weights []int64
		want    []int32
	}{
		{"as they are", []int64{1, 999}, []int32{1, 999}},
		{"divided", []int64{2000, 4000}, []int32{1, 2}},
		{"rounded", []int64{1_000_000, 333_333}, []int32{999, 333}},
		{"a sliver stays", []int64{1_000_000, 1}, []int32{999, 1}},
		{"nothing stays nothing", []int64{0, 1000, 1}, []int32{0, 999, 1}},
		{"all nothing", []int64{0, 0}, []int32{0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := scaled(c.weights); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// Why: every rule that Compile makes must be one that AWS takes.
func TestRulesAreWithinLimits(t *testing.T) {
	for seed := range uint64(40) {
		own, _, _ := Compiler{}.Compile(newDice(seed).gateway(assumedSettings))
		for id, r := range own {
			rule, ok := r.Spec.(*Rule)
			if !ok {
				continue
			}
			values, fields := 0, map[string]int{}
			for _, c := range rule.Conditions {
				values += len(c.Values) + len(c.Regex)
				fields[c.Field]++
				if (len(c.Values) > 0) == (len(c.Regex) > 0) || c.checkLength() != nil {
					t.Errorf("%s: %s", id, encode(c))
				}
			}
			if values > 5 || values == 0 || fields[fieldHost] > 1 || fields[fieldPath] > 1 || fields[fieldMethod] > 1 {
				t.Errorf("%s: %s", id, encode(rule))
			}
		}
	}
}

// BenchmarkCompile is a pass over 99 routes, each to a Service of its own with 20 pods.
func BenchmarkCompile(b *testing.B) {
	gw := listenerOf(paths(99)...)
	for i := range gw.Listeners[0].Rules {
		p := lbmodel.Pool{Name: fmt.Sprint("p", i), Protocol: lbmodel.PoolHTTP1}
		for n := range 20 {
			p.Endpoints = append(p.Endpoints, lbmodel.Endpoint{Address: fmt.Sprintf("10.0.%d.%d", i, n), Port: 80, Ready: true})
		}
		gw.Pools = append(gw.Pools, p)
		gw.Listeners[0].Rules[i].Action = lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: p.Name, Weight: 1}}}}
	}
	for b.Loop() {
		own, _, _ := Compiler{}.Compile(gw)
		Compiler{}.Place(own, own, now)
	}
}
