package translate

import (
	"fmt"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"gatehouse.dev/lbmodel"
)

// filter is a filter of an HTTPRoute or a GRPCRoute; its type says which part
// counts.
type filter struct {
	kind      string
	request   *gwv1.HTTPHeaderFilter
	response  *gwv1.HTTPHeaderFilter
	mirror    *gwv1.HTTPRequestMirrorFilter
	redirect  *gwv1.HTTPRequestRedirectFilter
	rewrite   *gwv1.HTTPURLRewriteFilter
	cors      *gwv1.HTTPCORSFilter
	extension *gwv1.LocalObjectReference
}

func httpFilters(in []gwv1.HTTPRouteFilter) []filter {
	var out []filter
	for i := range in {
		f := &in[i]
		out = append(out, filter{string(f.Type), f.RequestHeaderModifier, f.ResponseHeaderModifier, f.RequestMirror,
			f.RequestRedirect, f.URLRewrite, f.CORS, f.ExtensionRef})
	}
	return out
}

func grpcFilters(in []gwv1.GRPCRouteFilter) []filter {
	var out []filter
	for i := range in {
		f := &in[i]
		out = append(out, filter{kind: string(f.Type), request: f.RequestHeaderModifier, response: f.ResponseHeaderModifier,
			mirror: f.RequestMirror, extension: f.ExtensionRef})
	}
	return out
}

// filtered is what a list of filters comes to.
type filtered struct {
	edits    lbmodel.Edits
	redirect *lbmodel.Redirect
	cors     *lbmodel.CORS
}

// filters translates a rule's or a backend's filters. ok is false when one of
// them cannot be honoured: a filter is never skipped, so whatever should pass it
// is not served. The exception is a mirror whose backend is missing, which the
// API says to drop alone.
func (t *translation) filters(c ruleContext, list []filter, matches []gwv1.HTTPRouteMatch) (out filtered, ok bool) {
	if len(list) == 0 {
		return out, true
	}
	ok = true
	seen := map[string]bool{}
	for i, f := range list {
		at := c.in("filters", i)
		repeatable := f.kind == string(gwv1.HTTPRouteFilterRequestMirror) || f.kind == string(gwv1.HTTPRouteFilterExtensionRef)
		if seen[f.kind] && !repeatable {
			t.invalid(at, gwv1.RouteReasonIncompatibleFilters, "filter %s may be used once", f.kind)
			ok = false
			continue
		}
		seen[f.kind] = true
		if problem := t.filter(at, f, matches, &out); problem != "" {
			t.invalid(at, gwv1.RouteReasonUnsupportedValue, "%s", problem)
			ok = false
		}
	}
	if out.redirect != nil && out.edits.Rewrite != nil {
		t.invalid(c, gwv1.RouteReasonIncompatibleFilters, "filters RequestRedirect and URLRewrite exclude each other")
		ok = false
	}
	return out, ok
}

// filter translates one filter into out, or says what is wrong with it.
func (t *translation) filter(c ruleContext, f filter, matches []gwv1.HTTPRouteMatch, out *filtered) (problem string) {
	switch {
	case f.kind == string(gwv1.HTTPRouteFilterRequestHeaderModifier) && f.request != nil:
		out.edits.Request, problem = headerEdit(f.request)
	case f.kind == string(gwv1.HTTPRouteFilterResponseHeaderModifier) && f.response != nil:
		out.edits.Response, problem = headerEdit(f.response)
	case f.kind == string(gwv1.HTTPRouteFilterRequestMirror) && f.mirror != nil:
		problem = t.mirror(c, f.mirror, out)
	case f.kind == string(gwv1.HTTPRouteFilterRequestRedirect) && f.redirect != nil:
		out.redirect, problem = redirect(f.redirect, matches)
	case f.kind == string(gwv1.HTTPRouteFilterURLRewrite) && f.rewrite != nil:
		out.edits.Rewrite, problem = rewrite(f.rewrite, matches)
	case f.kind == string(gwv1.HTTPRouteFilterCORS) && f.cors != nil:
		out.cors = corsOf(f.cors)
	case f.kind == string(gwv1.HTTPRouteFilterExtensionRef) && f.extension != nil:
		problem = fmt.Sprintf("filter ExtensionRef: %s %s is not supported", qualified(string(f.extension.Group), string(f.extension.Kind)), f.extension.Name)
		t.unresolved(c, string(gwv1.RouteReasonInvalidKind), problem)
	case f.kind == string(gwv1.HTTPRouteFilterExternalAuth):
		problem = "filter ExternalAuth is not supported; requests that it should check are not served without it"
	default:
		problem = fmt.Sprintf("filter %q is not supported, or its settings are missing", f.kind)
	}
	return problem
}

