package serve

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func (c *checker) routeRules(at string, rules []RouteRule) {
	priorities := map[int32]bool{}
	predicates, regexes, templates := 0, 0, 0
	for i := range rules {
		r := &rules[i]
		at := fmt.Sprintf("%s.routeRules[%d]", at, i)
		if r.Priority < 0 || priorities[r.Priority] {
			c.add(at+".priority", fmt.Sprint(r.Priority), "Priorities must be from 0 to 2147483647, each once in a path matcher.")
		}
		priorities[r.Priority] = true
		c.target(at, r.Service, r.RouteAction, r.URLRedirect)
		c.action(at+".routeAction", r.RouteAction, r.MatchRules)
		c.redirect(at+".urlRedirect", r.URLRedirect)
		c.headers(at+".headerAction", r.HeaderAction)
		if len(r.MatchRules) == 0 {
			c.add(at+".matchRules", "", "A route rule must have a match rule.")
		}
		for j := range r.MatchRules {
			m := &r.MatchRules[j]
			c.matchRule(fmt.Sprintf("%s.matchRules[%d]", at, j), m)
			predicates += 1 + len(m.HeaderMatches) + len(m.QueryParameterMatches)
			regexes += m.regexes()
			templates += count(m.PathTemplateMatch != "")
		}
	}
	c.most(at+".routeRules", "predicates", predicates, 1000)
	c.most(at+".routeRules", "regular expressions", regexes, 5)
	c.most(at+".routeRules", "path templates", templates, 100)
}

func (c *checker) most(at, what string, n, most int) {
	if n > most {
		c.add(at, fmt.Sprint(n), "A path matcher may have %d %s.", most, what)
	}
}

func (m *MatchRule) regexes() int {
	n := count(m.RegexMatch != "")
	for _, h := range m.HeaderMatches {
		n += count(h.RegexMatch != nil)
	}
	for _, q := range m.QueryParameterMatches {
		n += count(q.RegexMatch != nil)
	}
	return n
}

func (c *checker) matchRule(at string, m *MatchRule) {
	n := 0
	for _, text := range []string{m.FullPathMatch, m.PrefixMatch, m.RegexMatch, m.PathTemplateMatch} {
		n += count(text != "")
		c.length(at, text, 1024)
	}
	if n != 1 {
		c.add(at, "", "Exactly one of prefixMatch, fullPathMatch, regexMatch and pathTemplateMatch must be set; %d are.", n)
	}
	for _, text := range []string{m.FullPathMatch, m.PrefixMatch} {
		if text != "" && (!strings.HasPrefix(text, "/") || strings.ContainsAny(text, "?#")) {
			c.add(at, text, "It must begin with / and have no query and no anchor.")
		}
	}
	if m.IgnoreCase && m.RegexMatch != "" {
		c.add(at+".ignoreCase", "true", "ignoreCase must not be used with regexMatch.")
	}
	if m.PathTemplateMatch != "" {
		if _, err := newTemplate(m.PathTemplateMatch, &Switches{}); err != nil {
			c.add(at+".pathTemplateMatch", m.PathTemplateMatch, "%v.", err)
		}
	}
	c.regex(at+".regexMatch", m.RegexMatch)
	for i := range m.HeaderMatches {
		c.headerMatch(fmt.Sprintf("%s.headerMatches[%d]", at, i), &m.HeaderMatches[i])
	}
	for i := range m.QueryParameterMatches {
		c.queryMatch(fmt.Sprintf("%s.queryParameterMatches[%d]", at, i), &m.QueryParameterMatches[i])
	}
}

// regex is not for global external load balancers.
func (c *checker) regex(at, text string) {
	if text == "" {
		return
	}
	if c.Flavour == GlobalExternal {
		c.add(at, text, "Regular expressions can only be used when the loadBalancingScheme is EXTERNAL_MANAGED (regional scope) or INTERNAL_MANAGED.")
	}
	if err := checkRegex(text); err != nil {
		c.add(at, text, "%v.", err)
	}
}

func (c *checker) headerMatch(at string, h *HeaderMatch) {
	n := 0
	for _, text := range []*string{h.ExactMatch, h.PrefixMatch, h.SuffixMatch, h.RegexMatch} {
		n += count(text != nil)
	}
	n += count(h.PresentMatch != nil) + count(h.RangeMatch != nil)
	if n != 1 {
		c.add(at, h.HeaderName, "Exactly one of exactMatch, prefixMatch, suffixMatch, regexMatch, presentMatch and rangeMatch must be set; %d are.", n)
	}
	if !isToken(strings.TrimPrefix(h.HeaderName, ":")) {
		c.add(at+".headerName", h.HeaderName, "It is not the name of a header.")
	}
	if h.RegexMatch != nil {
		c.regex(at+".regexMatch", *h.RegexMatch)
	}
	if r := h.RangeMatch; r != nil && r.End <= r.Start {
		c.add(at+".rangeMatch", "", "rangeEnd must be above rangeStart.")
	}
}

func (c *checker) queryMatch(at string, q *QueryMatch) {
	if n := count(q.ExactMatch != nil) + count(q.RegexMatch != nil) + count(q.PresentMatch != nil); n != 1 || q.Name == "" {
		c.add(at, q.Name, "A name and exactly one of exactMatch, regexMatch and presentMatch must be set; %d are.", n)
	}
	if q.RegexMatch != nil {
		c.regex(at+".regexMatch", *q.RegexMatch)
	}
}

