package translate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

func (t *translation) addHTTPRoute(s *routeState, o *gwv1.HTTPRoute) {
	s.rules = len(o.Spec.Rules)
	for i := range o.Spec.Rules {
		rule := &o.Spec.Rules[i]
		c := s.rule(i)
		matches, ok := t.httpMatches(c, rule.Matches)
		action := t.httpAction(c, rule)
		if !ok {
			action = c.broken()
		}
		s.add(i, rule.Name, matches, action)
	}
}

// httpMatches translates a rule's matches. One that cannot be translated has no
// place it could keep; the rule's others stay, and answer 500 with the rule.
func (t *translation) httpMatches(c ruleContext, list []gwv1.HTTPRouteMatch) (out []match, ok bool) {
	if len(list) == 0 {
		return []match{{Match: lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: "/"}}}}, true
	}
	out, ok = make([]match, 0, len(list)), true
	for i := range list {
		m, problem := httpMatch(&list[i])
		if problem != "" {
			t.invalid(c.in("matches", i), gwv1.RouteReasonUnsupportedValue, "%s", problem)
			ok = false
			continue
		}
		out = append(out, match{m, i})
	}
	return out, ok
}

func httpMatch(in *gwv1.HTTPRouteMatch) (out lbmodel.Match, problem string) {
	if out.Path, problem = pathMatch(in.Path); problem != "" {
		return out, problem
	}
	if in.Method != nil {
		out.Method = string(*in.Method)
		if problem = unknownMethod(*in.Method); problem != "" {
			return out, problem
		}
	}
	for _, h := range in.Headers {
		v := lbmodel.ValueMatch{Name: strings.ToLower(string(h.Name)), Kind: lbmodel.MatchKind(deref(h.Type, gwv1.HeaderMatchExact)), Value: h.Value}
		if out.Headers, problem = addValue(out.Headers, v, "headers"); problem != "" {
			return out, problem
		}
	}
	for _, q := range in.QueryParams {
		v := lbmodel.ValueMatch{Name: string(q.Name), Kind: lbmodel.MatchKind(deref(q.Type, gwv1.QueryParamMatchExact)), Value: q.Value}
		if out.Query, problem = addValue(out.Query, v, "queryParams"); problem != "" {
			return out, problem
		}
	}
	return out, ""
}

func unknownMethod(m gwv1.HTTPMethod) string {
	switch m {
	case gwv1.HTTPMethodGet, gwv1.HTTPMethodHead, gwv1.HTTPMethodPost, gwv1.HTTPMethodPut, gwv1.HTTPMethodDelete,
		gwv1.HTTPMethodConnect, gwv1.HTTPMethodOptions, gwv1.HTTPMethodTrace, gwv1.HTTPMethodPatch:
		return ""
	default:
		return fmt.Sprintf("method %q is not an HTTP method in upper case", m)
	}
}

// pathMatch translates a path match. A trailing "/" of a prefix means nothing
// and goes, so that it counts for nothing in the order of rules either.
func pathMatch(in *gwv1.HTTPPathMatch) (lbmodel.PathMatch, string) {
	if in == nil {
		return lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: "/"}, ""
	}
	value := deref(in.Value, "/")
	switch kind := deref(in.Type, gwv1.PathMatchPathPrefix); kind {
	case gwv1.PathMatchExact:
		return lbmodel.PathMatch{Kind: lbmodel.MatchExact, Value: value}, badPath(value)
	case gwv1.PathMatchPathPrefix:
		if len(value) > 1 {
			value = strings.TrimSuffix(value, "/")
		}
		return lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: value}, badPath(value)
	case gwv1.PathMatchRegularExpression:
		return lbmodel.PathMatch{Kind: lbmodel.MatchRegex, Value: value}, badRegex("path", value)
	default:
		return lbmodel.PathMatch{}, fmt.Sprintf("path type %q is not one of Exact, PathPrefix, RegularExpression", kind)
	}
}

func badPath(value string) string {
	if !strings.HasPrefix(value, "/") || strings.Contains(value, "//") {
		return fmt.Sprintf("path %q must begin with / and have no // in it", value)
	}
	return ""
}

func badRegex(field, expression string) string {
	if _, err := lbmodel.CompileRegex(expression); err != nil {
		return fmt.Sprintf("%s: %v; the dialect is RE2 and it must match the whole value", field, err)
	}
	return ""
}

// addValue adds a header or query match unless one of an equivalent name came
// before: only the first counts, for matching and for precedence.
func addValue(list []lbmodel.ValueMatch, v lbmodel.ValueMatch, field string) ([]lbmodel.ValueMatch, string) {
	for _, have := range list {
		if have.Name == v.Name {
			return list, ""
		}
	}
	switch v.Kind {
	case lbmodel.MatchExact:
		return append(list, v), ""
	case lbmodel.MatchRegex:
		return append(list, v), badRegex(field+" "+v.Name, v.Value)
	default:
		return list, fmt.Sprintf("%s %s: type %q is not one of Exact, RegularExpression", field, v.Name, v.Kind)
	}
}

