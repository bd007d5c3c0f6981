package numbering

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wide is as many numbers as an int32 has room for.
var wide = Space{Max: 1<<31 - 1, Stride: 1 << 16}

func TestPlace(t *testing.T) {
	tests := []struct {
		name, why string
		old       []int32
		foreign   []int32
		want      []int32
	}{
		{"nothing there", "canonical: the same numbers everywhere, with room in between",
			[]int32{0, 0, 0}, nil, []int32{65536, 131072, 196608}},
		{"nothing to do", "numbers that are in order stay", []int32{1, 5, 9}, nil, []int32{1, 5, 9}},
		{"insert in the middle", "one new rule is one call", []int32{100, 0, 200}, nil, []int32{100, 150, 200}},
		{"insert in front", "one new rule is one call", []int32{0, 200}, nil, []int32{100, 200}},
		{"append", "a rule at the end leaves a whole stride", []int32{200, 0}, nil, []int32{200, 65736}},
		{"move to the front", "one moved rule is one call", []int32{300, 100, 200}, nil, []int32{50, 100, 200}},
		{"foreign number", "a number that somebody else holds is left alone", []int32{100, 0, 200}, []int32{150}, []int32{100, 151, 200}},
		{"no room", "the next rule makes room, on a number that nobody holds", []int32{5, 0, 6, 100}, nil, []int32{5, 36, 68, 100}},
		{"no room, a chain", "all rules of a dense place move to numbers that nobody holds",
			[]int32{5, 0, 6, 7, 8, 100}, nil, []int32{5, 24, 43, 62, 81, 100}},
		{"no room at the top", "where nothing is free above, rules move down", []int32{10, wide.Max - 1, wide.Max, 0}, nil, []int32{10, 65546, 131082, 196618}},
		{"two new rules in one dense place", "both find room", []int32{5, 0, 0, 6, 100}, nil, []int32{5, 28, 52, 76, 100}},
		{"no room between two runs", "the room of the next new rules is used together", []int32{5, 0, 6, 0, 100}, nil, []int32{5, 28, 52, 76, 100}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := wide.Place(tc.old, takenBy(tc.old, tc.foreign))
			if !ok {
				t.Fatalf("no numbers: %s", tc.why)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.why, diff)
			}
		})
	}
}

func takenBy(lists ...[]int32) map[int32]bool {
	out := map[int32]bool{}
	for _, list := range lists {
		for _, n := range list {
			out[n] = n != 0
		}
	}
	return out
}

// Why: there are no more numbers than that.
func TestPlaceUsesEveryNumber(t *testing.T) {
	small := Space{Max: 50_000, Stride: 256}
	if _, ok := small.Place(make([]int32, small.Max+1), nil); ok {
		t.Error("there is a number beyond the last one")
	}
	got, ok := small.Place(make([]int32, small.Max), nil)
	if !ok || got[0] != 1 || got[small.Max-1] != small.Max {
		t.Error("not every number can be used")
	}
}

// Why: rules are edited for years. Whatever is inserted, removed and moved, the
// numbers ascend, foreign numbers are left alone, and only what must move moves.
func TestPlaceProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for round := range 2_000 {
		old, foreign := randomNumbers(random)
		taken := takenBy(old, foreign)
		got, ok := wide.Place(old, taken)
		if !ok {
			t.Fatalf("round %d: no numbers for %v around %v", round, old, foreign)
		}
		kept := 0
		for i, n := range got {
			switch {
			case i > 0 && n <= got[i-1]:
				t.Fatalf("round %d: %v became %v, which does not ascend", round, old, got)
			case slices.Contains(foreign, n):
				t.Fatalf("round %d: %v became %v, but %d is foreign", round, old, got, n)
			case n == old[i]:
				kept++
			case taken[n]:
				t.Fatalf("round %d: %v became %v, but %d is taken", round, old, got, n)
			}
		}
		if best := len(ascending(old)); kept < best-len(got) || roomy(old, foreign) && kept < best {
			t.Fatalf("round %d: %v became %v: %d of %d that could stay moved", round, old, got, best-kept, best)
		}
	}
}

// randomNumbers is a listener's past: rules in order, shuffled a little, with new
// ones among them.
func randomNumbers(r *rand.Rand) (old, foreign []int32) {
	span := int32([]int{20, 1_000, 1 << 20}[r.IntN(3)])
	used := map[int32]bool{}
	for range r.IntN(12) {
		used[1+r.Int32N(span)] = true
	}
	for n := range used {
		if r.IntN(5) == 0 {
			foreign = append(foreign, n)
		} else {
			old = append(old, n)
		}
	}
	slices.Sort(old)
	if len(old) > 1 && r.IntN(2) == 0 {
		i, j := r.IntN(len(old)), r.IntN(len(old))
		old[i], old[j] = old[j], old[i]
	}
	for range r.IntN(4) {
		old = slices.Insert(old, r.IntN(len(old)+1), 0)
	}
	return old, foreign
}

// roomy says whether numbers are far enough apart that nothing has to move for a
// few new rules.
func roomy(lists ...[]int32) bool {
	all := slices.Sorted(slices.Values(slices.Concat(lists...)))
	last := int32(0)
	for _, n := range all {
		if n != 0 && n-last < 20 {
			return false
		}
		last = max(last, n)
	}
	return true
}

// Why: sixteen insertions into one place are one call each; only then rules move, and
// make room for as many again.
func TestPlaceCostOfInsertingInOnePlace(t *testing.T) {
	numbers := wide.Canonical(2)
	moved := 0
	for range 40 {
		old := slices.Insert(slices.Clone(numbers), len(numbers)-1, 0)
		next, ok := wide.Place(old, takenBy(old))
		if !ok {
			t.Fatal("no numbers")
		}
		for i, n := range next {
			if old[i] != 0 && n != old[i] {
				moved++
			}
		}
		numbers = next
	}
	if moved > 5 {
		t.Errorf("40 insertions moved %d rules, want 5 at most", moved)
	}
}

func TestCanonicalUsesTheWholeRange(t *testing.T) {
	numbers := wide.Canonical(100_000)
	if !slices.IsSorted(numbers) || numbers[0] < 1 || len(slices.Compact(numbers)) != 100_000 {
		t.Error("100,000 rules have no ascending numbers")
	}
}
