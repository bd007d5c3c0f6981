package translate

import (
	"math"
	"slices"
	"testing"
)

// TestWholeWeights: shares are exact where the limit allows, and nearest otherwise;
// what had a share keeps one.
func TestWholeWeights(t *testing.T) {
	cases := []struct {
		name, why string
		shares    []fraction
		most      int64
		want      []int32
	}{
		{"split in three", "nine to one, and two of three pods", []fraction{{9 * 1, 3}, {9 * 2, 3}, {1, 1}}, 1_000_000, []int32{3, 6, 1}},
		{"two splits", "1/3 + 2/3 beside 1/4 + 3/4", []fraction{{1, 3}, {2, 3}, {1, 4}, {3, 4}}, 1_000_000, []int32{4, 8, 3, 9}},
		{"nothing is nothing", "", []fraction{{0, 3}, {0, 3}, {1, 1}}, 1_000_000, []int32{0, 0, 1}},
		{"all nothing", "", []fraction{{0, 2}, {0, 1}}, 1_000_000, []int32{0, 0}},
		{"a small limit", "90 to 10 with 13 of 17 pods does not fit into 100", []fraction{{90 * 13, 17}, {90 * 4, 17}, {10, 1}}, 100, []int32{100, 31, 15}},
		{"one of very many", "it would round to nothing", []fraction{{1, 5000}, {4999, 5000}}, 100, []int32{1, 100}},
		{"primes", "their product is beyond any limit", []fraction{{1, 9973}, {9972, 9973}, {1, 9967}, {9966, 9967}}, 1_000_000, []int32{100, 1_000_000, 100, 1_000_000}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := wholeWeights(c.shares, c.most)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.why, got, c.want)
			}
		})
	}
}

// TestWeightsKeepShares: whatever the numbers, no backend's part of the traffic is
// off by more than what a whole number costs.
func TestWeightsKeepShares(t *testing.T) {
	for pods := int64(2); pods < 400; pods += 7 {
		for part := int64(1); part < pods; part += 5 {
			shares := []fraction{{77 * part, pods}, {77 * (pods - part), pods}, {23, 1}}
			got := wholeWeights(shares, 1_000_000)
			all := float64(got[0]) + float64(got[1]) + float64(got[2])
			if off := math.Abs(float64(got[2])/all - 0.23); off > 1e-6 {
				t.Fatalf("%d of %d pods: the other backend has %v of the traffic, want 0.23", part, pods, float64(got[2])/all)
			}
		}
	}
}
