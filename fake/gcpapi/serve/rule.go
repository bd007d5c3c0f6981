package serve

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// route is what a URL map chose.
type route struct {
	name     string
	service  string
	action   *RouteAction
	redirect *RedirectAction
	headers  []*HeaderAction // from the inside out, without those of weighted services
	isolated bool            // a default: nothing of the path was matched
}

// portion is how much of a path a rule matched.
type portion struct {
	prefix    int  // bytes of the path as rules see it
	whole     bool // the whole path was compared
	variables map[string]string
}

// pathTest is the path half of a match rule.
type pathTest func(*view) (portion, bool)

// candidate is one match rule, or one path of a path rule.
type candidate struct {
	path       pathTest
	predicates []predicate
	text       string
	route      *route
}

// holds says what of the path was matched, and why.
func (c *candidate) holds(v *view) (portion, string, bool) {
	p, ok := c.path(v)
	if !ok {
		return portion{}, "", false
	}
	why := []string{fmt.Sprintf("path %q is in %s", v.seen, c.text)}
	for _, holds := range c.predicates {
		reason, ok := holds(v)
		if !ok {
			return portion{}, "", false
		}
		why = append(why, reason)
	}
	return p, strings.Join(why, "; "), true
}

// pathMatcher is a PathMatcher made ready: candidates in order, then the default.
type pathMatcher struct {
	candidates []candidate
	fallback   *route
}

func newPathMatcher(u *URLMap, p *PathMatcher, s *Switches) *pathMatcher {
	label := "path matcher " + p.Name
	m := &pathMatcher{fallback: &route{name: label + ", default", service: p.DefaultService, action: p.DefaultRouteAction, redirect: p.DefaultURLRedirect,
		headers: outward(p.HeaderAction, u.HeaderAction), isolated: true}}
	rules := slices.Clone(p.RouteRules)
	slices.SortStableFunc(rules, func(a, b RouteRule) int { return cmp.Compare(a.Priority, b.Priority) })
	for _, rule := range rules {
		r := &route{name: fmt.Sprintf("%s, priority %d", label, rule.Priority), service: rule.Service, action: rule.RouteAction, redirect: rule.URLRedirect,
			headers: outward(rule.HeaderAction, p.HeaderAction, u.HeaderAction)}
		for _, match := range rule.MatchRules {
			m.candidates = append(m.candidates, newMatchRule(&match, r, s))
		}
	}
	m.candidates = append(m.candidates, pathRules(u, p, label, s)...)
	return m
}

// outward leaves out what is not there.
func outward(actions ...*HeaderAction) []*HeaderAction {
	return slices.DeleteFunc(actions, func(a *HeaderAction) bool { return a == nil })
}

// pathRules are in the order in which they are asked: exact paths, then the longest.
func pathRules(u *URLMap, p *PathMatcher, label string, s *Switches) []candidate {
	var out []candidate
	for i, rule := range p.PathRules {
		r := &route{name: fmt.Sprintf("%s, path rule %d", label, i), service: rule.Service, action: rule.RouteAction, redirect: rule.URLRedirect,
			headers: outward(p.HeaderAction, u.HeaderAction)}
		for _, text := range rule.Paths {
			c := candidate{text: text, route: r}
			if prefix, ok := strings.CutSuffix(text, "*"); ok {
				c.path = prefixTest(prefix, comparison(s.PathRuleCase))
			} else {
				c.path = fullTest(text, comparison(s.PathRuleCase))
			}
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(count(strings.HasSuffix(a.text, "*")), count(strings.HasSuffix(b.text, "*"))), cmp.Compare(len(b.text), len(a.text)))
	})
	return out
}

func newMatchRule(match *MatchRule, r *route, s *Switches) candidate {
	c := candidate{route: r}
	equal := comparison(Sensitive)
	if match.IgnoreCase && s.IgnoreCase == Name {
		equal = comparison(Insensitive)
	}
	switch {
	case match.FullPathMatch != "":
		c.path, c.text = fullTest(match.FullPathMatch, equal), "fullPathMatch "+match.FullPathMatch
	case match.PrefixMatch != "":
		c.path, c.text = prefixTest(match.PrefixMatch, equal), "prefixMatch "+match.PrefixMatch
	case match.RegexMatch != "":
		c.path, c.text = pathRegexTest(match.RegexMatch, s), "regexMatch "+match.RegexMatch
	default:
		c.path, c.text = templateTest(match.PathTemplateMatch, s), "pathTemplateMatch "+match.PathTemplateMatch
	}
	for _, h := range match.HeaderMatches {
		c.predicates = append(c.predicates, newHeaderMatch(h, s))
	}
	for _, q := range match.QueryParameterMatches {
		c.predicates = append(c.predicates, newQueryMatch(q, s))
	}
	return c
}

// comparison is of two texts, with letter case or without.
func comparison(letterCase Position) func(a, b string) bool {
	if letterCase == Insensitive {
		return strings.EqualFold
	}
	return func(a, b string) bool { return a == b }
}

func fullTest(want string, equal func(a, b string) bool) pathTest {
	return func(v *view) (portion, bool) {
		return portion{prefix: len(v.seen), whole: true}, equal(v.seen, want)
	}
}

func prefixTest(want string, equal func(a, b string) bool) pathTest {
	return func(v *view) (portion, bool) {
		if len(v.seen) < len(want) {
			return portion{}, false
		}
		return portion{prefix: len(want)}, equal(v.seen[:len(want)], want)
	}
}

func pathRegexTest(text string, s *Switches) pathTest {
	expression, err := compileRegex(text, s)
	if err != nil {
		expression = regexp.MustCompile(`[^\x00-\x{10FFFF}]`) // takes nothing
	}
	return func(v *view) (portion, bool) {
		return portion{prefix: len(v.seen), whole: true}, expression.MatchString(v.seen)
	}
}

func templateTest(text string, s *Switches) pathTest {
	t, err := newTemplate(text, s)
	return func(v *view) (portion, bool) {
		if err != nil {
			return portion{}, false
		}
		values, ok := t.match(v.sent)
		return portion{prefix: len(v.seen), whole: true, variables: values}, ok
	}
}
