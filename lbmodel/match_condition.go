package lbmodel

import (
	"cmp"
	"fmt"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
)

// ruleCheck is a rule's Match made ready: expressions compiled, names in the
// form that requests have.
type ruleCheck struct {
	hostname string // what rule and listener have in common
	path     pathCheck
	method   string
	headers  []valueCheck
	query    []valueCheck
	grpc     *grpcCheck
	broken   error // the rule can match nothing
}

type pathCheck struct {
	kind  MatchKind
	value string // normal form; a prefix is without its trailing slash
	regex *regexp.Regexp
}

type valueCheck struct {
	name  string // headers: net/http's canonical form
	value string
	regex *regexp.Regexp
}

type grpcCheck struct{ service, method valueCheck }

// CompileRegex compiles an expression of a match: RE2, and the whole value must
// match it.
func CompileRegex(expression string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(expression); err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", expression, err)
	}
	return regexp.Compile(`\A(?:` + expression + `)\z`)
}

func newRuleCheck(listener *Listener, rule *Rule) ruleCheck {
	hostname, ok := IntersectHostnames(listener.Hostname, rule.Hostname)
	c := ruleCheck{hostname: hostname, method: rule.Match.Method}
	if !ok {
		c.broken = fmt.Errorf("hostname %s has nothing in common with the listener's %s", rule.Hostname, listener.Hostname)
	}
	c.path = c.compilePath(rule.Match.Path)
	c.headers = c.compileValues(rule.Match.Headers, textproto.CanonicalMIMEHeaderKey)
	c.query = c.compileValues(rule.Match.Query, strings.Clone)
	if g := rule.Match.GRPC; g != nil {
		c.grpc = &grpcCheck{
			service: c.compileValue("service", g.Kind, g.Service),
			method:  c.compileValue("method", g.Kind, g.Method),
		}
	}
	return c
}

func (c *ruleCheck) compilePath(m PathMatch) pathCheck {
	switch m.Kind {
	case MatchRegex:
		return pathCheck{kind: MatchRegex, value: m.Value, regex: c.compile(m.Value)}
	case MatchExact:
		return pathCheck{kind: MatchExact, value: c.normalValue(m.Value)}
	default:
		return pathCheck{kind: MatchPrefix, value: strings.TrimRight(c.normalValue(cmp.Or(m.Value, "/")), "/")}
	}
}

// normalValue brings a path of a rule into the form that requests are compared
// in.
func (c *ruleCheck) normalValue(path string) string {
	normal, ok := normalPath(path)
	if !ok || !strings.HasPrefix(path, "/") {
		c.broken = fmt.Errorf("path %q does not begin with a slash or holds a malformed percent-encoding", path)
	}
	return normal
}

func (c *ruleCheck) compile(expression string) *regexp.Regexp {
	regex, err := CompileRegex(expression)
	if err != nil {
		c.broken = err
	}
	return regex
}

// compileValues keeps the first of equivalent names only.
func (c *ruleCheck) compileValues(matches []ValueMatch, name func(string) string) []valueCheck {
	var out []valueCheck
	for _, m := range matches {
		key := name(m.Name)
		if !slices.ContainsFunc(out, func(v valueCheck) bool { return v.name == key }) {
			out = append(out, c.compileValue(key, m.Kind, m.Value))
		}
	}
	return out
}

func (c *ruleCheck) compileValue(name string, kind MatchKind, value string) valueCheck {
	check := valueCheck{name: name, value: value}
	if kind == MatchRegex {
		check.regex = c.compile(value)
	}
	return check
}

// holds says whether the request meets every condition. The hostname is the
// index's business; the path is in normal form.
func (c *ruleCheck) holds(r *Request, path string) bool {
	return c.broken == nil &&
		(c.method == "" || c.method == r.Method) &&
		(c.grpc == nil && c.path.holds(path) || c.grpc != nil && c.grpc.holds(r, path)) &&
		c.headersHold(r) &&
		c.queryHolds(r)
}

func (c *ruleCheck) headersHold(r *Request) bool {
	for i := range c.headers {
		if !c.headers[i].holdsHeader(r) {
			return false
		}
	}
	return true
}

func (c *ruleCheck) queryHolds(r *Request) bool {
	for i := range c.query {
		if !c.query[i].holdsQuery(r.Query) {
			return false
		}
	}
	return true
}

func (p *pathCheck) holds(path string) bool {
	switch p.kind {
	case MatchRegex:
		return p.regex.MatchString(path)
	case MatchExact:
		return path == p.value
	default:
		rest, ok := strings.CutPrefix(path, p.value)
		return ok && (rest == "" || rest[0] == '/')
	}
}

// isGRPC says whether the request is a gRPC call, by the gRPC over HTTP/2
// protocol: a POST with content type application/grpc, with or without a
// "+encoding". gRPC-Web is not gRPC.
func (r *Request) isGRPC() bool {
	const want = "application/grpc"
	kind := r.header("Content-Type")
	if r.Method != "POST" || len(kind) < len(want) || !strings.EqualFold(kind[:len(want)], want) {
		return false
	}
	return len(kind) == len(want) || strings.IndexByte("+; ", kind[len(want)]) >= 0
}

func (g *grpcCheck) holds(r *Request, path string) bool {
	if !r.isGRPC() || path == "" {
		return false
	}
	service, method, ok := strings.Cut(path[1:], "/")
	return ok && service != "" && method != "" && strings.IndexByte(method, '/') < 0 &&
		g.service.holdsOrAny(service) && g.method.holdsOrAny(method)
}

func (v *valueCheck) holdsOrAny(value string) bool { return v.value == "" || v.holds(value) }

func (v *valueCheck) holds(value string) bool {
	if v.regex != nil {
		return v.regex.MatchString(value)
	}
	return value == v.value
}

// holdsHeader compares all values of a header as one, joined by commas (RFC 7230
// §3.2.2, which HTTPHeaderMatch names). An absent header matches nothing, an
// empty one is an empty value. Host is the request's, which is not among the
// headers.
func (v *valueCheck) holdsHeader(r *Request) bool {
	if v.name == "Host" {
		return v.holds(r.Host)
	}
	switch values := r.Headers[v.name]; len(values) {
	case 0:
		return false
	case 1:
		return v.holds(values[0])
	default:
		return v.holds(strings.Join(values, ","))
	}
}
