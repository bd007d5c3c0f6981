package compute

import (
	"encoding/json/v2"
	"strings"

	"gatehouse.dev/fake/gcpapi/store"
)

func sizeOf(o store.Object) int {
	text, err := json.Marshal(o)
	if err != nil {
		return 0 // what was decoded from JSON can be encoded
	}
	return len(text)
}

// checkMatchers looks at path matchers, and returns their names.
func checkMatchers(o store.Object) (map[string]bool, error) {
	list := store.List(o, "pathMatchers")
	if len(list) > mostMatchers {
		return nil, store.BadField("pathMatchers", len(list), "At most %d path matchers can be specified.", mostMatchers)
	}
	names, templates := map[string]bool{}, 0
	for i, m := range list {
		matcher, _ := m.(store.Object)
		at := "pathMatchers[" + number(i) + "]."
		name := store.Text(matcher, "name")
		if _, twice := names[name]; twice || !nameForm.MatchString(name) {
			return nil, store.BadField(at+"name", name, "Must be a name that no other path matcher has.")
		}
		names[name] = false
		if err := oneDefault(at, matcher); err != nil {
			return nil, err
		}
		if err := checkPaths(at, matcher); err != nil {
			return nil, err
		}
		n, err := checkRoutes(at, matcher)
		if err != nil {
			return nil, err
		}
		templates += n
	}
	if templates > mostTemplates {
		return nil, store.BadField("pathMatchers", templates, "At most %d path templates can be specified.", mostTemplates)
	}
	return names, nil
}

// checkPaths looks at path rules.
func checkPaths(at string, matcher store.Object) error {
	rules := store.List(matcher, "pathRules")
	if len(rules) > 0 && len(store.List(matcher, "routeRules")) > 0 {
		return store.BadField(at+"pathRules", "", "Only one of pathRules and routeRules can be specified.")
	}
	if len(rules) > mostRules {
		return store.BadField(at+"pathRules", len(rules), "At most %d rules can be specified.", mostRules)
	}
	seen := map[string]bool{}
	for i, r := range rules {
		rule, _ := r.(store.Object)
		here := at + "pathRules[" + number(i) + "]"
		for _, p := range store.List(rule, "paths") {
			path, _ := p.(string)
			star := strings.IndexByte(path, '*')
			switch {
			case !strings.HasPrefix(path, "/") || star >= 0 && (star != len(path)-1 || path[star-1] != '/') || strings.ContainsAny(path, "?#"):
				return store.BadField(here+".paths", path, "A path must begin with /, can have * only at its end and after a /, and can't have ? or #.")
			case seen[path]:
				return store.BadField(here+".paths", path, "The path is in more than one rule.")
			}
			seen[path] = true
		}
		if err := oneService(here, rule); err != nil {
			return err
		}
	}
	return nil
}

// oneService wants exactly one place to send requests to.
func oneService(at string, rule store.Object) error {
	set := 0
	for _, field := range []string{"service", "urlRedirect"} {
		if rule[field] != nil {
			set++
		}
	}
	weighted := len(store.List(rule, "routeAction.weightedBackendServices")) > 0
	switch {
	case set > 1 || set == 1 && weighted:
		return store.BadField(at+".service", rule["service"], "Only one of service, urlRedirect and routeAction.weightedBackendServices can be specified.")
	case set == 0 && !weighted:
		return store.BadField(at+".service", "", "One of service, urlRedirect and routeAction.weightedBackendServices must be specified.")
	case rule["urlRedirect"] != nil && rule["routeAction"] != nil:
		return store.BadField(at+".routeAction", "", "A route action can't be specified with urlRedirect.")
	}
	if err := checkRedirect(at+".urlRedirect", rule["urlRedirect"]); err != nil {
		return err
	}
	return checkAction(at+".routeAction", rule["routeAction"])
}

// checkRoutes looks at route rules, and counts path templates.
func checkRoutes(at string, matcher store.Object) (int, error) {
	rules := store.List(matcher, "routeRules")
	if len(rules) > mostRules {
		return 0, store.BadField(at+"routeRules", len(rules), "At most %d rules can be specified.", mostRules)
	}
	predicates, templates, seen := 0, 0, map[float64]bool{}
	for i, r := range rules {
		rule, _ := r.(store.Object)
		here := at + "routeRules[" + number(i) + "]"
		priority, _ := rule["priority"].(float64)
		if seen[priority] || priority < 0 {
			return 0, store.BadField(here+".priority", priority, "Must be between 0 and 2147483647, and unique within the path matcher.")
		}
		seen[priority] = true
		for j, m := range store.List(rule, "matchRules") {
			match, _ := m.(store.Object)
			n, err := checkMatch(here+".matchRules["+number(j)+"]", match)
			if err != nil {
				return 0, err
			}
			predicates += n
			if match["pathTemplateMatch"] != nil {
				templates++
			}
		}
		if err := oneService(here, rule); err != nil {
			return 0, err
		}
	}
	if predicates > mostPredicates {
		return 0, store.BadField(at+"routeRules", predicates, "At most %d match predicates can be specified in a path matcher.", mostPredicates)
	}
	return templates, nil
}

// checkMatch looks at a match rule, and counts its predicates.
func checkMatch(at string, match store.Object) (int, error) {
	paths := 0
	for _, field := range []string{"prefixMatch", "fullPathMatch", "regexMatch", "pathTemplateMatch"} {
		if value, ok := match[field].(string); ok && value != "" {
			paths++
			if field != "regexMatch" && value[0] != '/' {
				return 0, store.BadField(at+"."+field, value, "Must begin with /.")
			}
		}
	}
	if paths > 1 {
		return 0, store.BadField(at, "", "Only one of prefixMatch, fullPathMatch, regexMatch and pathTemplateMatch can be specified.")
	}
	headers, queries := store.List(match, "headerMatches"), store.List(match, "queryParameterMatches")
	if paths+len(headers)+len(queries)+len(store.List(match, "metadataFilters")) == 0 {
		return 0, store.BadField(at, "", "A match rule must match on something.")
	}
	if err := oneOf(at+".headerMatches", headers, "headerName", "exactMatch", "prefixMatch", "suffixMatch", "regexMatch", "presentMatch", "rangeMatch"); err != nil {
		return 0, err
	}
	if err := oneOf(at+".queryParameterMatches", queries, "name", "exactMatch", "regexMatch", "presentMatch"); err != nil {
		return 0, err
	}
	return paths + len(headers) + len(queries), nil
}

// oneOf wants a name and exactly one way of matching in each of a list.
func oneOf(at string, list []any, name string, ways ...string) error {
	for i, e := range list {
		one, _ := e.(store.Object)
		here := at + "[" + number(i) + "]"
		if store.Text(one, name) == "" {
			return required("resource." + here + "." + name)
		}
		set := 0
		for _, way := range ways {
			if one[way] != nil {
				set++
			}
		}
		if set != 1 {
			return store.BadField(here, "", "Exactly one of %s must be specified.", strings.Join(ways, ", "))
		}
	}
	return nil
}
