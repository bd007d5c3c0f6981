package serve

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// rewrite is the path and query as the backend sees them.
func (m *Matcher) rewrite(v *view, r *route, p portion, rewrite *URLRewrite) (path, query string) {
	switch {
	case rewrite == nil:
		return v.sent, v.Query
	case rewrite.PathTemplateRewrite != "":
		return expand(rewrite.PathTemplateRewrite, p.variables), v.Query
	case rewrite.RegexRewrite != nil:
		return regexRewrite(v.sent, rewrite.RegexRewrite), v.Query
	case rewrite.PathPrefixRewrite == "":
		return v.sent, v.Query
	}
	return m.rewritePrefix(v, r, p, rewrite.PathPrefixRewrite)
}

func (m *Matcher) rewritePrefix(v *view, r *route, p portion, to string) (path, query string) {
	rest := v.rest(p.prefix)
	switch {
	case r.isolated && m.s.RewriteDefault == Nothing, p.whole && m.s.RewriteFullPath == Nothing:
		return v.sent, v.Query
	case r.isolated && m.s.RewriteDefault == Whole:
		rest = ""
	}
	to, extra, has := strings.Cut(to, "?")
	switch {
	case !has:
	case m.s.RewriteQuestion == Escaped:
		to += "%3F" + extra
	default:
		return to, strings.Trim(extra+rest+"&"+v.Query, "&")
	}
	return to + rest, v.Query
}

// rest is the path behind what was matched, as it is sent.
func (v *view) rest(matched int) string {
	if v.seen == v.sent {
		return v.sent[matched:]
	}
	return (&url.URL{Path: v.seen[matched:]}).EscapedPath()
}

var substitution = regexp.MustCompile(`\\(?:([0-9])|g<([^>]*)>|(\\))`)

// regexRewrite replaces the first match, with \1 and \g<name> for groups.
func regexRewrite(path string, r *RegexRewrite) string {
	expression, err := regexp.Compile(r.PathPattern)
	if err != nil {
		return path
	}
	at := expression.FindStringSubmatchIndex(path)
	if at == nil {
		return path
	}
	to := strings.ReplaceAll(r.PathSubstitution, "$", "$$")
	to = substitution.ReplaceAllString(to, `$${$1$2}$3`)
	to = strings.ReplaceAll(to, `${}\`, `\`)
	return path[:at[0]] + string(expression.ExpandString(nil, to, path, at)) + path[at[1]:]
}

var redirectCodes = map[string]int{
	"":                          http.StatusMovedPermanently,
	"MOVED_PERMANENTLY_DEFAULT": http.StatusMovedPermanently,
	"FOUND":                     http.StatusFound,
	"SEE_OTHER":                 http.StatusSeeOther,
	"TEMPORARY_REDIRECT":        http.StatusTemporaryRedirect,
	"PERMANENT_REDIRECT":        http.StatusPermanentRedirect,
}

func (m *Matcher) redirect(v *view, r *route, p portion) *Own {
	a := r.redirect
	scheme := m.config.Scheme
	if a.HTTPSRedirect {
		scheme = "https"
	}
	query := v.Query
	if a.StripQuery {
		query = ""
	}
	path := m.redirectPath(v, r, p)
	return &Own{Status: redirectCodes[a.RedirectResponseCode], Header: http.Header{"Location": {location(scheme, m.redirectHost(v, a), path, query)}}, Cause: "redirect"}
}

func location(scheme, host, path, query string) string {
	if query != "" {
		query = "?" + query
	}
	return scheme + "://" + host + path + query
}

func (m *Matcher) redirectHost(v *view, a *RedirectAction) string {
	if a.HostRedirect != "" {
		name, _ := splitPort(a.HostRedirect)
		if m.s.RedirectHostPort == Dropped {
			return name
		}
		return a.HostRedirect
	}
	switch {
	case m.s.RedirectPort == Stripped:
		return v.hostName
	case m.s.RedirectPort == HTTPSOnly && a.HTTPSRedirect:
		return v.hostName + ":443"
	}
	return v.Host
}

func (m *Matcher) redirectPath(v *view, r *route, p portion) string {
	a := r.redirect
	switch {
	case a.PathRedirect != "":
		return a.PathRedirect
	case a.PrefixRedirect == "":
		return v.sent
	case r.isolated && m.s.RedirectDefaultSegment == Joined:
		return strings.TrimSuffix(a.PrefixRedirect, "/") + v.sent
	case r.isolated:
		return a.PrefixRedirect + v.sent
	case p.whole && m.s.RedirectFullPath == Nothing:
		return v.sent
	}
	return a.PrefixRedirect + v.rest(p.prefix)
}

// collapse is the documented 302 of a path with dot segments.
func (m *Matcher) collapse(v *view, to string) *Own {
	return &Own{Status: http.StatusFound, Header: http.Header{"Location": {location(m.config.Scheme, v.Host, to, v.Query)}}, Cause: "dot_segments"}
}
