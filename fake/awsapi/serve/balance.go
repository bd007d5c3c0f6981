package serve

import (
	"sort"
	"sync/atomic"
)

// shares chooses among weights: by chance, or by a Weyl sequence that keeps any
// run of choices within a few of the exact shares.
type shares struct {
	upTo []uint64 // running sums
	turn atomic.Uint64
	rand func() float64 // nil is the sequence
}

// golden is 2⁶⁴ divided by the golden ratio.
const golden = 0x9E3779B97F4A7C15

// newShares reads a forward's weights. The weight of a single group has no
// meaning, except on a Network Load Balancer that its zero is the end.
func newShares(groups []WeightedGroup, u *Undocumented, rand func() float64) *shares {
	s := &shares{}
	if u.WeightSpread == Random {
		s.rand = rand
	}
	var sum uint64
	for _, g := range groups {
		sum += uint64(max(g.Weight, 0))
		s.upTo = append(s.upTo, sum)
	}
	if len(groups) == 1 {
		s.upTo[0] = max(sum, 1)
	} else if sum == 0 && u.AllWeightsZero == Evenly {
		for i := range s.upTo {
			s.upTo[i] = uint64(i + 1)
		}
	}
	return s
}

// next is the index of the chosen group, or -1 when all weights are zero.
func (s *shares) next() int {
	if len(s.upTo) == 0 || s.upTo[len(s.upTo)-1] == 0 {
		return -1
	}
	return s.at(s.point())
}

// point is in [0, 2³²).
func (s *shares) point() uint64 {
	if s.rand != nil {
		return uint64(s.rand() * (1 << 32))
	}
	return (s.turn.Add(1) * golden) >> 32
}

// at is the group whose share holds a point.
func (s *shares) at(point uint64) int {
	total := s.upTo[len(s.upTo)-1]
	if total == 0 {
		return -1
	}
	place := point * total >> 32
	return sort.Search(len(s.upTo), func(i int) bool { return s.upTo[i] > place })
}