// headerEdit translates a header filter. Of entries of one list with equivalent
// names the first counts; one name in two lists is invalid.
func headerEdit(in *gwv1.HTTPHeaderFilter) (*lbmodel.HeaderEdit, string) {
	out := &lbmodel.HeaderEdit{Set: headers(in.Set), Add: headers(in.Add)}
	for _, name := range in.Remove {
		if !slices.ContainsFunc(out.Remove, func(have string) bool { return strings.EqualFold(have, name) }) {
			out.Remove = append(out.Remove, name)
		}
	}
	if problem := badHeaders(out); problem != "" {
		return nil, problem
	}
	actions := map[string]string{}
	check := func(name, action string) string {
		name = strings.ToLower(name)
		if have := actions[name]; have != "" {
			return fmt.Sprintf("header %s is in both %s and %s; only one action for a header is permitted", name, have, action)
		}
		actions[name] = action
		return ""
	}
	for _, h := range out.Set {
		check(h.Name, "set")
	}
	for _, h := range out.Add {
		if problem := check(h.Name, "add"); problem != "" {
			return nil, problem
		}
	}
	for _, name := range out.Remove {
		if problem := check(name, "remove"); problem != "" {
			return nil, problem
		}
	}
	return out, ""
}

// badHeaders refuses what could break out of a header: names that are no tokens
// (RFC 9110 §5.6.2) and values with line breaks.
func badHeaders(e *lbmodel.HeaderEdit) string {
	const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for _, h := range slices.Concat(e.Set, e.Add) {
		if h.Name == "" || strings.Trim(h.Name, token) != "" || strings.ContainsAny(h.Value, "\r\n\x00") {
			return fmt.Sprintf("header %q: a name is a token and a value has no line breaks (RFC 9110)", h.Name)
		}
	}
	for _, name := range e.Remove {
		if name == "" || strings.Trim(name, token) != "" {
			return fmt.Sprintf("header %q is not a header name (RFC 9110)", name)
		}
	}
	return ""
}

func headers(in []gwv1.HTTPHeader) []lbmodel.Header {
	var out []lbmodel.Header
	for _, h := range in {
		if !slices.ContainsFunc(out, func(have lbmodel.Header) bool { return strings.EqualFold(have.Name, string(h.Name)) }) {
			out = append(out, lbmodel.Header{Name: string(h.Name), Value: h.Value})
		}
	}
	return out
}

// mirror adds a mirror, or reports its backend and goes on without it. Only a
// share that is none is the filter's own problem.
func (t *translation) mirror(c ruleContext, in *gwv1.HTTPRequestMirrorFilter, out *filtered) string {
	m := lbmodel.Mirror{Source: c.source(), Numerator: 100, Denominator: 100}
	switch {
	case in.Percent != nil:
		m.Numerator = *in.Percent
	case in.Fraction != nil:
		m.Numerator, m.Denominator = in.Fraction.Numerator, deref(in.Fraction.Denominator, 100)
	}
	if m.Denominator < 1 || m.Numerator < 0 || m.Numerator > m.Denominator {
		return fmt.Sprintf("requestMirror: %d of %d is not a share", m.Numerator, m.Denominator)
	}
	if r := t.resolve(c, in.BackendRef); r.reason == "" {
		m.Pool = r.mirrored()
		out.edits.Mirrors = append(out.edits.Mirrors, m)
	}
	return ""
}

