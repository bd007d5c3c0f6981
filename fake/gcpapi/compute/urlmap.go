package compute

import (
	"errors"
	"slices"
	"strings"

	"gatehouse.dev/fake/gcpapi/serve"
	"gatehouse.dev/fake/gcpapi/store"
)

// mostBackends is how many backend services a URL map can have
// (https://cloud.google.com/load-balancing/docs/quotas). What else a URL map can say is
// package serve's to know.
const mostBackends = 2500

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

func (s *service) checkURLMap(v store.View, n store.Name, was, o store.Object) error {
	if len(store.List(o, "tests")) > 0 {
		return store.BadField("tests", "", "Tests of URL maps are not emulated: leave the field out.")
	}
	scheme, err := s.checkBackendsOf(v, n, o)
	if err != nil {
		return err
	}
	region := ""
	if n.Location() != "global" {
		region = n.Location()
	}
	flavour, _ := serve.FlavourOf(scheme, region) // without one, what all of them take
	var u serve.URLMap
	if err := store.Decode(o, &u); err != nil {
		return store.Bad("Invalid value for field 'resource': %v.", err)
	}
	if err := u.Check(serve.Limits{Flavour: flavour, Bytes: s.URLMapBytes}); err != nil {
		return refusal(err)
	}
	if was == nil || !slices.ContainsFunc(v.Users(n), func(user store.Name) bool { return user.Collection() == "targetHttpsProxies" }) {
		return nil
	}
	return refusal(u.CheckHTTPS())
}

// refusal is the first problem of a URL map as the API tells it; nil without one.
func refusal(err error) error {
	var p *serve.Problem
	if errors.As(err, &p) {
		return store.BadField(p.Field, p.Value, "%s", p.Detail)
	}
	return err
}

// checkBehindHTTPS looks at the URL map of a target HTTPS proxy.
func (s *service) checkBehindHTTPS(v store.View, n store.Name, o store.Object) error {
	var u serve.URLMap
	if err := store.Decode(v.Get(s.named(n, store.Text(o, "urlMap"))), &u); err != nil {
		return err
	}
	return refusal(u.CheckHTTPS())
}

// checkBackendsOf wants backend services that one load balancer can have, and returns
// their scheme.
func (s *service) checkBackendsOf(v store.View, n store.Name, o store.Object) (string, error) {
	all := s.store.Refers(n, o)
	if len(all) > mostBackends {
		return "", store.BadField("pathMatchers", len(all), "A URL map can refer to at most %d backend services.", mostBackends)
	}
	schemes := []string{}
	for _, to := range all {
		backend := v.Get(to)
		if backend == nil {
			continue // whoever looks at references refuses it
		}
		if protocol := store.Text(backend, "protocol"); !isHTTP(protocol) {
			return "", store.BadField("defaultService", link(to), "The backend service's protocol %s can't be used in a URL map.", protocol)
		}
		if scheme := store.Text(backend, "loadBalancingScheme"); !slices.Contains(schemes, scheme) {
			schemes = append(schemes, scheme)
		}
	}
	if len(schemes) > 1 {
		return "", store.BadField("defaultService", o["defaultService"], "All backend services of a URL map must have the same load balancing scheme; there are %s.", strings.Join(schemes, ", "))
	}
	return strings.Join(schemes, ""), nil
}
