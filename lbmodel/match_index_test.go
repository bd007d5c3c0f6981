package lbmodel

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// slowMatch is the API's documentation written down plainly, for requests whose
// path has one reading. It shares no code with the Matcher.
func slowMatch(l Listener, r Request) int {
	for i, rule := range l.Rules {
		if slowHost(l.Hostname, r.Host) && slowHost(rule.Hostname, r.Host) && slowRule(rule.Match, r) {
			return i
		}
	}
	return -1
}

func slowHost(pattern, host string) bool {
	if below, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(host, below)
	}
	return pattern == "" || pattern == host
}

func slowRule(m Match, r Request) bool {
	ok := m.Method == "" || m.Method == r.Method
	if m.GRPC != nil {
		parts := strings.Split(r.Path, "/")
		ok = ok && len(r.Headers["Content-Type"]) > 0 && r.Method == "POST" && len(parts) == 3 && parts[1] != "" && parts[2] != "" &&
			(m.GRPC.Service == "" || m.GRPC.Service == parts[1]) && (m.GRPC.Method == "" || m.GRPC.Method == parts[2])
	}
	for _, h := range m.Headers {
		ok = ok && slowValue(h, r.Headers["X-A"])
	}
	values, _ := url.ParseQuery(r.Query)
	for _, q := range m.Query {
		ok = ok && slowValue(q, values[q.Name])
	}
	return ok && slowPath(m.Path, r.Path)
}

func slowValue(m ValueMatch, values []string) bool {
	if len(values) == 0 {
		return false
	}
	if m.Kind == MatchRegex {
		return regexp.MustCompile("^("+m.Value+")$").FindString(values[0]) == values[0]
	}
	return m.Value == values[0]
}

func slowPath(m PathMatch, path string) bool {
	switch m.Kind {
	case MatchExact:
		return path == m.Value
	case MatchRegex:
		return regexp.MustCompile("^(" + m.Value + ")$").MatchString(path)
	default:
		return strings.HasPrefix(strings.TrimRight(path, "/")+"/", strings.TrimRight(m.Value, "/")+"/")
	}
}

// dice draws small values that collide often.
type dice struct{ *rand.Rand }

func (d dice) pick(values ...string) string { return values[d.IntN(len(values))] }

func (d dice) path() string {
	var out strings.Builder
	for range 1 + d.IntN(3) {
		out.WriteString("/" + d.pick("a", "b", "ab", "svc.T"))
	}
	return out.String() + d.pick("", "/")
}

func (d dice) match() Match {
	m := Match{Method: d.pick("", "", "GET", "POST")}
	switch d.IntN(5) {
	case 0:
		m.Path = PathMatch{Kind: MatchExact, Value: d.path()}
	case 1:
		m.Path = PathMatch{Kind: MatchRegex, Value: d.pick("/a.*", "/[ab]", ".*/b/?")}
	case 2:
		m.GRPC = &GRPCMatch{Service: d.pick("", "a", "svc.T"), Method: d.pick("", "a", "b")}
	case 3:
		m.Path = PathMatch{Kind: MatchPrefix, Value: d.pick("/", d.path())}
	}
	if d.IntN(3) == 0 {
		m.Headers = []ValueMatch{{Name: d.pick("x-a", "X-A"), Kind: MatchKind(d.pick("", "RegularExpression")), Value: d.pick("1", "2")}}
	}
	if d.IntN(3) == 0 {
		m.Query = []ValueMatch{{Name: d.pick("k", "K"), Kind: MatchKind(d.pick("", "RegularExpression")), Value: d.pick("v", "w", "a b")}}
	}
	return m
}

func (d dice) host() string { return d.pick("a.test", "x.a.test", "y.x.a.test", "b.test", "test") }

func (d dice) pattern() string { return d.pick("", "", "a.test", "*.a.test", "*.test", "x.a.test") }

func (d dice) listener() Listener {
	l := Listener{Name: "l", Protocol: ProtocolHTTP, Port: 80, Hostname: d.pick("", "", "*.test", "*.a.test")}
	for i := range d.IntN(30) {
		l.Rules = append(l.Rules, Rule{Name: fmt.Sprint(i), Hostname: d.pattern(), Match: d.match()})
	}
	return l
}

func (d dice) request() Request {
	r := Request{Method: d.pick("GET", "POST"), Host: d.host(), Path: d.path(), Port: 80}
	r.Query = d.pick("", "k=v", "k=w&k=v", "K=v", "x=1&k=a+b", "k=a%20b")
	r.Headers = map[string][]string{}
	if d.IntN(2) == 0 {
		r.Headers["X-A"] = []string{d.pick("1", "2", "12")}
	}
	if d.IntN(2) == 0 {
		r.Headers["Content-Type"] = []string{"application/grpc"}
	}
	return r
}

