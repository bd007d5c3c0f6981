package lbmodel

import (
	"slices"
	"strings"
	"testing"
)

func TestC10CanonicalHost(t *testing.T) {
	const why = "a Host header names the same host with any port, in any case and with the root's dot"
	for _, c := range []struct{ name, host, want string }{
		{"plain", "shop.test", "shop.test"},
		{"port", "shop.test:8080", "shop.test"},
		{"another port", "shop.test:99", "shop.test"},
		{"empty port", "shop.test:", "shop.test"},
		{"upper case", "SHOP.test", "shop.test"},
		{"trailing dot", "shop.test.", "shop.test"},
		{"trailing dot and port", "shop.test.:8080", "shop.test"},
		{"only one dot is the root", "shop.test..", "shop.test."},
		{"IPv6 literal", "[2001:db8::1]", "[2001:db8::1]"},
		{"IPv6 literal with port", "[2001:DB8::1]:8080", "[2001:db8::1]"},
		{"IPv6 without brackets", "2001:db8::1", "2001:db8::1"},
		{"IPv4", "192.0.2.1:80", "192.0.2.1"},
		{"not a port", "shop.test:http", "shop.test:http"},
		{"open bracket", "[2001:db8::1", "[2001:db8::1"},
		{"text behind the bracket", "[::1]x", "[::1]x"},
		{"empty", "", ""},
		{"only a port", ":80", ":80"},
		{"only a dot", ".", ""},
		{"Kelvin sign is not k", "\u212Aelvin.test", "\u212Aelvin.test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := CanonicalHost(c.host); got != c.want {
				t.Errorf("CanonicalHost(%q) = %q, want %q: %s", c.host, got, c.want, why)
			}
		})
	}
}

func FuzzCanonicalHost(f *testing.F) {
	for _, seed := range []string{"shop.test:80", "[::1]:80", "[", "]", ":", ".", "[]", "[]:", "a]:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		got := CanonicalHost(host)
		if strings.ContainsAny(got, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			t.Errorf("CanonicalHost(%q) = %q holds upper case", host, got)
		}
		if strings.HasPrefix(host, "[") && HostMatches("*.test", got) && !strings.HasSuffix(got, ".test") {
			t.Errorf("the literal %q matches a hostname", host)
		}
	})
}

func TestHostMatches(t *testing.T) {
	const why = "a wildcard is a suffix match of whole labels, at any depth, without the name itself (HTTPRoute.spec.hostnames)"
	for _, c := range []struct {
		name, pattern, host string
		want                bool
	}{
		{"any host", "", "a.test", true},
		{"any host, none sent", "", "", true},
		{"same", "a.test", "a.test", true},
		{"other", "a.test", "b.test", false},
		{"one label below", "*.a.test", "x.a.test", true},
		{"two labels below", "*.a.test", "y.x.a.test", true},
		{"the name itself", "*.a.test", "a.test", false},
		{"part of a label", "*.a.test", "xa.test", false},
		{"empty label", "*.a.test", ".a.test", false},
		{"empty labels", "*.a.test", "x..a.test", false},
		{"no host", "*.a.test", "", false},
		{"IPv6 literal", "*.a.test", "[2001:db8::1]", false},
		{"below an exact name", "a.test", "x.a.test", false},
		{"longer than DNS", "*.a.test", strings.Repeat("x.", 150) + "a.test", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := HostMatches(c.pattern, c.host); got != c.want {
				t.Errorf("HostMatches(%q, %q) = %v: %s", c.pattern, c.host, got, why)
			}
			if got := tableMatches(c.pattern, c.host); got != c.want {
				t.Errorf("hostTable with %q finds %q = %v: %s", c.pattern, c.host, got, why)
			}
		})
	}
}

func tableMatches(pattern, host string) bool {
	table := newHostTable[bool]()
	table.set(pattern, true)
	for found := range table.candidates(host) {
		return found
	}
	return false
}

func TestC08IntersectHostnames(t *testing.T) {
	const why = "the intersection is the narrower name of two that cover each other, in either order"
	for _, c := range []struct {
		name, a, b, want string
		ok               bool
	}{
		{"both any", "", "", "", true},
		{"any and a name", "", "a.test", "a.test", true},
		{"same", "a.test", "a.test", "a.test", true},
		{"apart", "a.test", "b.test", "", false},
		{"wildcard and a name below", "*.test", "p.dev.test", "p.dev.test", true},
		{"wildcard and its own name", "*.a.test", "a.test", "", false},
		{"two wildcards", "*.test", "*.dev.shop.test", "*.dev.shop.test", true},
		{"two wildcards apart", "*.a.test", "*.b.test", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
				got, ok := IntersectHostnames(pair[0], pair[1])
				if got != c.want || ok != c.ok {
					t.Errorf("IntersectHostnames(%q, %q) = %q, %v, want %q, %v: %s", pair[0], pair[1], got, ok, c.want, c.ok, why)
				}
			}
		})
	}
}

func TestCompareHostnames(t *testing.T) {
	want := []string{"long.a.test", "a.test", "b.test", "*.long.a.test", "*.a.test", "*.test", ""}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, CompareHostnames)
	if !slices.Equal(got, want) {
		t.Errorf("sorted = %q, want %q: exact names first, then longer ones, any host last", got, want)
	}
}
