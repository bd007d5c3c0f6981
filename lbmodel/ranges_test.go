package lbmodel

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// TestRanges holds the forms of source ranges that people write (case C54).
func TestRanges(t *testing.T) {
	cases := []struct {
		name, why string
		in        []string
		want      string // "!" for one that is refused
	}{
		{"blanks", "annotations have them after commas", []string{" 10.0.0.0/8", "172.16.0.0/12 "}, "10.0.0.0/8 172.16.0.0/12"},
		{"host bits", "cleared, as Kubernetes does", []string{"10.0.0.5/8"}, "10.0.0.0/8"},
		{"one in another", "a rule more for nothing", []string{"10.1.0.0/16", "10.0.0.0/8", "10.2.3.4/32"}, "10.0.0.0/8"},
		{"twice", "no plan noise", []string{"10.0.0.0/8", "10.0.0.0/8"}, "10.0.0.0/8"},
		{"everybody of IPv4", "the other entry changes nothing", []string{"10.0.0.0/8", "0.0.0.0/0"}, "0.0.0.0/0"},
		{"both families", "they never contain each other", []string{"::/0", "0.0.0.0/0"}, "0.0.0.0/0 ::/0"},
		{"mapped", "the same clients in another spelling", []string{"::ffff:10.0.0.0/104"}, "10.0.0.0/8"},
		{"no length", "it could mean one host or a network", []string{"10.0.0.1"}, "!"},
		{"not an address", "", []string{"inside"}, "!"},
		{"too long", "", []string{"10.0.0.0/33"}, "!"},
		{"none", "", nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var parsed []netip.Prefix
			for _, text := range c.in {
				p, err := ParseRange(text)
				if (err != nil) != (c.want == "!") {
					t.Fatalf("%q: error %v: %s", text, err, c.why)
				}
				parsed = append(parsed, p)
			}
			if c.want == "!" {
				return
			}
			if got := strings.Join(MergeRanges(parsed), " "); got != c.want {
				t.Errorf("%q, want %q: %s", got, c.want, c.why)
			}
			slices.Reverse(parsed)
			if got := strings.Join(MergeRanges(parsed), " "); got != c.want {
				t.Errorf("in another order %q, want %q", got, c.want)
			}
		})
	}
}
