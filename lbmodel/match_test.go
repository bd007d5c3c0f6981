package lbmodel

import (
	"fmt"
	"net/textproto"
	"slices"
	"strings"
	"testing"
)

// prefixRule is a rule named after where it leads.
func prefixRule(name, prefix string) Rule {
	return Rule{Name: name, Match: Match{Path: PathMatch{Kind: MatchPrefix, Value: prefix}}}
}

func get(host, target string) Request {
	path, query, _ := strings.Cut(target, "?")
	return Request{Scheme: "http", Method: "GET", Host: host, Path: path, Query: query, Port: 80}
}

func withHeaders(r Request, pairs ...string) Request {
	r.Headers = map[string][]string{}
	for i := 0; i < len(pairs); i += 2 {
		key := textproto.CanonicalMIMEHeaderKey(pairs[i])
		r.Headers[key] = append(r.Headers[key], pairs[i+1])
	}
	return r
}

// answerName is the name of the rule that answers, 404 or 400. It asks Match
// and Explain, which must agree.
func answerName(t *testing.T, l Listener, r Request) string {
	t.Helper()
	got, explained := l.Match(r), l.Explain(r)
	if got.Index != explained.Index || got.Refused != explained.Refused || got.Prefix != explained.Prefix {
		t.Errorf("Match says %+v, Explain says %+v", got, explained.Answer)
	}
	switch {
	case got.Refused != "":
		return "400"
	case got.Rule == nil:
		return "404"
	default:
		return got.Rule.Name
	}
}

func TestC02PrefixByElement(t *testing.T) {
	const why = "a prefix is compared by path element, its trailing slash is ignored, and list order is irrelevant once sorted"
	rules := []Rule{prefixRule("c", "/svc/items/"), prefixRule("b", "/svc-side"), prefixRule("a", "/svc")}
	for _, c := range []struct{ name, path, want string }{
		{"the prefix itself", "/svc", "a"},
		{"with a trailing slash", "/svc/", "a"},
		{"another element", "/svc-side", "b"},
		{"below another element", "/svc-side/q", "b"},
		{"part of an element", "/svcx", "404"},
		{"trailing slash of the match", "/svc/items", "c"},
		{"below it", "/svc/items/1", "c"},
		{"not an element of its own", "/svc/items:publish", "a"},
		{"case matters", "/SVC", "404"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 3 {
				rules = append(rules[1:], rules[0])
				sorted := slices.SortedStableFunc(slices.Values(rules), func(a, b Rule) int {
					return len(b.Match.Path.Value) - len(a.Match.Path.Value)
				})
				if got := answerName(t, Listener{Rules: sorted}, get("a.test", c.path)); got != c.want {
					t.Errorf("%s goes to %s, want %s: %s", c.path, got, c.want, why)
				}
			}
		})
	}
}

func TestC05RepeatedNames(t *testing.T) {
	const why = "only the first of equivalent names counts; header names have no case, values and query names do"
	listener := Listener{Rules: []Rule{{Name: "a", Match: Match{
		Headers: []ValueMatch{{Name: "X-Ver", Value: "2"}, {Name: "x-ver", Value: "3"}},
		Query:   []ValueMatch{{Name: "k", Value: "v1"}, {Name: "k", Value: "v2"}},
	}}}}
	for _, c := range []struct{ name, target, header, value, want string }{
		{"both first entries", "/?k=v1", "x-VER", "2", "a"},
		{"second header entry", "/?k=v1", "x-ver", "3", "404"},
		{"second query entry", "/?k=v2", "x-ver", "2", "404"},
		{"query name in another case", "/?K=v1", "x-ver", "2", "404"},
		{"query value in another case", "/?k=V1", "x-ver", "2", "404"},
		{"first of a repeated parameter", "/?k=v1&k=v2", "x-ver", "2", "a"},
		{"not the first of a repeated parameter", "/?k=v2&k=v1", "x-ver", "2", "404"},
		{"encoded name and value", "/?%6B=%76%31", "x-ver", "2", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withHeaders(get("a.test", c.target), c.header, c.value)
			if got := answerName(t, listener, r); got != c.want {
				t.Errorf("got %s, want %s: %s", got, c.want, why)
			}
		})
	}
}

