package lbmodel

import (
	"cmp"
	"iter"
	"strings"
)

// maxHostname is the longest name that DNS can hold, in bytes (RFC 1035 §2.3.4).
const maxHostname = 253

// CanonicalHost is a Host header, :authority or SNI as matching sees it: lower
// case, without port and without the root's trailing dot. IPv6 literals keep
// their brackets and so never equal a hostname. Anything else that is not a
// host stays as it is and matches only where every host does.
func CanonicalHost(host string) string {
	return lowerASCII(strings.TrimSuffix(hostWithoutPort(host), "."))
}

// hostWithoutPort cuts ":port" off; the port may be empty (RFC 3986 §3.2.3).
func hostWithoutPort(host string) string {
	end := strings.IndexByte(host, ':')
	if strings.HasPrefix(host, "[") {
		end = strings.IndexByte(host, ']') + 1
	}
	if end <= 0 || !isPortSuffix(host[end:]) {
		return host
	}
	return host[:end]
}

func isPortSuffix(s string) bool {
	return s == "" || s[0] == ':' && strings.Trim(s[1:], "0123456789") == ""
}

// lowerASCII lowers A to Z only: the full Unicode mapping turns the Kelvin sign
// into k, and two different hosts into one.
func lowerASCII(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			return lowerBytes(s)
		}
	}
	return s
}

func lowerBytes(s string) string {
	out := []byte(s)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// IsWildcardHostname says whether a hostname covers other names: "*.a.test".
func IsWildcardHostname(name string) bool { return strings.HasPrefix(name, "*.") }

// HostMatches says whether host falls under pattern: "" is any host, "*.a.test"
// is every name below a.test at any depth but not a.test itself
// (HTTPRoute.spec.hostnames). Both are canonical.
func HostMatches(pattern, host string) bool {
	if pattern == "" || pattern == host {
		return true
	}
	if !IsWildcardHostname(pattern) || len(host) > maxHostname {
		return false
	}
	below, ok := strings.CutSuffix(host, pattern[1:])
	return ok && nameBelowWildcard(below)
}

// nameBelowWildcard refuses what a wildcard's star would stand for when it is
// empty or has an empty label at its ends, as in "..a.test".
func nameBelowWildcard(below string) bool {
	return below != "" && below[0] != '.' && below[len(below)-1] != '.'
}

// IntersectHostnames is the narrower of two hostnames of which one covers the
// other. Two hostnames without a name in common have no intersection.
func IntersectHostnames(a, b string) (string, bool) {
	switch {
	case HostMatches(a, b):
		return b, true
	case HostMatches(b, a):
		return a, true
	default:
		return "", false
	}
}

// CompareHostnames orders hostnames from most to least specific: more characters
// in a non-wildcard hostname, then more characters in a hostname
// (HTTPRoute.spec.hostnames), then by name. No hostname at all comes last. Where
// two names both match one host they are never tied on specificity alone.
func CompareHostnames(a, b string) int {
	return cmp.Or(
		cmp.Compare(exactLength(b), exactLength(a)),
		cmp.Compare(len(b), len(a)),
		cmp.Compare(a, b),
	)
}

func exactLength(name string) int {
	if IsWildcardHostname(name) {
		return 0
	}
	return len(name)
}

// hostTable finds values by the hostname they stand for, in time that does not
// depend on how many there are. The zero value is not usable; see newHostTable.
type hostTable[T any] struct {
	exact    map[string]T
	wildcard map[string]T // by what follows the star, with the dot
	any      *T
}

func newHostTable[T any]() hostTable[T] {
	return hostTable[T]{exact: map[string]T{}, wildcard: map[string]T{}}
}

// get is the value under exactly this pattern.
func (t *hostTable[T]) get(pattern string) (value T, ok bool) {
	switch {
	case pattern == "":
		if t.any != nil {
			return *t.any, true
		}
		return value, false
	case IsWildcardHostname(pattern):
		value, ok = t.wildcard[pattern[1:]]
	default:
		value, ok = t.exact[pattern]
	}
	return value, ok
}

func (t *hostTable[T]) set(pattern string, value T) {
	switch {
	case pattern == "":
		t.any = &value
	case IsWildcardHostname(pattern):
		t.wildcard[pattern[1:]] = value
	default:
		t.exact[pattern] = value
	}
}

// candidates are the values whose pattern covers the canonical host, the most
// specific first.
func (t *hostTable[T]) candidates(host string) iter.Seq[T] {
	return func(yield func(T) bool) {
		if v, ok := t.exact[host]; ok && !yield(v) {
			return
		}
		for i := t.wildcardCut(host, 1); i > 0; i = t.wildcardCut(host, i+1) {
			if v, ok := t.wildcard[host[i:]]; ok && !yield(v) {
				return
			}
		}
		if t.any != nil {
			yield(*t.any)
		}
	}
}

// wildcardCut is the next dot of host, from i on, that a wildcard's star can end
// at; 0 when there is none.
func (t *hostTable[T]) wildcardCut(host string, i int) int {
	if len(t.wildcard) == 0 || len(host) > maxHostname {
		return 0
	}
	for ; i < len(host); i++ {
		if host[i] == '.' && nameBelowWildcard(host[:i]) {
			return i
		}
	}
	return 0
}
