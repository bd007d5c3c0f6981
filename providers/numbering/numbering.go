// Package numbering gives rules ascending numbers so that an edit costs what it
// changes: an inserted rule is one new number, and a moved rule too. It never talks to
// a cloud, and gives nobody's number away. Start with [Space].
package numbering

import "slices"

// Space is the numbers that the rules of one listener can have: 1 to Max. Where there
// is room they stand Stride apart; each doubling of it lets one more rule be put into
// the same place before another must move.
type Space struct{ Max, Stride int32 }

// Canonical are the numbers of n rules where nothing is there yet; all of them 0, which
// no cloud takes, when there are more rules than numbers.
func (s Space) Canonical(n int) []int32 {
	out, ok := s.Place(make([]int32, n), nil)
	if !ok {
		return make([]int32, n)
	}
	return out
}

// Place gives ascending numbers to rules that stand in their order. old is each one's
// number, 0 for a new rule; taken are all that somebody holds, old included.
//
// The longest run of rules that is still in order keeps its numbers, the others get
// free ones in between. A number that is taken is never given away, so no call waits
// for another. Where there is no room, the nearest rules move along, to free numbers
// too, until there is. It reports false when there are more rules than numbers.
func (s Space) Place(old []int32, taken map[int32]bool) ([]int32, bool) {
	out := make([]int32, len(old))
	for _, i := range ascending(old) {
		out[i] = old[i]
	}
	for i := range out {
		if out[i] == 0 && !s.fill(out, i, taken) {
			return nil, false
		}
	}
	return out, true
}

// fill numbers the rules from start on that have none. Where there is no room between
// their neighbours, the rule after them (at the end: the one before) is numbered anew
// as well.
func (s Space) fill(out []int32, start int, taken map[int32]bool) bool {
	end := unnumbered(out, start)
	for {
		if free := s.free(out, start, end, taken); free != nil {
			copy(out[start:end], free)
			return true
		}
		switch {
		case end < len(out):
			end = unnumbered(out, end+1)
		case start > 0:
			start--
		default:
			return false
		}
	}
}

// unnumbered is the first index from i on of a rule that has a number.
func unnumbered(out []int32, i int) int {
	for i < len(out) && out[i] == 0 {
		i++
	}
	return i
}

// free are numbers for out[start:end] between its neighbours: after the last rule a
// stride apart, as long as there are numbers.
func (s Space) free(out []int32, start, end int, taken map[int32]bool) []int32 {
	var low int64
	if start > 0 {
		low = int64(out[start-1])
	}
	n := end - start
	if end < len(out) {
		return pick(low, int64(out[end]), n, taken)
	}
	top := int64(s.Max) + 1
	if spaced := pick(low, min(top, low+int64(n+1)*int64(s.Stride)), n, taken); spaced != nil {
		return spaced
	}
	return pick(low, top, n, taken)
}

// pick chooses n numbers above low and below high that are not taken, evenly apart
// where that is possible; nil when there are not so many.
func pick(low, high int64, n int, taken map[int32]bool) []int32 {
	out := make([]int32, 0, n)
	for j := range int64(n) {
		ideal := low + (high-low)*(j+1)/int64(n+1)
		if len(out) > 0 {
			ideal = max(ideal, int64(out[len(out)-1])+1)
		}
		at := nextFree(max(ideal, low+1), high, taken)
		if at == 0 {
			return pickTight(low, high, n, taken)
		}
		out = append(out, at)
	}
	return out
}

// pickTight is pick from the low end on, without gaps.
func pickTight(low, high int64, n int, taken map[int32]bool) []int32 {
	out := make([]int32, 0, n)
	for len(out) < n {
		at := nextFree(low+1, high, taken)
		if at == 0 {
			return nil
		}
		out, low = append(out, at), int64(at)
	}
	return out
}

// nextFree is the first number from at on, below high, that is not taken; 0 when there
// is none.
func nextFree(at, high int64, taken map[int32]bool) int32 {
	for ; at < high; at++ {
		if !taken[int32(at)] {
			return int32(at)
		}
	}
	return 0
}

// ascending are the indexes of a longest strictly ascending subsequence of the numbers
// that are not 0 (patience sorting).
func ascending(numbers []int32) []int {
	var tails []int // tails[k]: where the best subsequence of length k+1 ends
	before := make([]int, len(numbers))
	for i, n := range numbers {
		if n == 0 {
			continue
		}
		k, _ := slices.BinarySearchFunc(tails, n, func(t int, n int32) int { return int(numbers[t]) - int(n) })
		before[i] = -1
		if k > 0 {
			before[i] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, i)
		} else {
			tails[k] = i
		}
	}
	if len(tails) == 0 {
		return nil
	}
	out := make([]int, len(tails))
	for k, i := len(tails)-1, tails[len(tails)-1]; k >= 0; k, i = k-1, before[i] {
		out[k] = i
	}
	return out
}
