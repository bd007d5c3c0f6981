package serve

import "testing"

type matchCase struct {
	name, why string
	members   string
	line      string
	headers   []string
	s         Switches
	want      string
}

func (c *matchCase) run(t *testing.T) {
	t.Helper()
	t.Run(c.name, func(t *testing.T) {
		got := answer(t, mapOf(t, c.members), c.s, asked(t, c.line, c.headers...))
		if short(got) != c.want {
			t.Errorf("%s %v is %q by %s (%s), want %q: %s", c.line, c.headers, short(got), got.Rule, got.Why, c.want, c.why)
		}
	})
}

const (
	shop     = "GET http://shop.example.com"
	fallback = "fallback shop.example.com"
)

// Why: paths of path rules and route rules, as documented and in every position of what
// is not (lb-semantics C1).
func TestPaths(t *testing.T) {
	pathRules := `"pathRules":[{"paths":["/video/*"],` + service("all") + `},{"paths":["/video/hd/*","/video/hd"],` + service("hd") + `},{"paths":["/a"],` + service("a") + `}]`
	template := `"routeRules":[` + rule("1", `"pathTemplateMatch":"/x/{y=*}/{rest=**}"`, service("t")) + `]`
	prefix := `"routeRules":[` + rule("1", `"prefixMatch":"/v2"`, service("p")) + `]`
	full := `"routeRules":[` + rule("1", `"fullPathMatch":"/a%2Fb"`, service("f")) + `]`
	regex := `"routeRules":[` + rule("1", `"regexMatch":"/r[0-9]"`, service("r")) + `]`
	for _, c := range []matchCase{
		{name: "longest", members: pathRules, line: shop + "/video/hd/1", want: "hd shop.example.com/video/hd/1", why: "the longest prefix, whatever the order"},
		{name: "exact first", members: pathRules, line: shop + "/video/hd", want: "hd shop.example.com/video/hd", why: "exact before prefixes"},
		{name: "not its own stem", members: pathRules, line: shop + "/video", want: fallback + "/video", why: "/video/* does not match /video"},
		{name: "bare slash", members: pathRules, line: shop + "/video/", want: "all shop.example.com/video/", why: "nothing is a rest"},
		{name: "query is not path", members: pathRules, line: shop + "/a?b=/video/", want: "a shop.example.com/a?b=/video/", why: "the query is no part of it"},
		{name: "case", members: pathRules, line: shop + "/A", want: fallback + "/A", why: "first position"},
		{name: "case folded", members: pathRules, line: shop + "/A", s: Switches{PathRuleCase: Insensitive}, want: "a shop.example.com/A", why: "PathRuleCase"},
		{name: "prefix has no boundary", members: prefix, line: shop + "/v2example", want: "p shop.example.com/v2example", why: "a raw prefix"},
		{name: "template", members: template, line: shop + "/x/1/2/3", want: "t shop.example.com/x/1/2/3", why: "** is the rest"},
		{name: "template empty rest", members: template, line: shop + "/x/1/", want: "t shop.example.com/x/1/", why: "** is also nothing"},
		{name: "template no slash", members: template, line: shop + "/x/1", want: fallback + "/x/1", why: "first position"},
		{name: "template whole", members: template, line: shop + "/x/1", s: Switches{TemplateTail: Whole}, want: "t shop.example.com/x/1", why: "TemplateTail"},
		{name: "template empty segment", members: template, line: shop + "/x//2", want: fallback + "/x//2", why: "first position"},
		{name: "template takes an empty segment", members: template, line: shop + "/x//2", s: Switches{TemplateEmptySegment: Matched}, want: "t shop.example.com/x//2", why: "TemplateEmptySegment"},
		{name: "template keeps %2F", members: template, line: shop + "/x/a%2Fb/2", s: Switches{PathEscapes: All}, want: "t shop.example.com/x/a%2Fb/2", why: "documented: never decoded in templates"},
		{name: "escapes", members: full, line: shop + "/a%2Fb", want: "f shop.example.com/a%2Fb", why: "first position"},
		{name: "escapes decoded", members: full, line: shop + "/a%2Fb", s: Switches{PathEscapes: All}, want: fallback + "/a%2Fb", why: "PathEscapes"},
		{name: "escapes unreserved", members: `"routeRules":[` + rule("1", `"fullPathMatch":"/a~"`, service("f")) + `]`, line: shop + "/%61%7E", s: Switches{PathEscapes: Unreserved}, want: "f shop.example.com/%61%7E", why: "PathEscapes"},
		{name: "slashes", members: prefix, line: shop + "//v2", want: fallback + "//v2", why: "first position"},
		{name: "slashes merged", members: prefix, line: shop + "//v2", s: Switches{PathSlashes: Merged}, want: "p shop.example.com/v2", why: "PathSlashes"},
		{name: "dots", members: prefix, line: shop + "/a/../v2/?q=1", want: "Found http://shop.example.com/v2/?q=1", why: "documented: 302 to the collapsed URL"},
		{name: "encoded dots", members: prefix, line: shop + "/a/%2e%2E/v2", want: fallback + "/a/%2e%2E/v2", why: "first position"},
		{name: "encoded dots redirected", members: prefix, line: shop + "/a/%2e%2E/v2", s: Switches{EncodedDots: Redirected}, want: "Found http://shop.example.com/v2", why: "EncodedDots"},
		{name: "dot", members: prefix, line: shop + "/./v2", want: fallback + "/./v2", why: "first position"},
		{name: "dot removed", members: prefix, line: shop + "/./v2", s: Switches{PathDot: Removed}, want: "p shop.example.com/v2", why: "PathDot"},
		{name: "dot redirected", members: prefix, line: shop + "/./v2", s: Switches{PathDot: Redirected}, want: "Found http://shop.example.com/v2", why: "PathDot"},
		{name: "regex is whole", members: regex, line: shop + "/r12", want: fallback + "/r12", why: "first position"},
		{name: "regex is a part", members: regex, line: shop + "/x/r12", s: Switches{RegexExtent: Search}, want: "r shop.example.com/x/r12", why: "RegexExtent"},
		{name: "ignore case", members: `"routeRules":[` + rule("1", `"prefixMatch":"/A","ignoreCase":true`, service("i")) + `]`, line: shop + "/a1", want: "i shop.example.com/a1", why: "by its name"},
		{name: "ignore case by comment", members: `"routeRules":[` + rule("1", `"prefixMatch":"/A","ignoreCase":true`, service("i")) + `]`, line: shop + "/a1", s: Switches{IgnoreCase: Comment}, want: fallback + "/a1", why: "IgnoreCase"},
	} {
		c.run(t)
	}
}

