//go:build unix

package translate

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// fleet is a synthetic cluster of equal gateways: each route has its own rules,
// each rule its own Service, each Service its own pods.
type fleet struct{ gateways, routes, rules, endpoints int }

func (f fleet) snapshot() Snapshot {
	s := Snapshot{Cluster: "bench", LiveEndpoints: true}
	s.GatewayClasses = []*gwv1.GatewayClass{{
		ObjectMeta: metav1.ObjectMeta{Name: "offcluster"},
		Spec:       gwv1.GatewayClassSpec{ControllerName: "gatehouse.dev/fake"},
	}}
	for g := range f.gateways {
		s.Gateways = append(s.Gateways, &gwv1.Gateway{
			ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: fmt.Sprintf("gw-%d", g), Generation: 1},
			Spec: gwv1.GatewaySpec{
				GatewayClassName: "offcluster",
				Listeners:        []gwv1.Listener{{Name: "http", Port: 80, Protocol: gwv1.HTTPProtocolType}},
			},
		})
		for r := range f.routes {
			f.addRoute(&s, g, r)
		}
	}
	return s
}

func (f fleet) addRoute(s *Snapshot, g, r int) {
	route := &gwv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: fmt.Sprintf("r-%d-%d", g, r), Generation: 1, CreationTimestamp: metav1.Unix(int64(1700000000+r%7), 0),
	}}
	route.Spec.ParentRefs = []gwv1.ParentReference{{Name: gwv1.ObjectName(fmt.Sprintf("gw-%d", g))}}
	route.Spec.Hostnames = []gwv1.Hostname{gwv1.Hostname(fmt.Sprintf("h%d.bench.test", r))}
	for i := range f.rules {
		path, port := fmt.Sprintf("/p%d", i), gwv1.PortNumber(80)
		svc := fmt.Sprintf("s-%d-%d-%d", g, r, i)
		rule := gwv1.HTTPRouteRule{Matches: []gwv1.HTTPRouteMatch{{Path: &gwv1.HTTPPathMatch{Value: &path}}}}
		rule.BackendRefs = make([]gwv1.HTTPBackendRef, 1)
		rule.BackendRefs[0].Name, rule.BackendRefs[0].Port = gwv1.ObjectName(svc), &port
		route.Spec.Rules = append(route.Spec.Rules, rule)
		f.addService(s, svc, (g*f.routes+r)*f.rules+i)
	}
	s.HTTPRoutes = append(s.HTTPRoutes, route)
}

func (f fleet) addService(s *Snapshot, name string, n int) {
	meta := metav1.ObjectMeta{Namespace: "apps", Name: name}
	s.Services = append(s.Services, &corev1.Service{
		ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	})
	port := int32(8080)
	slice := &discoveryv1.EndpointSlice{ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Port: &port}}}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: name}
	for e := range f.endpoints {
		id := n*f.endpoints + e
		ip := fmt.Sprintf("10.%d.%d.%d", id>>16&255, id>>8&255, id&255)
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}})
		s.Pods = append(s.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: fmt.Sprintf("pod-%d", id)}, Status: corev1.PodStatus{PodIP: ip},
		})
	}
	s.EndpointSlices = append(s.EndpointSlices, slice)
}

// cpu is the processor time of this process so far. Unlike the clock it does not
// count what else the machine does, and it counts the garbage collector, so a
// ratio means something on a busy machine too.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTranslate is the figure: 100 gateways × 10 routes × 2 rules ×
// 10 endpoints, under 100 ms on one core.
func BenchmarkTranslate(b *testing.B) {
	x := New(fleet{100, 10, 2, 10}.snapshot(), testOptions())
	keys := x.Gateways()
	start := cpu(b)
	for b.Loop() {
		for _, key := range keys {
			x.Gateway(key)
		}
	}
	b.ReportMetric(float64((cpu(b)-start).Milliseconds())/float64(b.N), "cpu-ms/op")
}

