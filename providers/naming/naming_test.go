package naming

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

const limit = 63

// Why: cloud names are made of what users write. Two gateways must never get one
// name, whatever they are called (case C59).
func TestHashedIsLegalAndUnique(t *testing.T) {
	random := rand.New(rand.NewPCG(59, 1))
	names := map[string]string{} // name -> what it was made of
	for range 100_000 {
		a, b := nearMiss(random)
		for _, parts := range [][]string{a, b} {
			name := Hashed(strings.Join(parts, "-"), limit, parts...)
			if !Legal(name, limit) {
				t.Fatalf("Hashed(%q) = %q, which is not a DNS label", parts, name)
			}
			made := strings.Join(parts, "\x00")
			if before, ok := names[name]; ok && before != made {
				t.Fatalf("%q and %q are both named %q", before, made, name)
			}
			names[name] = made
		}
	}
}

// nearMiss makes two lists of parts that are easily confused: equal but for where
// they are cut, for the last letter, for a suffix or for case.
func nearMiss(r *rand.Rand) (a, b []string) {
	const letters = "abcXYZ09.-_/é"
	word := func(n int) string {
		var out strings.Builder
		for range n {
			out.WriteString(string([]rune(letters)[r.IntN(13)]))
		}
		return out.String()
	}
	one, two := word(1+r.IntN(40)), word(1+r.IntN(40))
	switch r.IntN(4) {
	case 0:
		return []string{one + "-" + word(2), two}, []string{one, word(2) + "-" + two}
	case 1:
		long := strings.Repeat("x", 62)
		return []string{long + strconv.Itoa(r.IntN(10)), one}, []string{long + "y", one}
	case 2:
		return []string{one, two}, []string{strings.ToUpper(one), two}
	default:
		return []string{one, two}, []string{one + two}
	}
}

func TestHashed(t *testing.T) {
	tests := []struct {
		name, why, readable string
		parts               []string
		want                string
	}{
		{"stable", "a name must be the same in every version, or everything is created anew",
			"apps-edge", []string{"apps", "edge"}, "apps-edge-ixdaixoh7rygj"},
		{"separator", "apps-edge/x and apps/edge-x are two gateways",
			"apps-edge", []string{"appsedge"}, "apps-edge-sihh63lgahwbw"},
		{"digit first", "a label begins with a letter", "9lives", []string{"9"}, "x9lives-" + hashOf("9")},
		{"nothing readable", "a name may have no letter at all", "///", nil, "x-" + hashOf()},
		{"cut at a hyphen", "the hash is never cut, and no double hyphen is left",
			strings.Repeat("a", 48) + "-b", []string{"1"}, strings.Repeat("a", 48) + "-" + hashOf("1")},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if got := Hashed(tc.readable, limit, tc.parts...); got != tc.want {
				t.Errorf("Hashed(%q, %q) = %q, want %q: %s", tc.readable, tc.parts, got, tc.want, tc.why)
			}
		})
	}
}

func hashOf(parts ...string) string { return Hashed("x", limit, parts...)[2:] }
