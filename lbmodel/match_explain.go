package lbmodel

import (
	"fmt"
	"strings"
)

// Explain is Match with its reasons: every rule in order, up to the one that
// answers, and what did not hold. Its cost is the number of rules.
func (l Listener) Explain(request Request) Explanation {
	m, _ := NewMatcher(&l) // a rule that cannot match says so among the tried
	return m.Explain(&request)
}

// Explain is Match with its reasons, the slow way.
func (m *Matcher) Explain(r *Request) Explanation {
	reading := readPath(r.Path)
	if reading.refused != "" {
		return Explanation{Answer: m.refuse(reading.refused)}
	}
	found, tried := m.tryInOrder(r, reading.sent)
	if other, _ := m.tryInOrder(r, reading.other); other != found {
		return Explanation{Answer: m.refuse(ambiguousPath), Tried: tried}
	}
	return Explanation{Answer: m.answer(found), Tried: tried}
}

func (m *Matcher) tryInOrder(r *Request, path string) (int, []Attempt) {
	var tried []Attempt
	for i := range m.checks {
		failed := m.checks[i].failure(r, path)
		if failed == "" {
			return i, tried
		}
		tried = append(tried, Attempt{Index: i, Rule: &m.listener.Rules[i], Failed: failed})
	}
	return noRule, tried
}

// failure is the first condition that does not hold, in words; "" when all do.
func (c *ruleCheck) failure(r *Request, path string) string {
	host := CanonicalHost(r.Host)
	switch {
	case c.broken != nil:
		return c.broken.Error()
	case !HostMatches(c.hostname, host):
		return fmt.Sprintf("host %s does not match %s", host, c.hostname)
	case c.grpc != nil && !r.isGRPC():
		return fmt.Sprintf("not a gRPC call: method %s, content-type %q", r.Method, r.header("Content-Type"))
	case c.grpc != nil && !c.grpc.holds(r, path):
		return fmt.Sprintf("path %s is not the gRPC call %s", path, c.grpc)
	case c.grpc == nil && !c.path.holds(path):
		return c.path.failure(path)
	case c.method != "" && c.method != r.Method:
		return fmt.Sprintf("method %s is not %s", r.Method, c.method)
	default:
		return c.valueFailure(r)
	}
}

func (p *pathCheck) failure(path string) string {
	switch p.kind {
	case MatchRegex:
		return fmt.Sprintf("path %s does not match %s", path, p.value)
	case MatchExact:
		return fmt.Sprintf("path %s is not %s", path, p.value)
	default:
		return fmt.Sprintf("path %s is not below %s", path, p.value)
	}
}

// String is /service/method with a star for any.
func (g *grpcCheck) String() string {
	part := func(v valueCheck) string {
		if v.value == "" {
			return "*"
		}
		return v.value
	}
	return "/" + part(g.service) + "/" + part(g.method)
}

func (c *ruleCheck) valueFailure(r *Request) string {
	for i := range c.headers {
		v := &c.headers[i]
		if !v.holdsHeader(r) {
			return fmt.Sprintf("header %s %s", strings.ToLower(v.name), v.wanted())
		}
	}
	for i := range c.query {
		v := &c.query[i]
		if !v.holdsQuery(r.Query) {
			return fmt.Sprintf("query parameter %s %s", v.name, v.wanted())
		}
	}
	return ""
}

// wanted never says what the request held: headers carry credentials.
func (v *valueCheck) wanted() string {
	if v.regex != nil {
		return fmt.Sprintf("is absent or does not match %s", v.value)
	}
	return fmt.Sprintf("is absent or not %q", v.value)
}
