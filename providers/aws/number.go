package aws

import "slices"

// The priorities of rules. In an empty listener they stand stride apart, so that
// eight rules can be put, one after the other, into the same place before one must
// move.
const (
	maxPriority = 50_000 // [EM]
	stride      = 256
)

// canonicalPriorities are those of n rules where nothing is there yet.
func canonicalPriorities(n int) []int32 {
	out, ok := renumber(make([]int32, n), nil)
	if !ok {
		return make([]int32, n) // beyond any quota: AWS refuses the priority 0
	}
	return out
}

// renumber gives ascending priorities to rules that stand in their order. old is each
// one's priority, 0 for a new rule; taken are all that somebody holds, old included.
//
// The longest run of rules that is still in order keeps its priorities, the others get
// free ones in between: an insertion is one number, and so is a move. A priority that
// is taken is never given away, so no call waits for another. Where there is no room,
// the nearest rules move along, to free numbers too, until there is. It reports false
// when there are more rules than numbers.
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

// fill numbers the rules from start on that have none. Where there is no room between
// their neighbours, the rule after them (at the end: the one before) is numbered anew
// as well.
func fill(out []int32, start int, taken map[int32]bool) bool {
	end := start
	for end < len(out) && out[end] == 0 {
		end++
	}
	for {
		low, high := between(out, start, end)
		free := pick(low, high, end-start, taken)
		if free == nil && end == len(out) {
			free = pick(low, maxPriority+1, end-start, taken)
		}
		if free != nil {
			copy(out[start:end], free)
			return true
		}
		switch {
		case end < len(out):
			end = widen(out, end)
		case start > 0:
			start--
		default:
			return false
		}
	}
}

// widen takes in the rule at end and those behind it that have no number.
func widen(out []int32, end int) int {
	end++
	for end < len(out) && out[end] == 0 {
		end++
	}
	return end
}

// between are the priorities around out[start:end]. After the last rule there is room
// for strides, as long as there are numbers.
func between(out []int32, start, end int) (low, high int32) {
	if start > 0 {
		low = out[start-1]
	}
	if end < len(out) {
		return low, out[end]
	}
	return low, min(maxPriority+1, low+int32(end-start+1)*stride)
}

// pick chooses n priorities above low and below high that are not taken, evenly apart
// where that is possible; nil when there are not so many.
func pick(low, high int32, n int, taken map[int32]bool) []int32 {
	var free []int32
	for p := low + 1; p < high; p++ {
		if !taken[p] {
			free = append(free, p)
		}
	}
	if len(free) < n {
		return nil
	}
	out := make([]int32, n)
	for i := range out {
		out[i] = free[(i+1)*len(free)/(n+1)]
	}
	return distinct(out, free)
}

// distinct moves picks that fell on one number, which happens where free has hardly
// more than are needed.
func distinct(out, free []int32) []int32 {
	if len(slices.Compact(slices.Clone(out))) == len(out) {
		return out
	}
	return slices.Clone(free[:len(out)])
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
