package dataplane

import (
	"math/rand/v2"
	"sort"
	"sync/atomic"
)

// shares chooses among weights without a lock and without luck: a Weyl sequence
// steps through the unit interval by the golden ratio, so that any run of
// choices comes within a few of the exact shares.
type shares struct {
	upTo []uint64 // running sums of the weights
	turn atomic.Uint64
}

// golden is 2⁶⁴ divided by the golden ratio.
const golden = 0x9E3779B97F4A7C15

func newShares(weights []int32) *shares {
	s := &shares{}
	var sum uint64
	for _, w := range weights {
		sum += uint64(max(w, 0))
		s.upTo = append(s.upTo, sum)
	}
	// A random start: else every new configuration would begin with one backend.
	s.turn.Store(rand.Uint64N(1 << 32))
	return s
}

// next is the index of the chosen weight, or -1 when all are zero.
func (s *shares) next() int {
	if len(s.upTo) == 0 || s.upTo[len(s.upTo)-1] == 0 {
		return -1
	}
	if len(s.upTo) == 1 {
		return 0
	}
	point := (s.turn.Add(1) * golden) >> 32
	at := point * s.upTo[len(s.upTo)-1] >> 32
	return sort.Search(len(s.upTo), func(i int) bool { return s.upTo[i] > at })
}