// BenchmarkIndex makes the index of the same cluster, which happens once.
func BenchmarkIndex(b *testing.B) {
	s := fleet{100, 10, 2, 10}.snapshot()
	for b.Loop() {
		New(s, testOptions())
	}
}

// BenchmarkRouteChange changes one route in that cluster and translates what the
// change concerns: one gateway.
func BenchmarkRouteChange(b *testing.B) {
	x := New(fleet{100, 10, 2, 10}.snapshot(), testOptions())
	old, _ := lookup[*gwv1.HTTPRoute](x, KindHTTPRoute, "apps", "r-7-3")
	concerned := 0
	for i := 0; b.Loop(); i++ {
		next := old.DeepCopy()
		next.Spec.Hostnames[0] = gwv1.Hostname(fmt.Sprintf("changed%d.bench.test", i))
		after, keys := x.With(Change{Put: []any{next}})
		for _, key := range keys {
			after.Gateway(key)
		}
		concerned = len(keys)
	}
	b.ReportMetric(float64(concerned), "gateways")
}

// BenchmarkEndpointChange takes one endpoint away and runs the fast path.
func BenchmarkEndpointChange(b *testing.B) {
	x := New(fleet{100, 10, 2, 10}.snapshot(), testOptions())
	before := x.Gateway(Key{KindGateway, "apps", "gw-7"})
	slice, _ := lookup[*discoveryv1.EndpointSlice](x, KindEndpointSlice, "apps", "s-7-3-1")
	smaller := *slice
	smaller.Endpoints = slice.Endpoints[1:]
	pools := 0
	for b.Loop() {
		after, _ := x.With(Change{Put: []any{&smaller}})
		changed, _, _ := after.PoolsOf(ServiceKey(&smaller), before)
		pools = len(changed)
	}
	b.ReportMetric(float64(pools), "pools")
}

// BenchmarkRouteScale is the cost of one route among 20,000 as a ratio to that of
// one among 1,000, both in one gateway and in gateways of ten: flat within 1.5.
//
// Both sides translate 20,000 routes and keep the results: the large one those of
// one cluster, the small one those of twenty clusters of 1,000. So both read and
// write as much memory, wait as often for what the processor's caches cannot
// hold, and leave the collector as much to mark; what is left of a difference
// is what more routes in one index or gateway cost each of them. One small
// cluster translated twenty times over would stay in the caches, which measures
// the processor, and nothing that happens: changes come to a cold cluster.
//
// Each side counts its best of several rounds, begun with a clean heap: the rest
// is the luck of the machine and of the collector.
func BenchmarkRouteScale(b *testing.B) {
	for _, shape := range []struct {
		name         string
		small, large fleet
	}{
		{"one gateway", fleet{1, 1000, 1, 1}, fleet{1, 20000, 1, 1}},
		{"gateways", fleet{100, 10, 1, 1}, fleet{2000, 10, 1, 1}},
	} {
		b.Run(shape.name, func(b *testing.B) {
			small, large := shape.small.indexes(20), shape.large.indexes(1)
			var perSmall, perLarge time.Duration
			for b.Loop() {
				for range 10 {
					perSmall = best(perSmall, costOf(b, small))
					perLarge = best(perLarge, costOf(b, large))
				}
			}
			b.ReportMetric(float64(perLarge)/float64(perSmall), "ratio")
			b.ReportMetric(float64(perLarge.Nanoseconds())/20000, "cpu-ns/route")
		})
	}
}

// indexes are so many clusters of this kind, none sharing memory with another.
func (f fleet) indexes(n int) (out []*Index) {
	for range n {
		out = append(out, New(f.snapshot(), testOptions()))
	}
	return out
}

// costOf translates all gateways of all clusters and holds on to the results.
func costOf(b *testing.B, clusters []*Index) time.Duration {
	runtime.GC()
	var results []Result
	start := cpu(b)
	for _, x := range clusters {
		for _, key := range x.Gateways() {
			results = append(results, x.Gateway(key))
		}
	}
	spent := cpu(b) - start
	runtime.KeepAlive(results)
	return spent
}

func best(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}
