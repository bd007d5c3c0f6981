package remote

import (
	"fmt"
	"testing"

	"gatehouse.dev/lbmodel"
)

// many are n gateways with ten endpoints each.
func many(tb testing.TB, n int) []lbmodel.Gateway {
	tb.Helper()
	at := backend(tb)
	var out []lbmodel.Gateway
	for i := range n {
		gw := gateway(fmt.Sprintf("g%d", i), at)
		gw.Settings = []byte(`{"allowLoopbackEndpoints":true,"addressPool":["127.74.0.0/16"]}`)
		for k := range 9 {
			gw.Pools[0].Endpoints = append(gw.Pools[0].Endpoints, lbmodel.Endpoint{Address: fmt.Sprintf("127.1.%d.%d", i, k), Port: 80, Ready: true, Serving: true})
		}
		out = append(out, gw)
	}
	return out
}

// BenchmarkCalls tells what a pass costs over the wire: calls/pass must be 0 when
// nothing has changed, and 1 when one endpoint has.
func BenchmarkCalls(b *testing.B) {
	gateways := many(b, 100)
	s := start(b, ServerConfig{StateDir: directory(b)})
	r := open(b, Config{Address: s.Address()})
	a := account(r)
	apply(b, a, gateways...)
	calls := func() int {
		sum := 0
		for _, n := range s.State().Calls {
			sum += n
		}
		return sum
	}
	measure := func(name string, pass func(b *testing.B, n int)) {
		b.Run(name, func(b *testing.B) {
			before, n := calls(), 0
			for b.Loop() {
				pass(b, n)
				n++
			}
			b.ReportMetric(float64(calls()-before)/float64(n), "calls/pass")
		})
	}
	measure("nothing", func(b *testing.B, _ int) { apply(b, a, gateways...) })
	measure("one-endpoint", func(b *testing.B, n int) {
		gateways[0].Pools[0].Endpoints[1].Address = fmt.Sprintf("127.2.0.%d", 1+n%2)
		apply(b, a, gateways[0])
	})
	measure("health", func(b *testing.B, _ int) {
		if _, err := a.ReadHealth(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
	measure("observe", func(b *testing.B, _ int) {
		if err := observe(b, r); err != nil {
			b.Fatal(err)
		}
	})
}