// TestMatcherEqualsItsDefinition draws listeners with rules in any order, so the
// index may never rely on the order that translation makes.
func TestMatcherEqualsItsDefinition(t *testing.T) {
	for seed := range uint64(500) {
		d := dice{rand.New(rand.NewPCG(seed, 1))}
		l := d.listener()
		m, err := NewMatcher(&l)
		if err != nil && !strings.Contains(err.Error(), "nothing in common") {
			t.Fatal(err)
		}
		for range 40 {
			r := d.request()
			want := slowMatch(l, r)
			if got := m.Match(&r).Index; got != want {
				t.Fatalf("seed %d: Match = rule %d, want %d\nlistener %+v\nrequest %+v", seed, got, want, l, r)
			}
			if got := m.Explain(&r); got.Index != want || want >= 0 && len(got.Tried) != want {
				t.Fatalf("seed %d: Explain = rule %d after %d, want %d", seed, got.Index, len(got.Tried), want)
			}
		}
	}
}

// FuzzMatchPath asks two rule sets for any path: no panic, and no answer that
// depends on how a backend reads the path.
func FuzzMatchPath(f *testing.F) {
	for _, seed := range []string{"/", "", "*", "//", "/%2e%2e/", "/a%2F..", "/%", "/a\\b", "/\x00", "/..;/a"} {
		f.Add(seed)
	}
	l := Listener{Rules: []Rule{prefixRule("admin", "/admin"), {Name: "x", Match: Match{Path: PathMatch{Kind: MatchExact, Value: "/x"}}}, prefixRule("app", "/")}}
	m, err := NewMatcher(&l)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		r := Request{Method: "GET", Host: "a.test", Path: path}
		got := m.Match(&r)
		if got.Refused != "" {
			return
		}
		decoded, err := url.PathUnescape(path)
		if err != nil {
			t.Fatalf("%q matched with a malformed encoding", path)
		}
		parts := strings.FieldsFunc(decoded, func(c rune) bool { return c == '/' || c == '\\' })
		if admin := len(parts) > 0 && parts[0] == "admin"; admin != (got.Rule.Name == "admin") {
			t.Errorf("%q went to %s", path, got.Rule.Name)
		}
	})
}

// manyRules is a listener of n rules: 100 hosts, each with prefixes, exact paths
// and a catch-all.
func manyRules(n int) Listener {
	l := Listener{Name: "many", Protocol: ProtocolHTTP, Port: 80}
	for i := range n {
		rule := prefixRule(fmt.Sprint(i), fmt.Sprintf("/team/%d/api", i/100))
		rule.Hostname = fmt.Sprintf("h%d.a.test", i%100)
		if i%3 == 0 {
			rule.Match.Path = PathMatch{Kind: MatchExact, Value: fmt.Sprintf("/exact/%d", i/100)}
		}
		if i%7 == 0 {
			rule.Match.Headers = []ValueMatch{{Name: "x-ver", Value: "2"}}
		}
		l.Rules = append(l.Rules, rule)
	}
	return l
}

func manyRequest(n int) Request {
	last := n - 50 // a prefix rule of host 50
	r := get("h50.a.test:80", fmt.Sprintf("/team/%d/api/items/7?k=v", last/100))
	return withHeaders(r, "x-ver", "2", "accept", "text/html")
}

func TestMatchAllocatesNothing(t *testing.T) {
	l := manyRules(1000)
	l.Rules = append(l.Rules, Rule{Name: "last", Hostname: "*.test", Match: Match{
		Path:    PathMatch{Kind: MatchRegex, Value: "/team/.*"},
		Query:   []ValueMatch{{Name: "k", Value: "v"}, {Name: "r", Kind: MatchRegex, Value: "[a-z]+"}},
		Headers: []ValueMatch{{Name: "x-ver", Kind: MatchRegex, Value: "[0-9]"}},
	}})
	g, err := NewGatewayMatcher([]Listener{l})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Request{manyRequest(1000), withHeaders(get("x.test", "/team/7?%6B=v&r=abc"), "x-ver", "2")} {
		if g.Match(&r).Rule == nil {
			t.Fatalf("no rule takes %+v", r)
		}
		if allocs := testing.AllocsPerRun(100, func() { g.Match(&r) }); allocs != 0 {
			t.Errorf("%s%s: %v allocations per match, want 0", r.Host, r.Path, allocs)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		l := manyRules(n)
		g, err := NewGatewayMatcher([]Listener{l})
		if err != nil {
			b.Fatal(err)
		}
		r := manyRequest(n)
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if g.Match(&r).Rule == nil {
					b.Fatal("no rule")
				}
			}
		})
	}
}

func BenchmarkNewMatcher(b *testing.B) {
	l := manyRules(10000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := NewMatcher(&l); err != nil {
			b.Fatal(err)
		}
	}
}