func redirect(in *gwv1.HTTPRequestRedirectFilter, matches []gwv1.HTTPRouteMatch) (*lbmodel.Redirect, string) {
	out := &lbmodel.Redirect{
		Scheme: deref(in.Scheme, ""), Hostname: string(deref(in.Hostname, "")), Port: deref(in.Port, 0), Status: deref(in.StatusCode, 302),
	}
	if !slices.Contains([]string{"", "http", "https"}, out.Scheme) {
		return nil, fmt.Sprintf("requestRedirect.scheme %q is not one of http, https", out.Scheme)
	}
	if !slices.Contains([]int{301, 302, 303, 307, 308}, out.Status) {
		return nil, fmt.Sprintf("requestRedirect.statusCode %d is not one of 301, 302, 303, 307, 308", out.Status)
	}
	if badHostname(out.Hostname) || out.Port < 0 || out.Port > 65535 {
		return nil, fmt.Sprintf("requestRedirect: %s:%d is not a host and port", out.Hostname, out.Port)
	}
	var problem string
	out.Path, problem = pathEdit(in.Path, matches)
	return out, problem
}

func rewrite(in *gwv1.HTTPURLRewriteFilter, matches []gwv1.HTTPRouteMatch) (*lbmodel.Rewrite, string) {
	path, problem := pathEdit(in.Path, matches)
	if host := string(deref(in.Hostname, "")); badHostname(host) {
		problem = fmt.Sprintf("urlRewrite.hostname %q is not a DNS name", host)
	}
	return &lbmodel.Rewrite{Hostname: string(deref(in.Hostname, "")), Path: path}, problem
}

// pathEdit translates a path modifier. A prefix can only be replaced where every
// match of the rule has one.
func pathEdit(in *gwv1.HTTPPathModifier, matches []gwv1.HTTPRouteMatch) (*lbmodel.PathEdit, string) {
	if in == nil {
		return nil, ""
	}
	switch in.Type {
	case gwv1.FullPathHTTPPathModifier:
		return &lbmodel.PathEdit{Kind: lbmodel.ReplaceFullPath, Value: deref(in.ReplaceFullPath, "")}, ""
	case gwv1.PrefixMatchHTTPPathModifier:
		for _, m := range matches {
			if m.Path != nil && deref(m.Path.Type, gwv1.PathMatchPathPrefix) != gwv1.PathMatchPathPrefix {
				return nil, "path type ReplacePrefixMatch needs PathPrefix matches; this rule has another kind"
			}
		}
		return &lbmodel.PathEdit{Kind: lbmodel.ReplacePrefixMatch, Value: deref(in.ReplacePrefixMatch, "")}, ""
	default:
		return nil, fmt.Sprintf("path type %q is not one of ReplaceFullPath, ReplacePrefixMatch", in.Type)
	}
}

func corsOf(in *gwv1.HTTPCORSFilter) *lbmodel.CORS {
	out := &lbmodel.CORS{AllowCredentials: deref(in.AllowCredentials, false), MaxAge: in.MaxAge}
	if out.MaxAge == 0 {
		out.MaxAge = 5 // the API's default, in seconds
	}
	for _, o := range in.AllowOrigins {
		out.AllowOrigins = append(out.AllowOrigins, string(o))
	}
	for _, m := range in.AllowMethods {
		out.AllowMethods = append(out.AllowMethods, string(m))
	}
	for _, h := range in.AllowHeaders {
		out.AllowHeaders = append(out.AllowHeaders, string(h))
	}
	for _, h := range in.ExposeHeaders {
		out.ExposeHeaders = append(out.ExposeHeaders, string(h))
	}
	return out
}
