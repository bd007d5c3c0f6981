package serve

import (
	"flag"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fact is one row of what AWS documents about conditions: a condition, requests
// that it takes and requests that it does not.
type fact struct {
	name  string
	why   string
	c     []Condition
	takes []string // "GET host/path?query" and then headers, separated by " | "
	not   []string
}

func host(values ...string) []Condition { return []Condition{{Field: HostHeader, Values: values}} }
func path(values ...string) []Condition { return []Condition{{Field: PathPattern, Values: values}} }
func regex(f Field, values ...string) []Condition {
	return []Condition{{Field: f, Header: "X-Test", Regex: values}}
}
func header(name string, values ...string) []Condition {
	return []Condition{{Field: HTTPHeader, Header: name, Values: values}}
}
func query(pairs ...QueryPair) []Condition { return []Condition{{Field: QueryString, Query: pairs}} }

// facts are documented: they hold under every position of every switch.
func facts() []fact {
	return []fact{
		{"host glob", "*.example.com takes what is below it, at any depth, not example.com itself", host("*.example.com"),
			[]string{"GET test.example.com/", "GET a.b.example.com/", "GET TEST.Example.COM/"}, []string{"GET example.com/", "GET testexample.com/"}},
		{"host question mark", "? is exactly one character", host("v?.example.com"), []string{"GET v1.example.com/"}, []string{"GET v.example.com/", "GET v12.example.com/"}},
		{"host values", "values of one condition are alternatives", host("a.example.com", "b.example.com"), []string{"GET a.example.com/", "GET b.example.com/"}, []string{"GET c.example.com/"}},
		{"path literal", "a slash at the end is a character, and letter case counts", path("/a"), []string{"GET h/a", "GET h/a?x=/b"}, []string{"GET h/a/", "GET h/A", "GET h/ab"}},
		{"path glob", "* spans slashes", path("/img/*/pics"), []string{"GET h/img/x/pics", "GET h/img/x/y/pics", "GET h/img/x.y/pics"}, []string{"GET h/img/pics", "GET h/img/x/pics/"}},
		{"path never the query", "a path pattern does not see it", path("*q*"), []string{"GET h/q"}, []string{"GET h/a?q"}},
		{"prefix by elements", "the two values that make a Gateway API prefix", path("/foo", "/foo/*"), []string{"GET h/foo", "GET h/foo/", "GET h/foo/x"}, []string{"GET h/foobar", "GET h/"}},
		{"header", "name and value without regard to case, any line of several", header("x-TEST", "v*1"), []string{"GET h/ | X-Test: V-1", "GET h/ | X-Test: no | X-Test: v1"},
			[]string{"GET h/", "GET h/ | X-Test: v2", "GET h/ | X-Other: v1"}},
		{"header all of", "one condition for each value", append(header("x-test", "*a*"), header("x-test", "*b*")...), []string{"GET h/ | X-Test: ab", "GET h/ | X-Test: a | X-Test: b"}, []string{"GET h/ | X-Test: a"}},
		{"method", "exact, with letter case, custom ones too", []Condition{{Field: HTTPRequestMethod, Values: []string{"POST", "MY-METHOD"}}}, []string{"POST h/", "MY-METHOD h/"}, []string{"GET h/", "post h/"}},
		{"query pair", "one pair is enough, whatever the case", query(QueryPair{"Animal", "Whale"}), []string{"GET h/?animal=whale", "GET h/?a=b&ANIMAL=WHALE", "GET h/?animal=cat&animal=whale"},
			[]string{"GET h/?animal=cat", "GET h/", "GET h/?xanimal=whale", "GET h/animal=whale"}},
		{"query any key", "an absent key is any", query(QueryPair{"", "v*"}), []string{"GET h/?a=v1", "GET h/?b=V"}, []string{"GET h/?v=1"}},
		{"query escape", `\* and \? are literal`, query(QueryPair{"k", `\*\?`}), []string{"GET h/?k=*?"}, []string{"GET h/?k=ab", `GET h/?k=\*\?`}},
		{"query alternatives", "pairs of one condition are alternatives", query(QueryPair{"a", "1"}, QueryPair{"b", "2"}), []string{"GET h/?a=1", "GET h/?b=2"}, []string{"GET h/?a=2"}},
		{"source", "the peer's address, never X-Forwarded-For", []Condition{{Field: SourceIP, Values: []string{"192.0.2.0/24"}}}, []string{"GET h/"}, nil},
		{"other source", "the peer's address, never X-Forwarded-For", []Condition{{Field: SourceIP, Values: []string{"198.51.100.0/24", "2001:db8::/32"}}}, nil, []string{"GET h/ | X-Forwarded-For: 198.51.100.1"}},
		{"conditions", "conditions are joined by and", append(host("a.example.com"), path("/x")...), []string{"GET a.example.com/x"}, []string{"GET a.example.com/y", "GET b.example.com/x"}},
		{"anchored path regex", "anchored, so that search and full match agree", regex(PathPattern, `^/api/(.*)$`), []string{"GET h/api/", "GET h/api/x"}, []string{"GET h/apis", "GET h/x/api/"}},
		{"anchored host regex", "without letters that fold; ports are taken by the regex itself", regex(HostHeader, `^.+\.1\.2(:[0-9]+)?$`), []string{"GET a.1.2/", "GET a.1.2:80/"}, []string{"GET .1.2/", "GET a1112/"}},
		{"header regex", "the guide's own example", regex(HTTPHeader, `.+`), []string{"GET h/ | X-Test: 1"}, []string{"GET h/"}},
		{"grpc", "the pattern of a whole service", path("/pkg.Svc/*"), []string{"POST h/pkg.Svc/Do | Content-Type: application/grpc"}, []string{"POST h/pkg.Svc2/Do | Content-Type: application/grpc"}},
	}
}

// parse reads the notation of facts.
func parse(t *testing.T, text string) Request {
	t.Helper()
	parts := strings.Split(text, " | ")
	method, target, _ := strings.Cut(parts[0], " ")
	host, rest, ok := strings.Cut(target, "/")
	if !ok {
		t.Fatalf("%q has no path", text)
	}
	r := Request{Method: method, Host: host, Header: http.Header{}, Source: netip.MustParseAddr("192.0.2.7")}
	r.Path, r.Query, _ = strings.Cut("/"+rest, "?")
	for _, h := range parts[1:] {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

func configOf(u Undocumented, rules ...Rule) Config {
	return Config{Undocumented: u, LoadBalancers: []LoadBalancer{{Name: "lb", Kind: Application, Listeners: []Listener{{Name: "l", Port: 80, Rules: rules}}}}}
}

// TestFacts: what is documented holds whatever the switches say, and why is
// written down for people to read.
func TestFacts(t *testing.T) {
	var golden strings.Builder
	for _, f := range facts() {
		t.Run(f.name, func(t *testing.T) {
			Undocumented{}.EachPosition(func(position string, u Undocumented) {
				c := configOf(u, Rule{Priority: 1, Conditions: f.c})
				for i, text := range append(f.takes[:len(f.takes):len(f.takes)], f.not...) {
					want := i < len(f.takes)
					got, err := Explain(c, "lb", "l", parse(t, text))
					if err != nil {
						t.Fatal(err)
					}
					if (got.Rule != defaultRule) != want {
						t.Errorf("%s, with %s: taken is %t, want %t: %s", text, position, !want, want, f.why)
					}
				}
			})
		})
		fmt.Fprintf(&golden, "# %s: %s\n", f.name, f.why)
		for _, text := range append(f.takes[:len(f.takes):len(f.takes)], f.not...) {
			got := must(Explain(configOf(Undocumented{}, Rule{Priority: 1, Conditions: f.c}), "lb", "l", parse(t, text)))
			why := got.Why
			for _, p := range got.Passed {
				why = p.Why
			}
			fmt.Fprintf(&golden, "%-55s %-10s %s\n", text, got.Rule, why)
		}
	}
	compareGolden(t, "facts", golden.String())
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name, "want.txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); rewrite it with -update and read it:\n%s", file, diff)
	}
}

// TestMatchSwitches shows that each switch of matching does what it is named
// for: the request is taken in one position and not in another.
func TestMatchSwitches(t *testing.T) {
	for _, c := range []struct {
		name, request string
		c             []Condition
		taken         Undocumented
		not           Undocumented
	}{
		{"HostPort", "GET a.example.com:8080/", host("a.example.com"), Undocumented{HostPort: Stripped}, Undocumented{}},
		{"HostRegexCase", "GET A.example.com/", regex(HostHeader, `^a\.example\.com$`), Undocumented{}, Undocumented{HostRegexCase: Sensitive}},
		{"HeaderRegexCase", "GET h/ | X-Test: V", regex(HTTPHeader, "^v$"), Undocumented{}, Undocumented{HeaderRegexCase: Sensitive}},
		{"PathRegexCase", "GET h/A", regex(PathPattern, "^/a$"), Undocumented{PathRegexCase: Insensitive}, Undocumented{}},
		{"RegexExtent", "GET h/abc", regex(PathPattern, "b"), Undocumented{}, Undocumented{RegexExtent: Full}},
		{"RegexFlags", "GET h/A", regex(PathPattern, "(?i)^/a$"), Undocumented{}, Undocumented{RegexFlags: Refused}},
		{"PathDecoding unreserved", "GET h/%61%2e%62", path("/a.b"), Undocumented{}, Undocumented{PathDecoding: Raw}},
		{"PathDecoding all", "GET h/a%2Fb", path("/a/b"), Undocumented{PathDecoding: All}, Undocumented{}},
		{"PathDots", "GET h/x/../a/./b", path("/a/b"), Undocumented{}, Undocumented{PathDots: Kept}},
		{"PathSlashes", "GET h//a///b", path("/a/b"), Undocumented{PathSlashes: Merged}, Undocumented{}},
		{"PathParameters", "GET h/a;v=1/b", path("/a/b"), Undocumented{PathParameters: Removed}, Undocumented{}},
		{"QueryDecoding", "GET h/?a%62=%43", query(QueryPair{"ab", "c"}), Undocumented{}, Undocumented{QueryDecoding: Raw}},
		{"QueryDecoding plus", "GET h/?a=b+c", query(QueryPair{"a", "b c"}), Undocumented{QueryDecoding: DecodedPlus}, Undocumented{}},
		{"GlobEscape", "GET h/ | X-Test: a*", header("x-test", `a\*`), Undocumented{GlobEscape: Escape}, Undocumented{}},
		{"HeaderLists", "GET h/ | X-Test: a, b", header("x-test", "b"), Undocumented{HeaderLists: Split}, Undocumented{}},
		{"InvisibleBytes", "GET h/é", path("/*"), Undocumented{InvisibleBytes: Compared}, Undocumented{}},
		{"GRPCPackage", "POST h/pkg.Svc/Do | Content-Type: application/grpc", path("/pkg"), Undocumented{GRPCPackage: Prefix}, Undocumented{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for want, u := range map[bool]Undocumented{true: c.taken, false: c.not} {
				got := must(Explain(configOf(u, Rule{Priority: 1, Conditions: c.c}), "lb", "l", parse(t, c.request)))
				if (got.Rule != defaultRule) != want {
					t.Errorf("%+v: taken is %t, want %t; %v", u, !want, want, got.Passed)
				}
			}
		})
	}
}

// TestRewrites covers what is documented and each switch of transforms.
func TestRewrites(t *testing.T) {
	url := func(regex, replace string) []Transform { return []Transform{{URLRewrite, regex, replace}} }
	hosts := func(regex, replace string) []Transform {
		return []Transform{{HostHeaderRewrite, regex, replace}}
	}
	for _, c := range []struct {
		name, why, request string
		t                  []Transform
		u                  Undocumented
		want               string // host/path?query, or "" for 500
	}{
		{name: "part", why: "what is not matched stays", request: "GET h/api/v1/users?a=b", t: url(`(^/api(/)?)`, "/v2$2"), want: "h/v2/v1/users?a=b"},
		{name: "path into query", why: "the guide's example", request: "GET h/dp/B09", t: url(`^/dp/([A-Za-z0-9]+)/?$`, "/product.php?id=$1"), want: "h/product.php?id=B09"},
		{name: "no match", why: "the original is sent", request: "GET h/x?y", t: url(`^/dp/`, "/"), want: "h/x?y"},
		{name: "host", why: "the whole host", request: "GET a.example.com:80/x", t: hosts(`^.*$`, "b.example.com"), want: "b.example.com/x"},
		{name: "broken result", why: "a failure of a transform that matches is 500", request: "GET h/x", t: url(`^/x`, "no slash")},
		{name: "broken host", why: "a failure of a transform that matches is 500", request: "GET h/x", t: hosts(`^.*$`, "a b")},
		{name: "first", why: "RewriteOccurrence", request: "GET h/a/a", t: url(`/a`, "/b"), want: "h/b/a"},
		{name: "every", why: "RewriteOccurrence", request: "GET h/a/a", t: url(`/a`, "/b"), u: Undocumented{RewriteOccurrence: Every}, want: "h/b/b"},
		{name: "query seen", why: "RewriteQuery", request: "GET h/a?q=1", t: url(`^.*$`, "/b"), want: "h/b"},
		{name: "query unseen", why: "RewriteQuery", request: "GET h/a?q=1", t: url(`^.*$`, "/b?x=y"), u: Undocumented{RewriteQuery: Unseen}, want: "h/b?x=y&q=1"},
		{name: "raw", why: "RewriteInput", request: "GET h/x/../a", t: url(`^/a$`, "/b"), want: "h/x/../a"},
		{name: "normalised", why: "RewriteInput", request: "GET h/x/../a", t: url(`^/a$`, "/b"), u: Undocumented{RewriteInput: Normalised}, want: "h/b"},
		{name: "missing group", why: "RewriteMissingGroup", request: "GET h/a", t: url(`^/a(b)?`, "/x$1$7"), want: "h/x"},
		{name: "missing group literal", why: "RewriteMissingGroup", request: "GET h/a", t: url(`^/a(b)?`, "/x$1"), u: Undocumented{RewriteMissingGroup: Literal}, want: "h/x$1"},
		{name: "missing group fails", why: "RewriteMissingGroup", request: "GET h/a", t: url(`^/a(b)?`, "/x$1"), u: Undocumented{RewriteMissingGroup: Fails}},
		{name: "dollars", why: "RewriteDollar", request: "GET h/a", t: url(`^/a`, "/$$x$"), want: "h/$$x$"},
		{name: "dollars doubled", why: "RewriteDollar", request: "GET h/a", t: url(`^/a`, "/$$x$"), u: Undocumented{RewriteDollar: Doubled}, want: "h/$x$"},
		{name: "dollars dropped", why: "RewriteDollar", request: "GET h/a", t: url(`^/a`, "/$$x$"), u: Undocumented{RewriteDollar: Dropped}, want: "h/x"},
		{name: "empty", why: "RewriteEmpty", request: "GET h/a", t: url(`^/a`, ""), want: "h/"},
		{name: "empty fails", why: "RewriteEmpty", request: "GET h/a", t: url(`^/a`, ""), u: Undocumented{RewriteEmpty: Fails}},
		{name: "host without port", why: "RewriteHostInput", request: "GET a:81/x", t: hosts(`^.*$`, "b"), u: Undocumented{RewriteHostInput: WithoutPort}, want: "b:81/x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must(Explain(configOf(c.u, Rule{Priority: 1, Conditions: path("/*"), Transforms: c.t}), "lb", "l", parse(t, c.request)))
			text := got.Host + got.Path
			if got.Query != "" {
				text += "?" + got.Query
			}
			if text != c.want || (got.Failed == "") != (c.want != "") {
				t.Errorf("%q, failed %q; want %q: %s", text, got.Failed, c.want, c.why)
			}
		})
	}
}

// TestPrefixRewrite: the encodings of a prefix rewrite that keep their meaning,
// under every position (facts, part D).
func TestPrefixRewrite(t *testing.T) {
	for _, c := range []struct {
		name, why, regex, replace, request, want string
	}{
		{"longer", "only the matched part is replaced", `^/foo`, "/xyz", "/foo/bar", "/xyz/bar"},
		{"itself", "only the matched part is replaced", `^/foo`, "/xyz", "/foo", "/xyz"},
		{"to root", "a slash is taken along", `^/foo/?`, "/", "/foo/bar", "/bar"},
		{"to root, itself", "a slash is taken along", `^/foo/?`, "/", "/foo", "/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			Undocumented{}.EachPosition(func(position string, u Undocumented) {
				got := must(Explain(configOf(u, Rule{Priority: 1, Conditions: path("/*"), Transforms: []Transform{{URLRewrite, c.regex, c.replace}}}), "lb", "l", parse(t, "GET h"+c.request)))
				if got.Path != c.want {
					t.Errorf("with %s: %q, want %q: %s", position, got.Path, c.want, c.why)
				}
			})
		})
	}
}

// TestCheckRegex has the constructs that the guide lists as unsupported.
func TestCheckRegex(t *testing.T) {
	for pattern, ok := range map[string]bool{`^(.*)\.example\.com$`: true, `a{2,3}[^b]\d`: true, `(?:a|b)`: true, `\\p`: true,
		`\p{L}`: false, `(?=a)`: false, `(?<!a)b`: false, `(a)\1`: false, `(?>a)`: false, `a++`: false, `(?R)`: false, `(`: false} {
		if err := CheckRegex(pattern); (err == nil) != ok {
			t.Errorf("%q: %v, want usable to be %t", pattern, err, ok)
		}
	}
}
