package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Request is what rules see of an HTTP request.
type Request struct {
	Method string
	Host   string // the Host header, with its port
	Path   string // as sent
	Query  string // as sent, without the question mark
	Header http.Header
	Source netip.Addr // the peer's, whatever X-Forwarded-For says
}

// ruleSet is a listener's rules in order, compiled.
type ruleSet struct {
	u        *Undocumented
	rules    []*rule
	fallback *rule
}

// rule is a Rule with its conditions made into functions.
type rule struct {
	Rule
	name       string
	conditions []condition
	rewrites   []rewrite
}

// condition tells whether it holds, and by what.
type condition struct {
	field Field
	holds func(*view) (why string, ok bool)
}

// view is a request as conditions see it: computed once for all rules.
type view struct {
	*Request
	explains   bool // else nobody reads why
	u          *Undocumented
	host, path string
	pairs      []QueryPair
	grpc       bool
}

// say is a reason, if anybody reads it.
func (v *view) say(format string, args ...any) string {
	if !v.explains {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// defaultRule is the name of the rule without conditions.
const defaultRule = "default"

func newRuleSet(l *Listener, u *Undocumented) *ruleSet {
	s := &ruleSet{u: u, fallback: &rule{Rule: Rule{Actions: l.Default}, name: defaultRule}}
	for _, r := range l.Rules {
		compiled := &rule{Rule: r, name: cmp.Or(r.Name, fmt.Sprintf("priority %d", r.Priority))}
		for _, c := range r.Conditions {
			compiled.conditions = append(compiled.conditions, condition{c.Field, newCondition(c, u)})
		}
		for _, t := range r.Transforms {
			compiled.rewrites = append(compiled.rewrites, newRewrite(t))
		}
		s.rules = append(s.rules, compiled)
	}
	slices.SortStableFunc(s.rules, func(a, b *rule) int { return cmp.Compare(a.Priority, b.Priority) })
	return s
}

// match is the first rule whose conditions all hold, else the default rule.
func (s *ruleSet) match(r *Request) *rule {
	v := s.view(r)
	for _, rule := range s.rules {
		if _, ok := rule.holds(v); ok {
			return rule
		}
	}
	return s.fallback
}

// holds says why the conditions hold, or why the first one that does not, does
// not.
func (r *rule) holds(v *view) (string, bool) {
	var reasons []string
	for _, c := range r.conditions {
		why, ok := c.holds(v)
		if !ok {
			return v.say("%s: %s", c.field, why), false
		}
		if v.explains {
			reasons = append(reasons, v.say("%s: %s", c.field, why))
		}
	}
	return strings.Join(reasons, "; "), true
}

func (s *ruleSet) view(r *Request) *view {
	v := &view{Request: r, u: s.u, host: r.Host, path: normalisePath(r.Path, s.u), pairs: queryPairs(r.Query, s.u)}
	if s.u.HostPort == Stripped {
		v.host = hostOnly(r.Host)
	}
	v.grpc = isGRPC(r.Header)
	return v
}

// hostOnly is a Host header without its port.
func hostOnly(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.Contains(host[i:], "]") {
		return host[:i]
	}
	return host
}

// queryPairs splits at &. A pair without = has an empty value.
func queryPairs(query string, u *Undocumented) []QueryPair {
	var out []QueryPair
	query, _, _ = strings.Cut(query, "#")
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		out = append(out, QueryPair{lower(decodeQuery(key, u)), lower(decodeQuery(value, u))})
	}
	return out
}

func decodeQuery(s string, u *Undocumented) string {
	switch u.QueryDecoding {
	case Raw:
		return s
	case DecodedPlus:
		s = strings.ReplaceAll(s, "+", " ")
	}
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

func isGRPC(h http.Header) bool {
	rest, ok := strings.CutPrefix(h.Get("Content-Type"), "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

func newCondition(c Condition, u *Undocumented) func(*view) (string, bool) {
	switch c.Field {
	case HostHeader:
		return newText(c, u, u.HostRegexCase).in(func(v *view) []string { return []string{v.host} })
	case PathPattern:
		return newPath(c, u)
	case HTTPHeader:
		return newText(c, u, u.HeaderRegexCase).in(headerValues(c.Header, u))
	case HTTPRequestMethod:
		return func(v *view) (string, bool) {
			if slices.Contains(c.Values, v.Method) {
				return v.Method, true
			}
			return v.say("%q is none of %q", v.Method, c.Values), false
		}
	case QueryString:
		return newQuery(c)
	case SourceIP:
		return newSource(c)
	default:
		return func(*view) (string, bool) { return "not a field of conditions", false }
	}
}

// text compares a text with globs and regexes.
type text struct {
	fold    Position // of globs
	globs   []glob
	regexes []*regexp.Regexp
	words   []string // of both, as written
	broken  string
}

func newText(c Condition, u *Undocumented, regexCase Position) *text {
	t := &text{fold: Insensitive, words: slices.Concat(c.Values, c.Regex)}
	if c.Field == PathPattern {
		t.fold = Sensitive
	}
	for _, value := range c.Values {
		t.globs = append(t.globs, parseGlob(t.folded(value), u.GlobEscape))
	}
	for _, pattern := range c.Regex {
		r, err := compileRegex(pattern, regexCase, u)
		if err != nil {
			t.broken = fmt.Sprintf("; %q: %v", pattern, err)
			r = regexp.MustCompile(`[^\x00-\x{10FFFF}]`) // takes nothing
		}
		t.regexes = append(t.regexes, r)
	}
	return t
}

func (t *text) folded(s string) string {
	if t.fold == Insensitive {
		return lower(s)
	}
	return s
}

// word is the value or regex that takes s.
func (t *text) word(s string) (string, bool) {
	folded := t.folded(s)
	for i, g := range t.globs {
		if g.matches(folded) {
			return t.words[i], true
		}
	}
	for i, r := range t.regexes {
		if r.MatchString(s) {
			return t.words[len(t.globs)+i], true
		}
	}
	return "", false
}

func (t *text) in(subjects func(*view) []string) func(*view) (string, bool) {
	return func(v *view) (string, bool) {
		all := subjects(v)
		for _, s := range all {
			if v.u.InvisibleBytes == NeverHold && !isVisible(s) {
				continue
			}
			if word, ok := t.word(s); ok {
				return v.say("%q matches %q", s, word), true
			}
		}
		if len(all) == 0 {
			return "absent", false
		}
		return v.say("%q matches none of %q%s", all, t.words, t.broken), false
	}
}

// isVisible also takes blanks: the guide excludes 0x00 to 0x1f and 0x7f, and says
// visible ASCII.
func isVisible(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// headerValues are a header's lines, in order.
func headerValues(name string, u *Undocumented) func(*view) []string {
	return func(v *view) []string {
		lines := v.Header.Values(name)
		if u.HeaderLists != Split {
			return lines
		}
		var out []string
		for _, line := range lines {
			out = append(out, line)
			for part := range strings.SplitSeq(line, ",") {
				out = append(out, strings.TrimSpace(part))
			}
		}
		return out
	}
}

// newPath adds what /package may mean for gRPC.
func newPath(c Condition, u *Undocumented) func(*view) (string, bool) {
	plain := newText(c, u, u.PathRegexCase).in(func(v *view) []string { return []string{v.path} })
	if u.GRPCPackage != Prefix {
		return plain
	}
	return func(v *view) (string, bool) {
		if v.grpc {
			for _, value := range c.Values {
				if rest, ok := strings.CutPrefix(v.path, value); ok && rest != "" && strings.IndexByte("./", rest[0]) >= 0 {
					return v.say("%q is in package %q", v.path, value), true
				}
			}
		}
		return plain(v)
	}
}

func newQuery(c Condition) func(*view) (string, bool) {
	type pair struct{ key, value glob }
	var pairs []pair
	for _, q := range c.Query {
		key := cmp.Or(q.Key, "*")
		pairs = append(pairs, pair{parseGlob(lower(key), Escape), parseGlob(lower(q.Value), Escape)})
	}
	return func(v *view) (string, bool) {
		for _, have := range v.pairs {
			if v.u.InvisibleBytes == NeverHold && !isVisible(have.Key+have.Value) {
				continue
			}
			for i, want := range pairs {
				if want.key.matches(have.Key) && want.value.matches(have.Value) {
					return v.say("%s=%s matches %s", have.Key, have.Value, c.Query[i]), true
				}
			}
		}
		return v.say("%q has none of %s", v.Query, c.Query), false
	}
}

func newSource(c Condition) func(*view) (string, bool) {
	if c.IPAddressType != "" {
		return func(v *view) (string, bool) {
			family := "ipv4"
			if v.Source.Unmap().Is6() {
				family = "ipv6"
			}
			return v.say("%s is %s", v.Source, family), family == c.IPAddressType
		}
	}
	var prefixes []netip.Prefix
	for _, value := range c.Values {
		if p, err := netip.ParsePrefix(value); err == nil {
			prefixes = append(prefixes, p)
		}
	}
	return func(v *view) (string, bool) {
		for _, p := range prefixes {
			if p.Contains(v.Source.Unmap()) {
				return v.say("%s is in %s", v.Source, p), true
			}
		}
		return v.say("%s is in none of %q", v.Source, c.Values), false
	}
}