// httpAction is what a rule does. Its parts are all translated, so that all that
// is wrong is said at once; any broken part makes the rule answer 500.
func (t *translation) httpAction(c ruleContext, rule *gwv1.HTTPRouteRule) lbmodel.Action {
	f, ok := t.filters(c, httpFilters(rule.Filters), rule.Matches)
	action := lbmodel.Action{Edits: f.edits, CORS: f.cors, Redirect: f.redirect}
	var problem string
	if action.Timeouts, problem = timeouts(rule.Timeouts); problem == "" {
		action.Retry, problem = retry(rule.Retry)
	}
	if problem == "" {
		action.Persistence, problem = persistence(rule.SessionPersistence, c.source())
	}
	if problem != "" {
		t.invalid(c, gwv1.RouteReasonUnsupportedValue, "%s", problem)
		ok = false
	}
	forward := &lbmodel.Forward{Backends: slices.Grow([]lbmodel.Backend(nil), len(rule.BackendRefs))}
	for i := range rule.BackendRefs {
		forward.Backends = append(forward.Backends, t.httpBackend(c.in("backendRefs", i), &rule.BackendRefs[i], rule.Matches))
	}
	forward.Backends = t.spread(forward.Backends)
	switch {
	case !ok:
		return c.broken()
	case f.redirect != nil && len(rule.BackendRefs) > 0:
		t.invalid(c, gwv1.RouteReasonIncompatibleFilters, "a RequestRedirect answers by itself; take it or the backendRefs away")
		return c.broken()
	case f.redirect == nil:
		action.Forward = forward
	}
	return action
}

// httpBackend is one share of a rule's traffic with the filters of its own. A
// bad filter costs the share.
func (t *translation) httpBackend(c ruleContext, ref *gwv1.HTTPBackendRef, matches []gwv1.HTTPRouteMatch) lbmodel.Backend {
	out := t.backend(c, ref.BackendRef)
	f, ok := t.filters(c, httpFilters(ref.Filters), matches)
	if ok && f.cors != nil {
		t.invalid(c, gwv1.RouteReasonUnsupportedValue, "filter CORS is not supported on a single backend; put it on the rule")
		ok = false
	}
	switch {
	case !ok:
		return c.brokenBackend(out)
	case f.redirect != nil:
		return lbmodel.Backend{Source: out.Source, Weight: out.Weight, Redirect: f.redirect}
	case out.Fixed == nil:
		out.Edits = f.edits
	}
	return out
}

func (c ruleContext) brokenBackend(b lbmodel.Backend) lbmodel.Backend {
	return lbmodel.Backend{Source: b.Source, Weight: b.Weight, Fixed: c.broken().Fixed}
}

// timeouts translates durations; zero means none, as "0s" does in the API.
func timeouts(in *gwv1.HTTPRouteTimeouts) (out lbmodel.Timeouts, problem string) {
	if in == nil {
		return out, ""
	}
	if out.Request, problem = duration("timeouts.request", in.Request); problem != "" {
		return out, problem
	}
	if out.Backend, problem = duration("timeouts.backendRequest", in.BackendRequest); problem != "" {
		return out, problem
	}
	if out.Request != 0 && out.Backend > out.Request {
		return out, fmt.Sprintf("timeouts.backendRequest %s is longer than timeouts.request %s", out.Backend, out.Request)
	}
	return out, ""
}

func duration(field string, in *gwv1.Duration) (lbmodel.Duration, string) {
	if in == nil {
		return 0, ""
	}
	d, err := time.ParseDuration(string(*in))
	if err != nil || d < 0 {
		return 0, fmt.Sprintf("%s %q is not a duration such as 1m30s (GEP-2257)", field, *in)
	}
	return lbmodel.Duration(d), ""
}

// retry translates a retry stanza. Zero attempts are no retry at all.
func retry(in *gwv1.HTTPRouteRetry) (*lbmodel.Retry, string) {
	if in == nil || deref(in.Attempts, 1) == 0 {
		return nil, ""
	}
	out := &lbmodel.Retry{Attempts: deref(in.Attempts, 1)}
	if out.Attempts < 0 {
		return nil, fmt.Sprintf("retry.attempts %d is less than 0", out.Attempts)
	}
	for _, code := range in.Codes {
		if code < 400 || code > 599 {
			return nil, fmt.Sprintf("retry.codes: %d is not between 400 and 599", code)
		}
		out.Codes = append(out.Codes, int(code))
	}
	var problem string
	out.Backoff, problem = duration("retry.backoff", in.Backoff)
	return out, problem
}
