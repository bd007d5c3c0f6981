package aws

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// Why: AWS refuses other names, two things under one name are one thing, and a name
// that changes is a thing made anew.
func TestNames(t *testing.T) {
	legal := regexp.MustCompile(`^([a-z0-9]+-)*[a-z0-9]+$`)
	seen := map[string]string{}
	d := newDice(1)
	for i := range 100_000 {
		readable := d.pick("apps-edge", "internal-edge", "", "9lives", "a--b", "ÄÖ", strings.Repeat("long", 20), "-", "x.y/z", "abcdefghijklmnopqr-s")
		parts := []string{fmt.Sprint(i / 4), d.pick("a", "b")[:i%2], strings.Repeat("p", i%4)}
		name := nameOf(readable, parts...)
		key := fmt.Sprintf("%q %q", readable, parts)
		if len(name) > nameLimit || !legal.MatchString(name) || strings.HasPrefix(name, "internal-") {
			t.Fatalf("%s: %q is not legal", key, name)
		}
		if was, ok := seen[name]; ok && was != key {
			t.Fatalf("%s and %s are both %q", was, key, name)
		}
		seen[name] = key
		if again := nameOf(readable, parts...); again != name {
			t.Fatalf("%s is %q, and then %q", key, name, again)
		}
	}
	if len(seen) < 90_000 {
		t.Errorf("%d names", len(seen))
	}
}

// Why: a separator in a part must not make another part of it.
func TestNamesTellPartsApart(t *testing.T) {
	if nameOf("x", "a-b", "c") == nameOf("x", "a", "b-c") || nameOf("x", "a", "") == nameOf("x", "a") {
		t.Error("different parts have one name")
	}
}

// Why: what a release of ours calls something, the next one must find.
func TestNamesStay(t *testing.T) {
	const want = "apps-edge-kgxvz2hdr2ac2"
	if got := nameOf("apps-edge", KindLoadBalancer, "c1"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
