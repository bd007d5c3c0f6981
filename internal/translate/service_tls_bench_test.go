//go:build unix

package translate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// BenchmarkServiceTLS is what it costs to find out that no Service has anything else to
// say, once for all that happens in a second: 5,000 pods in 500 Services.
func BenchmarkServiceTLS(b *testing.B) {
	x := New(fleet{1, 250, 2, 10}.meshed(), meshOptions())
	results := map[Key]Result{}
	for _, key := range x.Gateways() {
		results[key] = x.Gateway(key)
	}
	first := ServiceTLS(x, results, now())
	var c Change
	for _, p := range first {
		svc := x.Object(p.Key).(*corev1.Service).DeepCopy()
		svc.Status = *p.Status.(*corev1.ServiceStatus)
		c.Put = append(c.Put, svc)
	}
	x, _ = x.With(c)
	start := cpu(b)
	for b.Loop() {
		if again := ServiceTLS(x, results, now()); len(again) > 0 {
			b.Fatalf("%d statuses differ", len(again))
		}
	}
	b.ReportMetric(float64((cpu(b)-start).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
	b.ReportMetric(float64(len(first)), "services")
}