func (c *checker) action(at string, a *RouteAction, matches []MatchRule) {
	if a == nil {
		return
	}
	sum := int32(0)
	for i, w := range a.WeightedBackendServices {
		at := fmt.Sprintf("%s.weightedBackendServices[%d]", at, i)
		if w.Weight < 0 || w.Weight > 1000 {
			c.add(at+".weight", fmt.Sprint(w.Weight), "A weight must be from 0 to 1000.")
		}
		if w.BackendService == "" {
			c.add(at+".backendService", "", "A backend service must be given.")
		}
		c.headers(at+".headerAction", w.HeaderAction)
		sum += w.Weight
	}
	if len(a.WeightedBackendServices) == 1 && sum == 0 {
		c.add(at+".weightedBackendServices[0].weight", "0", "The weight of a single backend service must not be 0.")
	}
	c.rewrite(at+".urlRewrite", a.URLRewrite, matches)
	c.attempts(at, a)
	c.policies(at, a)
}

func (c *checker) rewrite(at string, r *URLRewrite, matches []MatchRule) {
	if r == nil {
		return
	}
	c.length(at+".hostRewrite", r.HostRewrite, 255)
	c.length(at+".pathPrefixRewrite", r.PathPrefixRewrite, 1024)
	if count(r.PathPrefixRewrite != "")+count(r.PathTemplateRewrite != "")+count(r.RegexRewrite != nil) > 1 {
		c.add(at, "", "Only one of pathPrefixRewrite, pathTemplateRewrite and regexRewrite may be set.")
	}
	if r.PathPrefixRewrite != "" && !strings.HasPrefix(r.PathPrefixRewrite, "/") {
		c.add(at+".pathPrefixRewrite", r.PathPrefixRewrite, "It must begin with /.")
	}
	if r.RegexRewrite != nil {
		if err := checkRegex(r.RegexRewrite.PathPattern); err != nil || r.RegexRewrite.PathPattern == "" {
			c.add(at+".regexRewrite.pathPattern", r.RegexRewrite.PathPattern, "It is not a regular expression of the allowed kind: %v.", err)
		}
	}
	if r.PathTemplateRewrite != "" {
		c.templateRewrite(at+".pathTemplateRewrite", r.PathTemplateRewrite, matches)
	}
}

// templateRewrite needs a path template with the variables that it names in every
// match rule, and at least one there.
func (c *checker) templateRewrite(at, rewrite string, matches []MatchRule) {
	if len(matches) == 0 {
		c.add(at, rewrite, "It needs a pathTemplateMatch.")
	}
	for _, m := range matches {
		t, err := newTemplate(m.PathTemplateMatch, &Switches{})
		if err != nil || len(t.variables) == 0 {
			c.add(at, rewrite, "Every match rule must have a pathTemplateMatch with at least one variable.")
			continue
		}
		for _, v := range templateVariable.FindAllStringSubmatch(rewrite, -1) {
			if !slices.Contains(t.variables, v[1]) {
				c.add(at, rewrite, "Variable %s is not in the pathTemplateMatch.", v[1])
			}
		}
	}
	if !strings.HasPrefix(rewrite, "/") {
		c.add(at, rewrite, "It must begin with /.")
	}
}

// RetryConditions are the values of retryConditions.
func RetryConditions() []string {
	return []string{"5xx", "gateway-error", "connect-failure", "retriable-4xx", "refused-stream", "cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable"}
}

func (c *checker) attempts(at string, a *RouteAction) {
	p := a.RetryPolicy
	if p == nil {
		return
	}
	if p.NumRetries != nil && *p.NumRetries <= 0 {
		c.add(at+".retryPolicy.numRetries", fmt.Sprint(*p.NumRetries), "It must be greater than 0.")
	}
	if t := p.PerTryTimeout; t != nil && (t.Time() <= 0 || t.Time() > 24*time.Hour) {
		c.add(at+".retryPolicy.perTryTimeout", t.Time().String(), "It must be above 0 and at most 24 hours.")
	}
	for _, condition := range p.RetryConditions {
		if !slices.Contains(RetryConditions(), condition) {
			c.add(at+".retryPolicy.retryConditions", condition, "It is not a retry condition.")
		}
	}
}

func (c *checker) policies(at string, a *RouteAction) {
	if a.MaxStreamDuration != nil {
		c.add(at+".maxStreamDuration", "", "It is only for loadBalancingScheme INTERNAL_SELF_MANAGED.")
	}
	if m := a.RequestMirrorPolicy; m != nil && (m.BackendService == "" || m.MirrorPercent != nil && (*m.MirrorPercent < 0 || *m.MirrorPercent > 100)) {
		c.add(at+".requestMirrorPolicy", m.BackendService, "It needs a backend service, and a mirrorPercent from 0 to 100.")
	}
	if p := a.CORSPolicy; p != nil && len(p.AllowOriginRegexes) > 0 {
		c.add(at+".corsPolicy.allowOriginRegexes", p.AllowOriginRegexes[0], "Regular expressions can only be used when the loadBalancingScheme is INTERNAL_SELF_MANAGED.")
	}
	if f := a.FaultInjectionPolicy; f != nil {
		c.fault(at+".faultInjectionPolicy", f)
	}
}

func (c *checker) fault(at string, f *FaultInjection) {
	if b := f.Abort; b != nil && (!isStatus(b.HTTPStatus) || b.Percentage < 0 || b.Percentage > 100) {
		c.add(at+".abort", fmt.Sprint(b.HTTPStatus), "httpStatus must be from 200 to 599 and percentage from 0 to 100.")
	}
	if d := f.Delay; d != nil && (d.FixedDelay == nil || d.Percentage < 0 || d.Percentage > 100) {
		c.add(at+".delay", "", "fixedDelay must be given, and percentage must be from 0 to 100.")
	}
}
