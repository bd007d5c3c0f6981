//go:build unix

package translate

import ("testing";"time")

func BenchmarkTmpSmall(b *testing.B) { tmp(b, fleet{1, 1000, 1, 1}.indexes(20)) }
func BenchmarkTmpLarge(b *testing.B) { tmp(b, fleet{1, 20000, 1, 1}.indexes(1)) }
func tmp(b *testing.B, xs []*Index) {
	var sum time.Duration
	n := 0
	b.ResetTimer()
	for range 12 { sum += costOf(b, xs); n++ }
	b.ReportMetric(float64(sum.Nanoseconds())/float64(n)/20000, "cpu-ns/route")
}
