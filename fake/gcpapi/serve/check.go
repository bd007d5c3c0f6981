package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Problem is one thing that the API refuses, in its words' form.
type Problem struct {
	Field  string // such as pathMatchers[0].routeRules[1].priority
	Value  string
	Detail string
}

// Error implements error.
func (p *Problem) Error() string {
	return fmt.Sprintf("Invalid value for field 'resource.%s': '%s'. %s", p.Field, p.Value, p.Detail)
}

// Limits are what a URL map is checked by.
type Limits struct {
	Flavour Flavour // "" is what all of them take
	// Bytes is the largest URL map, as JSON. 0 is what the page on quotas said in April
	// 2026: 64 KB for external load balancers and 128 KB for the others; a newer one has
	// 1 MB.
	Bytes int
}

// checker gathers problems.
type checker struct {
	Limits

	problems []error
}

func (c *checker) add(field, value, format string, args ...any) {
	c.problems = append(c.problems, &Problem{field, value, fmt.Sprintf(format, args...)})
}

// external says whether limits of external load balancers hold.
func (c *checker) external() bool {
	return c.Flavour == GlobalExternal || c.Flavour == RegionalExternal
}

// Check says what the API refuses of a URL map: the joined error holds a [Problem] for
// each. References are not looked up.
func (u *URLMap) Check(l Limits) error {
	c := &checker{Limits: l}
	c.target("default", u.DefaultService, u.DefaultRouteAction, u.DefaultURLRedirect)
	c.action("defaultRouteAction", u.DefaultRouteAction, nil)
	c.redirect("defaultUrlRedirect", u.DefaultURLRedirect)
	c.headers("headerAction", u.HeaderAction)
	c.hosts(u)
	names := map[string]bool{}
	for i := range u.PathMatchers {
		p := &u.PathMatchers[i]
		at := fmt.Sprintf("pathMatchers[%d]", i)
		if names[p.Name] || !nameForm.MatchString(p.Name) {
			c.add(at+".name", p.Name, "Path matchers must have different names of 1 to 63 lower case letters, digits and -.")
		}
		names[p.Name] = true
		c.pathMatcher(at, p)
	}
	c.sizes(u)
	return errors.Join(c.problems...)
}

var nameForm = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// CheckHTTPS refuses what a URL map cannot have behind a target HTTPS proxy.
func (u *URLMap) CheckHTTPS() error {
	c := &checker{}
	all := u.redirects()
	for _, at := range slices.Sorted(maps.Keys(all)) {
		if all[at].HTTPSRedirect {
			c.add(at+".httpsRedirect", "true", "httpsRedirect is not permitted in a URL map of a target HTTPS proxy.")
		}
	}
	return errors.Join(c.problems...)
}

func (u *URLMap) redirects() map[string]*RedirectAction {
	out := map[string]*RedirectAction{"defaultUrlRedirect": u.DefaultURLRedirect}
	for i, p := range u.PathMatchers {
		at := fmt.Sprintf("pathMatchers[%d]", i)
		out[at+".defaultUrlRedirect"] = p.DefaultURLRedirect
		for j, r := range p.PathRules {
			out[fmt.Sprintf("%s.pathRules[%d].urlRedirect", at, j)] = r.URLRedirect
		}
		for j, r := range p.RouteRules {
			out[fmt.Sprintf("%s.routeRules[%d].urlRedirect", at, j)] = r.URLRedirect
		}
	}
	for at, r := range out {
		if r == nil {
			delete(out, at)
		}
	}
	return out
}

// target: exactly one of a service, weighted services and a redirect.
func (c *checker) target(at, service string, action *RouteAction, redirect *RedirectAction) {
	n := count(service != "") + count(redirect != nil) + count(action != nil && len(action.WeightedBackendServices) > 0)
	if n != 1 {
		c.add(at, "", "Exactly one of a service, routeAction.weightedBackendServices and a URL redirect must be set; %d are.", n)
	}
	if redirect != nil && action != nil {
		c.add(at, "", "A URL redirect cannot be together with a route action.")
	}
}

