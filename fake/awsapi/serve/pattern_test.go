package serve

import (
	"regexp"
	"strings"
	"testing"
)

// FuzzGlob compares globs with the regular expressions that say the same.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"*.example.com", "a.example.com"}, {"a*b*c", "aXbYbZc"}, {"?", ""}, {"**", "x"}, {"a?*", "a"}, {"*a", "aba"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if !isVisible(pattern) || !isVisible(text) {
			return
		}
		as := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
		if strings.Contains(pattern, `\`) {
			return
		}
		want := regexp.MustCompile(`\A(?:` + as + `)\z`).MatchString(text)
		if got := parseGlob(pattern, Literal).matches(text); got != want {
			t.Errorf("%q with %q: %t, want %t", pattern, text, got, want)
		}
	})
}

// FuzzRewrite: no transform makes a URL that cannot be sent, under any position.
func FuzzRewrite(f *testing.F) {
	f.Add(`^/foo`, "/bar$1", "/foo/x", "a=b")
	f.Add(`(/)`, "$1$$", "/%2F", "")
	f.Fuzz(func(t *testing.T, pattern, replace, path, query string) {
		if !strings.HasPrefix(path, "/") || !isVisible(path) || strings.ContainsAny(path+query, " ?#") || !isVisible(query) {
			return
		}
		r := &rule{rewrites: []rewrite{newRewrite(Transform{URLRewrite, pattern, replace})}}
		Undocumented{}.EachPosition(func(name string, u Undocumented) {
			_, got, _, err := r.rewritten(&Request{Path: path, Query: query}, u.withDefaults())
			if err == nil && !strings.HasPrefix(got, "/") {
				t.Errorf("%s: %q makes %q of %q", name, replace, got, path)
			}
		})
	})
}

// TestMatcher reads codes and ranges.
func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		matcher string
		code    int
		want    bool
	}{{"200", 200, true}, {"200", 201, false}, {"200,202", 202, true}, {"200-299", 299, true}, {"200-299, 404", 404, true}, {"200-299", 300, false}, {"x", 200, false}, {"200-x", 200, false}} {
		if got := matcherTakes(c.matcher, c.code); got != c.want {
			t.Errorf("%q with %d: %t", c.matcher, c.code, got)
		}
	}
}

// TestNormalise has the steps one by one (RFC 3986 §5.2.4 for dots).
func TestNormalise(t *testing.T) {
	for _, c := range []struct {
		path, want string
		u          Undocumented
	}{
		{"/a/b/c/./../../g", "/a/g", Undocumented{}},
		{"/a/..", "/", Undocumented{}},
		{"/a/.", "/a/", Undocumented{}},
		{"/../x", "/x", Undocumented{}},
		{"*", "*", Undocumented{}},
		{"/%7euser/%2f", "/~user/%2f", Undocumented{}},
		{"/%7e%", "/~%", Undocumented{}},
		{"/%2e%2e/x", "/x", Undocumented{}},
		{"/%2F", "//", Undocumented{PathDecoding: All}},
		{"/%2F", "/", Undocumented{PathDecoding: All, PathSlashes: Merged}},
		{"/a;x/b;y", "/a/b", Undocumented{PathParameters: Removed}},
	} {
		if got := normalisePath(c.path, c.u.withDefaults()); got != c.want {
			t.Errorf("%q with %+v: %q, want %q", c.path, c.u, got, c.want)
		}
	}
}
