package lbmodel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func httpMatch(kind MatchKind, path, method string, headers, query int) Match {
	return Match{Path: PathMatch{Kind: kind, Value: path}, Method: method,
		Headers: make([]ValueMatch, headers), Query: make([]ValueMatch, query)}
}

func grpcMatch(kind MatchKind, service, method string, headers int) Match {
	return Match{GRPC: &GRPCMatch{Kind: kind, Service: service, Method: method}, Headers: make([]ValueMatch, headers)}
}

// TestCompareMatch has each list in the order that the API wants; every element
// must come before every later one, whatever the criteria further down say.
func TestCompareMatch(t *testing.T) {
	for _, c := range []struct {
		name, why string
		sorted    []Match
	}{
		{"HTTP", "Exact path, longest prefix, method, headers, query (HTTPRouteRule.matches)", []Match{
			httpMatch(MatchExact, "/a", "GET", 0, 0),
			httpMatch(MatchExact, "/abc", "", 9, 9),
			httpMatch(MatchRegex, "/a.*", "", 0, 0),
			httpMatch(MatchPrefix, "/abc", "", 0, 0),
			httpMatch(MatchPrefix, "/ab", "GET", 0, 0),
			httpMatch(MatchPrefix, "/ab", "", 2, 0),
			httpMatch(MatchPrefix, "/ab", "", 1, 3),
			httpMatch(MatchPrefix, "/ab", "", 1, 2),
			httpMatch(MatchPrefix, "/", "GET", 9, 9),
		}},
		{"gRPC", "service, method, headers (GRPCRouteRule.matches), and expressions never behind what takes everything", []Match{
			grpcMatch(MatchExact, "pkg.Long", "M", 0),
			grpcMatch(MatchExact, "pkg.S", "Long", 0),
			grpcMatch(MatchExact, "pkg.S", "M", 2),
			grpcMatch(MatchExact, "pkg.S", "M", 1),
			grpcMatch(MatchExact, "pkg.S", "", 9),
			grpcMatch(MatchRegex, "pkg.S.*", "", 9),
			grpcMatch(MatchExact, "", "M", 0),
			grpcMatch("", "", "", 9),
			httpMatch(MatchExact, "/a", "GET", 9, 9),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, a := range c.sorted {
				for j, b := range c.sorted {
					if got, want := CompareMatch(a, b), sign(i-j); sign(got) != want {
						t.Errorf("CompareMatch(%+v, %+v) = %d, want %d: %s", a, b, got, want, c.why)
					}
				}
			}
			shuffled := slices.Clone(c.sorted)
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			slices.SortFunc(shuffled, CompareMatch)
			if diff := cmp.Diff(c.sorted, shuffled); diff != "" {
				t.Errorf("sorting (-want +got):\n%s", diff)
			}
		})
	}
}

func sign(n int) int { return min(max(n, -1), 1) }

func TestCompareMatchTies(t *testing.T) {
	const why = "the route's age, name and rule order must decide"
	for _, c := range []struct {
		name string
		a, b Match
	}{
		{"trailing slash", httpMatch(MatchPrefix, "/a/", "", 0, 0), httpMatch(MatchPrefix, "/a", "", 0, 0)},
		{"no path is the root", Match{}, httpMatch(MatchPrefix, "/", "", 0, 0)},
		{"methods", httpMatch(MatchExact, "/a", "GET", 0, 0), httpMatch(MatchExact, "/a", "DELETE", 0, 0)},
		{"exact paths", httpMatch(MatchExact, "/a", "", 0, 0), httpMatch(MatchExact, "/bcd", "", 0, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := CompareMatch(c.a, c.b); got != 0 {
				t.Errorf("CompareMatch = %d, want a tie: %s", got, why)
			}
		})
	}
}
