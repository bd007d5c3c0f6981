package lbmodel

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// FamilyOf is the family of an address; an IPv4 address inside an IPv6 one counts
// as itself.
func FamilyOf(addr netip.Addr) IPFamily {
	if addr.Unmap().Is4() {
		return IPv4
	}
	return IPv6
}

// ParseRange reads a range of client addresses: a prefix such as 10.0.0.0/8, with
// or without blanks around it. Bits beyond the prefix's length are cleared, as
// Kubernetes does (10.0.0.5/8 is 10.0.0.0/8), and IPv4 written as IPv6 is IPv4. An
// address without a length is an error: nobody can say what it leaves out.
func ParseRange(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(strings.TrimSpace(text))
	if err != nil {
		return netip.Prefix{}, err
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}

// MergeRanges are ranges as a listener holds them: sorted, and none that lies in
// another, so that neither order nor repetition is a change.
func MergeRanges(ranges []netip.Prefix) []string {
	ranges = slices.Clone(ranges)
	slices.SortFunc(ranges, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	var kept []netip.Prefix
	for _, p := range ranges {
		if n := len(kept); n == 0 || !kept[n-1].Overlaps(p) { // a wider one came before
			kept = append(kept, p)
		}
	}
	var out []string
	for _, p := range kept {
		out = append(out, p.String())
	}
	slices.Sort(out)
	return out
}
