package aws

import (
	"strings"
	"testing"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/aws/settings"
)

// Why: these are the encodings that docs/decisions/0028 speaks of; what they mean is
// tried by TestMeaningIsKept.
func TestEncodings(t *testing.T) {
	path := func(kind lbmodel.MatchKind, value string) lbmodel.Match {
		return lbmodel.Match{Path: lbmodel.PathMatch{Kind: kind, Value: value}}
	}
	header := func(name string, kind lbmodel.MatchKind, value string) lbmodel.Match {
		return lbmodel.Match{Headers: []lbmodel.ValueMatch{{Name: name, Kind: kind, Value: value}}}
	}
	grpc := func(service, method string) lbmodel.Match {
		return lbmodel.Match{GRPC: &lbmodel.GRPCMatch{Kind: lbmodel.MatchExact, Service: service, Method: method}}
	}
	all := []settings.Assumption{settings.PathRegexCaseSensitive, settings.HeaderRegexCaseSensitive}
	for _, c := range []struct {
		name   string
		assume []settings.Assumption
		match  lbmodel.Match
		want   string // in the conditions, or in the refusal
		refuse bool
	}{
		{"prefix by element", nil, path(lbmodel.MatchPrefix, "/foo/"), `{"field":"path-pattern","values":["/foo","/foo/*"]}`, false},
		{"root", nil, path(lbmodel.MatchPrefix, "/"), `null`, false},
		{"exact", nil, path(lbmodel.MatchExact, "/foo/"), `"values":["/foo/"]`, false},
		{"needlessly encoded", nil, path(lbmodel.MatchExact, "/%66oo"), `"values":["/foo"]`, false},
		{"wildcards that are none", nil, path(lbmodel.MatchExact, "/1*2"), `"regexValues":["^/1\\*2$"]`, false},
		{"encoded", nil, path(lbmodel.MatchPrefix, "/1%3c"), `"regexValues":["^/1(%3[Cc]|\u003c)(/.*)?$"]`, false},
		{"wildcards and letters", nil, path(lbmodel.MatchExact, "/a*b"), "assume PathRegexCaseSensitive", true},
		{"as assumed", all, path(lbmodel.MatchExact, "/a*b"), `"regexValues":["^/a\\*b$"]`, false},
		{"expression", all, path(lbmodel.MatchRegex, "/a|/b"), `"regexValues":["^(/a|/b)$"]`, false},
		{"flags", all, path(lbmodel.MatchRegex, "(?i)/a"), "flags", true},
		{"named group", all, path(lbmodel.MatchRegex, "/(?P<x>a)"), "named groups", true},
		{"class of Unicode", all, path(lbmodel.MatchRegex, `/\pL`), "classes of Unicode", true},
		{"parameters", nil, path(lbmodel.MatchExact, "/a;b"), "a semicolon", true},
		{"empty segment", nil, path(lbmodel.MatchPrefix, "/a//b"), "an empty segment", true},
		{"dot segment", nil, path(lbmodel.MatchExact, "/a/../b"), "a dot segment", true},
		{"encoded slash", nil, path(lbmodel.MatchExact, "/a%2Fb"), "an encoded slash", true},
		{"encoded percent", nil, path(lbmodel.MatchExact, "/a%25"), "an encoded %", true},
		{"not ASCII", nil, path(lbmodel.MatchExact, "/%C3%A9"), "not visible ASCII", true},
		{"malformed", nil, path(lbmodel.MatchExact, "/%zz"), "malformed", true},
		{"too long", nil, path(lbmodel.MatchPrefix, "/"+strings.Repeat("a", 126)), "128", true},
		{"header", all, header("X-A", lbmodel.MatchExact, "1.0"), `{"field":"http-header","header":"x-a","regexValues":["^1\\.0$"]}`, false},
		{"header by expression", all, header("x-a", lbmodel.MatchRegex, "a|b"), `"regexValues":["^(a|b)$"]`, false},
		{"host as a header", all, header("Host", lbmodel.MatchExact, "a"), "not Host", true},
		{"header name", all, header("x_a", lbmodel.MatchExact, "a"), "x_a", true},
		{"header value", all, header("x-a", lbmodel.MatchExact, "é"), "visible ASCII", true},
		{"gRPC method", nil, grpc("shop.Cart", "Get"), `"values":["/shop.Cart/Get"]`, false},
		{"gRPC service", nil, grpc("shop.Cart", ""), `"values":["/shop.Cart/*"]`, false},
		{"gRPC method of any service", nil, grpc("", "Get"), `"values":["/*/Get"]`, false},
		{"gRPC content", nil, grpc("", ""), `"header":"content-type","regexValues":["^[aA][pP]`, false},
		{"gRPC name", nil, grpc("a*", ""), "a*", true},
		{"query", nil, lbmodel.Match{Query: []lbmodel.ValueMatch{{Name: "a", Value: "b"}}}, "without regard to case", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := encoder{&settings.Settings{Assume: c.assume}}
			conditions, err := e.match(&c.match)
			got := encode(conditions)
			if conditions == nil {
				got = "null"
			}
			if err != nil {
				got = err.Error()
			}
			if (err != nil) != c.refuse || !strings.Contains(strings.ReplaceAll(got, "<", `\u003c`), c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// Why: a name is the same in any case, with any port and with the root's dot, and no
// other name.
func TestHostConditions(t *testing.T) {
	for _, c := range []struct{ name, host, want string }{
		{"exact", "a1.test", `[{"field":"host-header","regexValues":["^[aA]1\\.[tT][eE][sS][tT]\\.?(:[0-9]*)?$"]}]`},
		{"wildcard", "*.t", `[{"field":"host-header","regexValues":["^[^.](.*[^.])?\\.[tT]\\.?(:[0-9]*)?$"]}]`},
		{"long", "a-name-with-more-than-28-letters.example.com",
			`[{"field":"host-header","regexValues":["^a-name-with-more-than-28-letters\\.example\\.com\\.?(:[0-9]*)?$"]},{"field":"host-header","values":["a-name-with-more-than-28-letters.example.com"]}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := encode(hostConditions([]string{c.host})); got != c.want || checkHost(c.host) != nil {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	if checkHost(strings.Repeat("a", 120)+".example.com") == nil || checkHost(strings.Repeat("a", 60)+".xn--p1ai") == nil {
		t.Error("a name that AWS cannot compare is taken")
	}
}