func (c *checker) hosts(u *URLMap) {
	unused := map[string]bool{}
	for _, p := range u.PathMatchers {
		unused[p.Name] = true
	}
	seen := map[string]bool{}
	for i, rule := range u.HostRules {
		at := fmt.Sprintf("hostRules[%d]", i)
		if len(rule.Hosts) == 0 || len(rule.Hosts) > 1000 {
			c.add(at+".hosts", fmt.Sprint(len(rule.Hosts)), "A host rule must have from 1 to 1000 hosts.")
		}
		if !unused[rule.PathMatcher] {
			c.add(at+".pathMatcher", rule.PathMatcher, "It must be the name of a path matcher that no other host rule refers to.")
		}
		delete(unused, rule.PathMatcher)
		for _, host := range rule.Hosts {
			if !isHostPattern(host) {
				c.add(at+".hosts", host, "A host must be a valid hostname with an optional port; * must be first and followed by nothing, '-' or '.'.")
			}
			if seen[strings.ToLower(host)] {
				c.add(at+".hosts", host, "A host must stand in one host rule only.")
			}
			seen[strings.ToLower(host)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		c.add("pathMatchers", name, "No host rule refers to the path matcher.")
	}
}

func isHostPattern(host string) bool {
	name, port := splitPort(host)
	if port != "" && strings.Trim(port, "0123456789") != "" || len(host) > 255 {
		return false
	}
	rest, wildcard := strings.CutPrefix(name, "*")
	if wildcard && rest != "" && rest[0] != '-' && rest[0] != '.' {
		return false
	}
	return (wildcard || rest != "") && isHostText(strings.ToLower(rest))
}

func (c *checker) pathMatcher(at string, p *PathMatcher) {
	c.target(at, p.DefaultService, p.DefaultRouteAction, p.DefaultURLRedirect)
	c.action(at+".defaultRouteAction", p.DefaultRouteAction, nil)
	c.redirect(at+".defaultUrlRedirect", p.DefaultURLRedirect)
	c.headers(at+".headerAction", p.HeaderAction)
	if len(p.PathRules) > 0 && len(p.RouteRules) > 0 {
		c.add(at, p.Name, "Only one of pathRules and routeRules may be set.")
	}
	if n := len(p.PathRules) + len(p.RouteRules); n > 1000 {
		c.add(at, p.Name, "A path matcher may have 1000 rules, this one has %d.", n)
	}
	seen := map[string]bool{}
	for i := range p.PathRules {
		c.pathRule(fmt.Sprintf("%s.pathRules[%d]", at, i), &p.PathRules[i], seen)
	}
	c.routeRules(at, p.RouteRules)
}

func (c *checker) pathRule(at string, r *PathRule, seen map[string]bool) {
	c.target(at, r.Service, r.RouteAction, r.URLRedirect)
	c.action(at+".routeAction", r.RouteAction, nil)
	c.redirect(at+".urlRedirect", r.URLRedirect)
	for _, p := range r.Paths {
		star := strings.IndexByte(p, '*')
		if !strings.HasPrefix(p, "/") || strings.ContainsAny(p, "?#") || star >= 0 && (star != len(p)-1 || p[star-1] != '/') {
			c.add(at+".paths", p, "A path must begin with /, may have * only at the end after a /, and no ? or #.")
		}
		if seen[p] {
			c.add(at+".paths", p, "A path must stand in one path rule only.")
		}
		seen[p] = true
	}
}

func (c *checker) sizes(u *URLMap) {
	most, bytes := 2000, 128<<10
	if c.external() {
		most, bytes = 1000, 64<<10
	}
	bytes = cmp.Or(c.Bytes, bytes)
	if n := len(u.HostRules); n > most {
		c.add("hostRules", fmt.Sprint(n), "A URL map may have %d host rules.", most)
	}
	if n := len(u.PathMatchers); n > most {
		c.add("pathMatchers", fmt.Sprint(n), "A URL map may have %d path matchers.", most)
	}
	if text, err := json.Marshal(u); err == nil && len(text) > bytes {
		c.add("pathMatchers", fmt.Sprint(len(text)), "A URL map may have %d bytes.", bytes)
	}
	if len(u.Tests) > 0 && !c.external() && c.Flavour != "" {
		c.add("tests", "", "Tests are for external load balancers only.")
	}
	if n := len(u.Tests); n > 100 {
		c.add("tests", fmt.Sprint(n), "A URL map may have 100 tests.")
	}
}

func (c *checker) redirect(at string, r *RedirectAction) {
	if r == nil {
		return
	}
	if _, ok := redirectCodes[r.RedirectResponseCode]; !ok {
		c.add(at+".redirectResponseCode", r.RedirectResponseCode, "It is not a redirect code.")
	}
	if r.PathRedirect != "" && r.PrefixRedirect != "" {
		c.add(at+".pathRedirect", r.PathRedirect, "pathRedirect cannot be together with prefixRedirect.")
	}
	c.length(at+".hostRedirect", r.HostRedirect, 255)
	c.length(at+".pathRedirect", r.PathRedirect, 1024)
	c.length(at+".prefixRedirect", r.PrefixRedirect, 1024)
	for _, p := range []string{r.PathRedirect, r.PrefixRedirect} {
		if p != "" && !strings.HasPrefix(p, "/") {
			c.add(at, p, "A path must begin with /.")
		}
	}
}

func (c *checker) length(at, value string, most int) {
	if len(value) > most {
		c.add(at, value, "It may have from 1 to %d characters.", most)
	}
}

func (c *checker) headers(at string, a *HeaderAction) {
	if a == nil {
		return
	}
	for _, o := range slices.Concat(a.RequestHeadersToAdd, a.ResponseHeadersToAdd) {
		if o.HeaderName == "" || o.HeaderName != ":authority" && !isToken(o.HeaderName) {
			c.add(at+".headerName", o.HeaderName, "It is not the name of a header.")
		}
		if strings.ContainsAny(o.HeaderValue, "\r\n\x00") {
			c.add(at+".headerValue", o.HeaderValue, "It is not the value of a header.")
		}
	}
	for _, name := range slices.Concat(a.RequestHeadersToRemove, a.ResponseHeadersToRemove) {
		if !isToken(name) || strings.EqualFold(name, "host") {
			c.add(at, name, "A header of this name cannot be removed.")
		}
	}
}

// isToken is RFC 9110, 5.6.2.
func isToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r > 0x7e || r <= ' ' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	}) < 0
}

func isStatus(code int32) bool { return code >= http.StatusOK && code <= 599 }