// Why: rules by priority, match rules are OR, predicates AND.
func TestRouteRules(t *testing.T) {
	members := `"routeRules":[` + rule("7", `"prefixMatch":"/"`, service("late")) + `,` + rule("2", `"prefixMatch":"/","headerMatches":[{"headerName":"A","exactMatch":"1"},{"headerName":"B","presentMatch":true}]`, service("both")) +
		`,{"priority":1,"matchRules":[{"fullPathMatch":"/x"},{"prefixMatch":"/x/"}],` + service("or") + `}]`
	for _, c := range []matchCase{
		{name: "lowest number first", members: members, line: shop + "/x", want: "or shop.example.com/x", why: "priority, not order"},
		{name: "or", members: members, line: shop + "/x/y", want: "or shop.example.com/x/y", why: "match rules are OR"},
		{name: "and", members: members, line: shop + "/", headers: []string{"A: 1", "B: 2"}, want: "both shop.example.com/", why: "predicates are AND"},
		{name: "not both", members: members, line: shop + "/", headers: []string{"A: 1"}, want: "late shop.example.com/", why: "predicates are AND"},
	} {
		c.run(t)
	}
}

// header is one route rule with one header match.
func header(match string) string {
	return `"routeRules":[` + rule("1", `"prefixMatch":"/","headerMatches":[{`+match+`}]`, service("yes")) + `]`
}

func query(match string) string {
	return `"routeRules":[` + rule("1", `"prefixMatch":"/","queryParameterMatches":[{`+match+`}]`, service("yes")) + `]`
}

