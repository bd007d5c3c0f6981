package compute

import (
	"regexp"
	"slices"
	"strings"

	"gatehouse.dev/fake/gcpapi/store"
)

// Limits of URL maps (https://cloud.google.com/load-balancing/docs/quotas).
const (
	mostHostRules  = 1000
	mostHosts      = 1000 // of a host rule
	mostMatchers   = 1000
	mostRules      = 1000 // of a path matcher
	mostPredicates = 1000 // of a path matcher
	mostTemplates  = 100  // path templates of a URL map
	mostBackends   = 2500
	mostBytes      = 1 << 20
)

func (s *service) urlMaps() *store.Kind {
	return &store.Kind{
		Collection: "urlMaps", Schema: "UrlMap", Noun: "url_map", Stamp: "fingerprint", Quota: counted("URL_MAPS"), Immutable: []string{"name"}, Check: s.checkURLMap,
		References: []store.Reference{near("**.service", "backendServices"), near("**.defaultService", "backendServices"), near("**.backendService", "backendServices")},
	}
}

// validate says what is wrong with a URL map, without making it.
func (s *service) validate(c *store.Call) (store.Object, error) {
	n := c.Name()
	o, _ := c.Body["resource"].(store.Object)
	result := store.Object{"loadSucceeded": true, "testPassed": true}
	o = store.Clone(o)
	err := s.checkURLMap(s.store.Newest(), n, nil, o)
	if err == nil {
		for _, to := range s.store.Refers(n, o) {
			if s.store.Newest().Get(to) == nil {
				err = store.Missing(to)
			}
		}
	}
	if err != nil {
		result["loadSucceeded"], result["loadErrors"], result["testPassed"] = false, []any{err.Error()}, false
	}
	return store.Object{"result": result}, nil
}

func (s *service) checkURLMap(v store.View, n store.Name, _, o store.Object) error {
	if len(store.List(o, "tests")) > 0 {
		return store.BadField("tests", "", "Tests of URL maps are not emulated: leave the field out.")
	}
	if err := oneDefault("", o); err != nil {
		return err
	}
	matchers, err := checkMatchers(o)
	if err != nil {
		return err
	}
	if err := checkHosts(o, matchers); err != nil {
		return err
	}
	if size := sizeOf(o); size > mostBytes {
		return store.BadField("pathMatchers", size, "The URL map's size of %d bytes exceeds the limit of %d.", size, mostBytes)
	}
	return s.checkBackendsOf(v, n, o)
}

// oneDefault wants exactly one thing to do where nothing matches.
func oneDefault(at string, o store.Object) error {
	set := 0
	for _, field := range []string{"defaultService", "defaultUrlRedirect"} {
		if o[field] != nil {
			set++
		}
	}
	if len(store.List(o, "defaultRouteAction.weightedBackendServices")) > 0 {
		set++
	}
	switch {
	case set == 0:
		return store.BadField(at+"defaultService", "", "One of defaultService, defaultUrlRedirect and defaultRouteAction.weightedBackendServices must be specified.")
	case set > 1:
		return store.BadField(at+"defaultService", o["defaultService"], "Only one of defaultService, defaultUrlRedirect and defaultRouteAction.weightedBackendServices can be specified.")
	}
	return checkAction(at+"defaultRouteAction", o["defaultRouteAction"])
}

var hostForm = regexp.MustCompile(`^(\*|\*[-.][-a-zA-Z0-9.]+|[-a-zA-Z0-9.]+)(:[0-9]{1,5})?$`)

// checkHosts looks at host rules: each host once, each rule with a path matcher that is
// there.
func checkHosts(o store.Object, matchers map[string]bool) error {
	rules := store.List(o, "hostRules")
	if len(rules) > mostHostRules {
		return store.BadField("hostRules", len(rules), "At most %d host rules can be specified.", mostHostRules)
	}
	seen := map[string]bool{}
	for i, r := range rules {
		rule, _ := r.(store.Object)
		at := "hostRules[" + number(i) + "]"
		hosts := store.List(rule, "hosts")
		if len(hosts) == 0 || len(hosts) > mostHosts {
			return store.BadField(at+".hosts", len(hosts), "Between 1 and %d hosts must be specified.", mostHosts)
		}
		for _, h := range hosts {
			host, _ := h.(string)
			switch {
			case !hostForm.MatchString(host):
				return store.BadField(at+".hosts", host, "Must be a host, or * and the end of one.")
			case seen[strings.ToLower(host)]:
				return store.BadField(at+".hosts", host, "The host is in more than one host rule.")
			}
			seen[strings.ToLower(host)] = true
		}
		name := store.Text(rule, "pathMatcher")
		if used, ok := matchers[name]; !ok || used {
			return store.BadField(at+".pathMatcher", name, "Must be the name of a path matcher that no other host rule refers to.")
		}
		matchers[name] = true
	}
	for name, used := range matchers {
		if !used {
			return store.BadField("pathMatchers", name, "The path matcher is not referred to by any host rule.")
		}
	}
	return nil
}

// checkBackendsOf wants backend services that one load balancer can have.
func (s *service) checkBackendsOf(v store.View, n store.Name, o store.Object) error {
	all := s.store.Refers(n, o)
	if len(all) > mostBackends {
		return store.BadField("pathMatchers", len(all), "A URL map can refer to at most %d backend services.", mostBackends)
	}
	schemes := []string{}
	for _, to := range all {
		backend := v.Get(to)
		if backend == nil {
			continue // whoever looks at references refuses it
		}
		if protocol := store.Text(backend, "protocol"); !isHTTP(protocol) {
			return store.BadField("defaultService", link(to), "The backend service's protocol %s can't be used in a URL map.", protocol)
		}
		if scheme := store.Text(backend, "loadBalancingScheme"); !slices.Contains(schemes, scheme) {
			schemes = append(schemes, scheme)
		}
	}
	if len(schemes) > 1 {
		return store.BadField("defaultService", o["defaultService"], "All backend services of a URL map must have the same load balancing scheme; there are %s.", strings.Join(schemes, ", "))
	}
	if len(schemes) == 1 && schemes[0] == "EXTERNAL_MANAGED" && n.Location() == "global" {
		return noExpressions(o)
	}
	return nil
}

// noExpressions refuses regular expressions, which global external load balancers don't
// have.
func noExpressions(o store.Object) error {
	var err error
	store.Each(o, "**.regexMatch", func(path string, value any) {
		if value != nil && value != "" && err == nil {
			err = store.BadField(path, value, "Regular expressions are not supported with load balancing scheme EXTERNAL_MANAGED of a global URL map.")
		}
	})
	return err
}