func TestC10HostOfRequest(t *testing.T) {
	const why = "port, case and trailing dot of the Host header do not matter, and a literal matches no hostname"
	listener := Listener{Port: 8080, Rules: []Rule{{Name: "a", Hostname: "shop.test"}, {Name: "w", Hostname: "*.test"}}}
	for _, c := range []struct{ host, want string }{
		{"shop.test:8080", "a"},
		{"SHOP.test", "a"},
		{"shop.test.", "a"},
		{"shop.test:99", "a"},
		{"x.shop.test", "w"},
		{"[2001:db8::1]:8080", "404"},
		{"[::ffff:192.0.2.1]", "404"},
		{"", "404"},
	} {
		t.Run(c.host, func(t *testing.T) {
			if got := answerName(t, listener, get(c.host, "/")); got != c.want {
				t.Errorf("got %s, want %s: %s", got, c.want, why)
			}
		})
	}
}

func TestMatchConditions(t *testing.T) {
	header := func(name, value string, kind MatchKind) Match {
		return Match{Headers: []ValueMatch{{Name: name, Kind: kind, Value: value}}}
	}
	query := func(name, value string, kind MatchKind) Match {
		return Match{Query: []ValueMatch{{Name: name, Kind: kind, Value: value}}}
	}
	path := func(kind MatchKind, value string) Match { return Match{Path: PathMatch{Kind: kind, Value: value}} }
	root := get("a.test", "/")
	for _, c := range []struct {
		name    string
		match   Match
		request Request
		want    bool
		why     string
	}{
		{"no condition", Match{}, root, true, "a rule without conditions takes everything"},
		{"no path sent", Match{}, get("a.test", ""), true, "CONNECT has no path"},
		{"asterisk", Match{}, get("a.test", "*"), true, "OPTIONS * asks about the server"},
		{"exact", path(MatchExact, "/abc"), get("a.test", "/abc"), true, "the same path"},
		{"exact with slash", path(MatchExact, "/abc"), get("a.test", "/abc/"), false, "Exact is exact"},
		{"regex is anchored", path(MatchRegex, "/a|/b"), get("a.test", "/ax"), false, "it must match the whole value"},
		{"regex end", path(MatchRegex, "/a.*"), get("a.test", "/a/x"), true, "it matches the whole value"},
		{"unreserved encoding", path(MatchExact, "/~a"), get("a.test", "/%7Ea"), true, "RFC 3986 §6.2.2.2"},
		{"sub-delimiter encoding", path(MatchPrefix, "/a$b"), get("a.test", "/a%24b/c"), true, "a path may hold $ plainly"},
		{"hex case", path(MatchExact, "/caf%C3%A9"), get("a.test", "/caf%c3%a9"), true, "RFC 3986 §6.2.2.1"},
		{"method", Match{Method: "PUT"}, root, false, "another method"},
		{"method case", Match{Method: "GET"}, Request{Method: "get", Path: "/"}, false, "methods have case (RFC 9110 §9.1)"},
		{"repeated header", header("x-a", "1,2", MatchExact), withHeaders(root, "x-a", "1", "x-a", "2"), true, "repeated fields are one list (RFC 7230 §3.2.2)"},
		{"one of repeated", header("x-a", "1", MatchExact), withHeaders(root, "x-a", "1", "x-a", "2"), false, "the list is not its first member"},
		{"empty header", header("x-a", "", MatchExact), withHeaders(root, "x-a", ""), true, "present and empty"},
		{"absent header", header("x-a", ".*", MatchRegex), root, false, "absent is not empty"},
		{"header regex is full", header("x-a", "b+", MatchRegex), withHeaders(root, "x-a", "abba"), false, "whole value"},
		{"host as header", header("host", "a.test", MatchExact), root, true, "Host is a header to a route's author"},
		{"query without value", query("k", "", MatchExact), get("a.test", "/?k"), true, "no = is an empty value"},
		{"query plus", query("k", "a b", MatchExact), get("a.test", "/?k=a+b"), true, "form encoding"},
		{"query regex decoded", query("k", "a b", MatchRegex), get("a.test", "/?k=a%20b"), true, "decoded before it is compared"},
		{"query malformed", query("k", "%zz", MatchExact), get("a.test", "/?k=%zz"), false, "no value can be read"},
		{"query semicolon", query("b", "2", MatchExact), get("a.test", "/?a=1;b=2"), false, "only & parts parameters"},
		{"query absent", query("k", ".*", MatchRegex), root, false, "absent is not empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := Listener{Rules: []Rule{{Name: "a", Match: c.match}}}
			if got := answerName(t, l, c.request) == "a"; got != c.want {
				t.Errorf("matches = %v, want %v: %s", got, c.want, c.why)
			}
		})
	}
}