// Why: every kind of header match, and each open question of them in both positions.
func TestHeaders(t *testing.T) {
	const yes, no = "yes shop.example.com/", fallback + "/"
	for _, c := range []matchCase{
		{name: "exact", members: header(`"headerName":"x-a","exactMatch":"One"`), headers: []string{"X-A: One"}, want: yes, why: "names have no case"},
		{name: "value case", members: header(`"headerName":"x-a","exactMatch":"One"`), headers: []string{"X-A: one"}, want: no, why: "first position"},
		{name: "value case folded", members: header(`"headerName":"x-a","exactMatch":"One"`), headers: []string{"X-A: one"}, s: Switches{HeaderValueCase: Insensitive}, want: yes, why: "HeaderValueCase"},
		{name: "prefix", members: header(`"headerName":"x-a","prefixMatch":"On"`), headers: []string{"X-A: One"}, want: yes, why: "prefixMatch"},
		{name: "suffix", members: header(`"headerName":"x-a","suffixMatch":"ne"`), headers: []string{"X-A: One"}, want: yes, why: "suffixMatch"},
		{name: "regex", members: header(`"headerName":"x-a","regexMatch":"O.e"`), headers: []string{"X-A: One"}, want: yes, why: "regexMatch"},
		{name: "range start", members: header(`"headerName":"x-a","rangeMatch":{"rangeStart":"-5","rangeEnd":"0"}`), headers: []string{"X-A: -3"}, want: yes, why: "the API's example"},
		{name: "range end", members: header(`"headerName":"x-a","rangeMatch":{"rangeStart":"-5","rangeEnd":"0"}`), headers: []string{"X-A: 0"}, want: no, why: "the API's example"},
		{name: "range fraction", members: header(`"headerName":"x-a","rangeMatch":{"rangeStart":"-5","rangeEnd":"1"}`), headers: []string{"X-A: 0.25"}, want: no, why: "the API's example"},
		{name: "present", members: header(`"headerName":"x-a","presentMatch":true`), headers: []string{"X-A: "}, want: yes, why: "also empty"},
		{name: "not present", members: header(`"headerName":"x-a","presentMatch":true,"invertMatch":true`), want: yes, why: "inverted"},
		{name: "inverted", members: header(`"headerName":"x-a","exactMatch":"1","invertMatch":true`), headers: []string{"X-A: 2"}, want: yes, why: "inverted"},
		{name: "inverted absent", members: header(`"headerName":"x-a","exactMatch":"1","invertMatch":true`), want: yes, why: "first position"},
		{name: "inverted absent fails", members: header(`"headerName":"x-a","exactMatch":"1","invertMatch":true`), s: Switches{HeaderInvertAbsent: Fails}, want: no, why: "HeaderInvertAbsent"},
		{name: "repeated joined", members: header(`"headerName":"x-a","exactMatch":"2"`), headers: []string{"X-A: 1", "X-A: 2"}, want: no, why: "first position: 1,2"},
		{name: "repeated any", members: header(`"headerName":"x-a","exactMatch":"2"`), headers: []string{"X-A: 1", "X-A: 2"}, s: Switches{HeaderRepeats: Any}, want: yes, why: "HeaderRepeats"},
		{name: "repeated first", members: header(`"headerName":"x-a","exactMatch":"1"`), headers: []string{"X-A: 1", "X-A: 2"}, s: Switches{HeaderRepeats: First}, want: yes, why: "HeaderRepeats"},
		{name: "method", members: header(`"headerName":":method","exactMatch":"GET"`), want: yes, why: ":method"},
		{name: "authority", members: header(`"headerName":":authority","exactMatch":"shop.example.com"`), want: yes, why: ":authority"},
		{name: "port", members: header(`"headerName":"PORT","exactMatch":"80"`), want: no, why: "no port in Host"},
	} {
		c.line = shop + "/"
		c.run(t)
	}
}

