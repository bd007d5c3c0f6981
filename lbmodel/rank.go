package lbmodel

import (
	"cmp"
	"strings"
)

// CompareMatch orders matches by precedence: it is negative when a comes before
// b. Zero is a tie, for the age of the routes, their names and the order of
// their rules to break (HTTPRouteRule.matches, GRPCRouteRule.matches); hostnames
// come before all of this (CompareHostnames).
//
// Where the API leaves it open: a regular expression comes after exact values
// and before prefixes or any value, longer ones first, so that a catch-all
// never hides it; a prefix counts without its trailing slash, which matching
// ignores; gRPC matches come before HTTP ones, since they take gRPC calls only.
func CompareMatch(a, b Match) int {
	switch {
	case a.GRPC != nil && b.GRPC != nil:
		return cmp.Or(
			compareGRPC(*a.GRPC, *b.GRPC),
			cmp.Compare(len(b.Headers), len(a.Headers)),
		)
	case a.GRPC != nil:
		return -1
	case b.GRPC != nil:
		return 1
	default:
		return compareHTTP(a, b)
	}
}

// compareHTTP follows the list of HTTPRouteRule.matches.
func compareHTTP(a, b Match) int {
	return cmp.Or(
		pathRank(a.Path).compare(pathRank(b.Path)),
		cmp.Compare(min(len(b.Method), 1), min(len(a.Method), 1)),
		cmp.Compare(len(b.Headers), len(a.Headers)),
		cmp.Compare(len(b.Query), len(a.Query)),
	)
}

// compareGRPC follows the list of GRPCRouteRule.matches: characters of the
// service, then of the method.
func compareGRPC(a, b GRPCMatch) int {
	return cmp.Or(
		grpcRank(a.Kind, a.Service).compare(grpcRank(b.Kind, b.Service)),
		grpcRank(a.Kind, a.Method).compare(grpcRank(b.Kind, b.Method)),
	)
}

// matchRank is how specific one value is; greater comes first.
type matchRank struct{ kind, length int }

func (a matchRank) compare(b matchRank) int {
	return cmp.Or(cmp.Compare(b.kind, a.kind), cmp.Compare(b.length, a.length))
}

func pathRank(m PathMatch) matchRank {
	switch m.Kind {
	case MatchExact:
		return matchRank{2, 0} // two exact paths that both match are equal
	case MatchRegex:
		return matchRank{1, len(m.Value)}
	default:
		return matchRank{0, len(strings.TrimRight(m.Value, "/"))}
	}
}

// grpcRank needs no class for any value: it is the empty one, and so shorter than
// every expression.
func grpcRank(kind MatchKind, value string) matchRank {
	if value == "" || kind == MatchRegex {
		return matchRank{0, len(value)}
	}
	return matchRank{1, len(value)}
}
