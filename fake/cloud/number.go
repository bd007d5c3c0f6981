package cloud

import (
	"slices"
)

// stride is how far apart rules are numbered when there is room: sixteen rules can
// be put, one after the other, into the same place before one must move.
const stride = 1 << 16

// canonicalNumbers are the numbers of n rules where nothing is there yet.
func canonicalNumbers(n int) []int32 {
	numbers, ok := renumber(make([]int32, n), nil)
	if !ok {
		return make([]int32, n) // beyond any limit: the service refuses the number 0
	}
	return numbers
}

// renumber gives ascending numbers to rules that stand in their order. old is each
// one's number, 0 for a new rule; taken are all numbers that somebody holds,
// including old.
//
// The longest run of rules that is still in order keeps its numbers, the others
// get free ones in between, so that an insertion is one call and a move is one
// call. A number that is taken is never given away, so no call waits for another,
// with one exception: where there is no room left, the next rules shift up into
// each other's numbers, and as the last of them goes first, the order is right all
// the time.
//
// It reports false when there are more rules than numbers.
func renumber(old []int32, taken map[int32]bool) ([]int32, bool) {
	out := make([]int32, len(old))
	for _, i := range ascending(old) {
		out[i] = old[i]
	}
	for i := range out {
		if out[i] == 0 && !fill(out, i, taken) {
			return nil, false
		}
	}
	return out, true
}

// fill numbers the rules from start on that have none, between their neighbours.
// Where there is no room it takes in the rule after them (at the end: the one
// before), until there is.
func fill(out []int32, start int, taken map[int32]bool) bool {
	need, end := 0, start
	var moved []int32
	for {
		for ; end < len(out) && out[end] == 0; end++ {
			need++
		}
		low, high := between(out, start, end, need)
		if free := pick(low, high, need, taken); free != nil {
			numbers := slices.Concat(free, moved)
			slices.Sort(numbers)
			copy(out[start:end], numbers)
			return true
		}
		switch {
		case end < len(out):
			moved = append(moved, out[end])
			end++
		case start > 0:
			start--
			moved = append(moved, out[start])
		default:
			return false
		}
	}
}

// between are the numbers before and after out[start:end]. After the last rule
// there is room for strides, as long as there are numbers.
func between(out []int32, start, end, need int) (low, high int64) {
	if start > 0 {
		low = int64(out[start-1])
	}
	if end < len(out) {
		return low, int64(out[end])
	}
	return low, min(MaxNumber+1, low+int64(need+1)*stride)
}

// pick chooses n numbers above low and below high that are not taken, evenly apart
// if possible; nil when there are not so many.
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

// nextFree is the first number from at on, below high, that is not taken; 0 when
// there is none.
func nextFree(at, high int64, taken map[int32]bool) int32 {
	for ; at < high; at++ {
		if !taken[int32(at)] {
			return int32(at)
		}
	}
	return 0
}

// ascending are the indexes of a longest strictly ascending subsequence of the
// numbers that are not 0 (patience sorting).
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