func TestMatchGRPC(t *testing.T) {
	const why = "a GRPCRoute takes gRPC calls only, by service and method"
	call := func(contentType, path string) Request {
		r := withHeaders(get("a.test", path), "content-type", contentType)
		r.Method = "POST"
		return r
	}
	for _, c := range []struct {
		name    string
		match   GRPCMatch
		request Request
		want    bool
	}{
		{"any call", GRPCMatch{}, call("application/grpc", "/p.S/M"), true},
		{"encoding", GRPCMatch{}, call("application/grpc+proto", "/p.S/M"), true},
		{"parameters and case", GRPCMatch{}, call("Application/GRPC; v=1", "/p.S/M"), true},
		{"gRPC-Web", GRPCMatch{}, call("application/grpc-web", "/p.S/M"), false},
		{"JSON", GRPCMatch{}, call("application/json", "/p.S/M"), false},
		{"GET", GRPCMatch{}, withHeaders(get("a.test", "/p.S/M"), "content-type", "application/grpc"), false},
		{"not a call's path", GRPCMatch{}, call("application/grpc", "/p.S"), false},
		{"too deep", GRPCMatch{}, call("application/grpc", "/p.S/M/x"), false},
		{"service", GRPCMatch{Service: "p.S"}, call("application/grpc", "/p.S/Other"), true},
		{"other service", GRPCMatch{Service: "p.S"}, call("application/grpc", "/p.T/M"), false},
		{"method of any service", GRPCMatch{Method: "M"}, call("application/grpc", "/q.T/M"), true},
		{"both", GRPCMatch{Service: "p.S", Method: "M"}, call("application/grpc", "/p.S/N"), false},
		{"regex", GRPCMatch{Kind: MatchRegex, Service: `p\..*`}, call("application/grpc", "/p.Z/M"), true},
		{"regex is full", GRPCMatch{Kind: MatchRegex, Service: "S"}, call("application/grpc", "/p.S/M"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := Listener{Rules: []Rule{{Name: "a", Match: Match{GRPC: &c.match}}}}
			if got := answerName(t, l, c.request) == "a"; got != c.want {
				t.Errorf("matches = %v, want %v: %s", got, c.want, why)
			}
		})
	}
}