// Why: query parameters, by the first position and by each other.
func TestQueries(t *testing.T) {
	exact := query(`"name":"a b","exactMatch":"x"`)
	for _, c := range []matchCase{
		{name: "raw", members: exact, line: shop + "/?a%20b=x", want: fallback + "/?a%20b=x", why: "first position"},
		{name: "decoded", members: exact, line: shop + "/?a%20b=x", s: Switches{QueryDecoding: Decoded}, want: "yes shop.example.com/?a%20b=x", why: "QueryDecoding"},
		{name: "plus", members: exact, line: shop + "/?a+b=x", s: Switches{QueryDecoding: DecodedPlus}, want: "yes shop.example.com/?a+b=x", why: "QueryDecoding"},
		{name: "name case", members: query(`"name":"animal","exactMatch":"Whale"`), line: shop + "/?ANIMAL=Whale", want: fallback + "/?ANIMAL=Whale", why: "the conformance test's request"},
		{name: "present", members: query(`"name":"a","presentMatch":true`), line: shop + "/?a", want: "yes shop.example.com/?a", why: "without a value"},
		{name: "regex", members: query(`"name":"a","regexMatch":"x+"`), line: shop + "/?a=xx", want: "yes shop.example.com/?a=xx", why: "regexMatch"},
		{name: "first", members: query(`"name":"a","exactMatch":"2"`), line: shop + "/?a=1&a=2", want: fallback + "/?a=1&a=2", why: "first position"},
		{name: "any", members: query(`"name":"a","exactMatch":"2"`), line: shop + "/?a=1&a=2&a=3", s: Switches{QueryRepeats: Any}, want: "yes shop.example.com/?a=1&a=2&a=3", why: "QueryRepeats"},
		{name: "last", members: query(`"name":"a","exactMatch":"2"`), line: shop + "/?a=1&a=2", s: Switches{QueryRepeats: Last}, want: "yes shop.example.com/?a=1&a=2", why: "QueryRepeats"},
	} {
		c.run(t)
	}
}

// Why: the host alone picks a path matcher; wildcards, ports and case as documented and
// in each position.
func TestHosts(t *testing.T) {
	const hosts = `{"defaultService":"global/backendServices/none","hostRules":[{"hosts":["*.com"],"pathMatcher":"com"},{"hosts":["a.com","p.com:8080"],"pathMatcher":"exact"},{"hosts":["*.a.com"],"pathMatcher":"wild"},{"hosts":["*.q.com:81"],"pathMatcher":"port"}],
		"pathMatchers":[{"name":"com","defaultService":"global/backendServices/com"},{"name":"exact","defaultService":"global/backendServices/exact"},{"name":"wild","defaultService":"global/backendServices/wild"},{"name":"port","defaultService":"global/backendServices/port"}]}`
	for _, c := range []struct {
		name, host, want string
		s                Switches
	}{
		{name: "exact", host: "a.com", want: "exact"},
		{name: "many labels", host: "x.y.a.com", want: "wild"},
		{name: "no host rule", host: "x.org", want: "none"},
		{name: "case", host: "A.COM", want: "exact"},
		{name: "case compared", host: "A.COM", s: Switches{HostCase: Sensitive}, want: "none"},
		{name: "port ignored", host: "a.com:8443", want: "exact"},
		{name: "port compared", host: "a.com:8443", s: Switches{HostPort: Compared}, want: "none"},
		{name: "port given", host: "p.com:8080", want: "exact"},
		{name: "other port", host: "p.com:81", want: "com"},
		{name: "wildcard with port", host: "z.q.com:81", want: "port"},
		{name: "wildcard with port never", host: "z.q.com:81", s: Switches{HostWildcardPort: Never}, want: "com"},
		{name: "longest", host: "x.a.com", want: "wild"},
		{name: "listed", host: "x.a.com", s: Switches{HostPrecedence: Listed}, want: "com"},
		{name: "extent", host: "x_y.a.com", s: Switches{HostWildcardExtent: Listed}, want: "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := answer(t, parse(t, hosts), c.s, Request{Method: "GET", Host: c.host, Path: "/"})
			if want := c.want + " " + c.host + "/"; short(got) != want {
				t.Errorf("host %s is %q (%s), want %q", c.host, short(got), got.Why, want)
			}
		})
	}
}