func TestMatchNoWayAroundAPath(t *testing.T) {
	const why = "a path that a backend may read as another must lead to the same rule in both readings, and dot segments lead nowhere"
	listener := Listener{Rules: []Rule{
		prefixRule("admin", "/admin"), prefixRule("keys", "/keys"), prefixRule("app", "/"),
	}}
	for _, c := range []struct{ name, path, want string }{
		{"plain", "/admin/x", "admin"},
		{"encoded letter", "/%61dmin/x", "admin"},
		{"doubled slash in front", "//admin/x", "400"},
		{"encoded slash behind the element", "/admin%2Fx", "400"},
		{"encoded slash in front", "/%2fadmin", "400"},
		{"encoded backslash", "/x%5C..%5Cadmin", "400"},
		{"dot segment", "/./admin", "400"},
		{"dot segments", "/x/../admin", "400"},
		{"encoded dot segments", "/x/%2e%2E/admin", "400"},
		{"dot segments behind an encoded slash", "/x%2F..%2Fadmin", "400"},
		{"dot segment with parameters", "/x/..;v=1/admin", "400"},
		{"dot segment at the end", "/admin/..", "400"},
		{"NUL", "/admin%00", "400"},
		{"malformed encoding", "/admin%2", "400"},
		{"no leading slash", "admin", "400"},
		{"encoded slash in a key", "/keys/group%2Fproject", "keys"},
		{"doubled slash in a key", "/keys/a//b", "keys"},
		{"doubled slash elsewhere", "/x//y", "app"},
		{"dots that are no segment", "/.well-known/a..b/...", "app"},
		{"URL in a path", "/keys/https://a.test/", "keys"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := answerName(t, listener, get("a.test", c.path)); got != c.want {
				t.Errorf("%s goes to %s, want %s: %s", c.path, got, c.want, why)
			}
		})
	}
}

func TestMatcherBrokenRules(t *testing.T) {
	l := Listener{Hostname: "*.a.test", Rules: []Rule{
		{Source: Source{Kind: "HTTPRoute", Name: "bad"}, Match: Match{Path: PathMatch{Kind: MatchRegex, Value: "("}}},
		{Source: Source{Kind: "HTTPRoute", Name: "far"}, Hostname: "b.test"},
		{Source: Source{Kind: "HTTPRoute", Name: "close"}, Match: Match{Path: PathMatch{Kind: MatchRegex, Value: "a)(b"}}},
		{Name: "good"},
	}}
	m, err := NewMatcher(&l)
	for _, want := range []string{"HTTPRoute/bad", "HTTPRoute/far", "HTTPRoute/close"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
	r := get("x.a.test", "/")
	if got := m.Match(&r); got.Index != 3 {
		t.Errorf("answer = %+v, want the good rule: a broken one costs itself only", got)
	}
	if got := answerName(t, l, get("b.test", "/")); got != "404" {
		t.Errorf("got %s for a host outside the listener's", got)
	}
}

func TestExplainSaysWhatFailed(t *testing.T) {
	l := Listener{Rules: []Rule{
		{Name: "host", Hostname: "b.test"},
		{Name: "path", Match: Match{Path: PathMatch{Kind: MatchExact, Value: "/x"}}},
		{Name: "method", Match: Match{Method: "POST"}},
		{Name: "header", Match: Match{Headers: []ValueMatch{{Name: "Authorization", Value: "a"}}}},
		{Name: "query", Match: Match{Query: []ValueMatch{{Name: "k", Kind: MatchRegex, Value: "v"}}}},
		{Name: "grpc", Match: Match{GRPC: &GRPCMatch{Service: "p.S"}}},
		{Name: "takes it"}, {Name: "never asked"},
	}}
	got := l.Explain(withHeaders(get("a.test", "/y?k=w"), "authorization", "s3cret"))
	if got.Rule == nil || got.Rule.Name != "takes it" || len(got.Tried) != 6 {
		t.Fatalf("explanation = %+v, want six rules tried and the seventh answering", got)
	}
	for i, want := range []string{
		"host a.test does not match b.test", "path /y is not /x", "method GET is not POST",
		`header authorization is absent or not "a"`, "query parameter k is absent or does not match v",
		`not a gRPC call: method GET, content-type ""`,
	} {
		if got.Tried[i].Failed != want {
			t.Errorf("%s failed because %q, want %q", got.Tried[i].Rule.Name, got.Tried[i].Failed, want)
		}
	}
	if strings.Contains(fmt.Sprint(got.Tried), "s3cret") {
		t.Error("an explanation quotes a request's header: those hold credentials")
	}
}
