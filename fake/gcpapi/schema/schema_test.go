package schema

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every path of every method leads back to it.
func TestFindAll(t *testing.T) {
	for _, api := range []*API{Compute(), CertificateManager(), NetworkSecurity(), NetworkServices()} {
		for _, m := range api.Methods {
			parts := strings.Split(m.Path, "/")
			for i, p := range parts {
				if strings.HasPrefix(p, "{") {
					parts[i] = "x"
				}
			}
			got, ok := api.Find(m.HTTP, strings.Join(parts, "/"))
			if !ok || got.Method != m {
				t.Errorf("%s %s leads to %+v", m.HTTP, m.Path, got)
			}
		}
		for name, s := range api.Schemas {
			if err := closed(api, s); err != "" {
				t.Errorf("%s.%s refers to %s, which is not there", api.Name, name, err)
			}
		}
	}
}

// closed is the name of a schema that one refers to and that is not there.
func closed(api *API, s *Schema) string {
	if s == nil {
		return ""
	}
	if s.Ref != "" && api.Schemas[s.Ref] == nil {
		return s.Ref
	}
	for _, f := range s.Fields {
		if missing := closed(api, f); missing != "" {
			return missing
		}
	}
	if missing := closed(api, s.Items); missing != "" {
		return missing
	}
	return closed(api, s.Values)
}

// A path is taken apart into scope, collection and ID.
func TestTarget(t *testing.T) {
	for _, c := range []struct {
		api             *API
		verb, path      string
		want            Target
		method, whyThis string
	}{
		{Compute(), "PATCH", "projects/p/global/urlMaps/u", Target{nil, "projects/p/global", "urlMaps", "u"}, "compute.urlMaps.patch", ""},
		{Compute(), "GET", "projects/p/regions/r/backendServices", Target{nil, "projects/p/regions/r", "backendServices", ""}, "compute.regionBackendServices.list", ""},
		{Compute(), "POST", "projects/p/targetHttpsProxies/x/setUrlMap", Target{nil, "projects/p/global", "targetHttpsProxies", "x"}, "compute.targetHttpsProxies.setUrlMap", "an old path without scope is global"},
		{Compute(), "POST", "projects/p/zones/z/networkEndpointGroups/n/attachNetworkEndpoints", Target{nil, "projects/p/zones/z", "networkEndpointGroups", "n"}, "compute.networkEndpointGroups.attachNetworkEndpoints", ""},
		{Compute(), "GET", "projects/p/aggregated/healthChecks", Target{nil, "projects/p/aggregated", "healthChecks", ""}, "compute.healthChecks.aggregatedList", ""},
		{Compute(), "GET", "projects/p", Target{nil, "", "projects", "p"}, "compute.projects.get", ""},
		{Compute(), "GET", "projects/p/zones/z", Target{nil, "projects/p", "zones", "z"}, "compute.zones.get", "a zone is not in itself"},
		{Compute(), "POST", "projects/p/regions/r/operations/o/wait", Target{nil, "projects/p/regions/r", "operations", "o"}, "compute.regionOperations.wait", ""},
		{CertificateManager(), "GET", "projects/p/locations/l/certificateMaps/m/certificateMapEntries/e", Target{nil, "projects/p/locations/l/certificateMaps/m", "certificateMapEntries", "e"}, "certificatemanager.projects.locations.certificateMaps.certificateMapEntries.get", "collections inside of collections"},
	} {
		t.Run(c.path, func(t *testing.T) {
			got, ok := c.api.Find(c.verb, c.path)
			if !ok || got.Method.ID != c.method {
				t.Fatalf("leads to %+v", got)
			}
			got.Method = nil
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s %s", d, c.whyThis)
			}
		})
	}
	for _, path := range []string{"projects/p/global", "projects//global/urlMaps/u", "projects/p/global/urlMaps/u/v/w"} {
		if got, ok := Compute().Find("GET", path); ok {
			t.Errorf("%s leads to %+v", path, got)
		}
	}
}

// What is sent is checked and given one form.
func TestClean(t *testing.T) {
	certificates, compute := CertificateManager(), Compute()
	for _, c := range []struct {
		name   string
		api    *API
		schema string
		in     map[string]any
		want   map[string]any
		bad    string
	}{
		{"outputs are dropped", compute, "HealthCheck", map[string]any{"name": "a", "id": "1", "selfLink": "x", "creationTimestamp": "y"}, map[string]any{"name": "a"}, ""},
		{"nulls stay", compute, "BackendService", map[string]any{"tlsSettings": nil}, map[string]any{"tlsSettings": nil}, ""},
		{"enum by number", certificates, "Certificate", map[string]any{"scope": 3.0}, map[string]any{"scope": "CLIENT_AUTH"}, ""},
		{"enum by name", certificates, "Certificate", map[string]any{"scope": "CLIENT_AUTH"}, map[string]any{"scope": "CLIENT_AUTH"}, ""},
		{"no such number", certificates, "Certificate", map[string]any{"scope": 99.0}, nil, "Must be one of: DEFAULT"},
		{"64 bits as a number", compute, "Duration", map[string]any{"seconds": 5.0}, map[string]any{"seconds": "5"}, ""},
		{"64 bits too long", compute, "Duration", map[string]any{"seconds": "99999999999999999999"}, nil, "Must be int64"},
		{"32 bits too long", compute, "HealthCheck", map[string]any{"timeoutSec": 3e9}, nil, "32 bits"},
		{"not whole", compute, "HealthCheck", map[string]any{"timeoutSec": 1.5}, nil, "32 bits"},
		{"a map's values", compute, "Address", map[string]any{"labels": map[string]any{"a": 1.0}}, nil, "'resource.labels.a'"},
		{"null in a list", compute, "BackendService", map[string]any{"healthChecks": []any{nil}}, nil, "Must not be null"},
		{"deep inside", compute, "UrlMap", map[string]any{"pathMatchers": []any{map[string]any{"routeRules": []any{map[string]any{"prio": 1.0}}}}}, nil, `"prio" at 'resource.pathMatchers[0].routeRules[0]'`},
		{"bytes", compute, "BackendService", map[string]any{"fingerprint": "a_-9"}, map[string]any{"fingerprint": "a_-9"}, ""},
		{"no bytes", compute, "BackendService", map[string]any{"fingerprint": "!"}, nil, "Must be byte"},
		{"bool", compute, "BackendService", map[string]any{"enableCDN": "yes"}, nil, "Must be true or false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.api.Clean(c.schema, c.in)
			if c.bad != "" {
				if err == nil || !strings.Contains(err.Error(), c.bad) {
					t.Errorf("%v, want %s", err, c.bad)
				}
				return
			}
			if d := cmp.Diff(c.want, got); err != nil || d != "" {
				t.Errorf("%v %s", err, d)
			}
		})
	}
}

// Queries are held against the method's parameters and those that all methods take.
func TestParameters(t *testing.T) {
	list, _ := Compute().Find("GET", "projects/p/aggregated/urlMaps")
	for _, c := range []struct{ query, bad string }{
		{"alt=json&prettyPrint=false&fields=items&%24alt=json%3Benum-encoding%3Dint", ""},
		{"maxResults=7&filter=name%3Da&includeAllScopes=true", ""},
		{"maxResults=many", "Must be integer"},
		{"maxResults=1&maxResults=2", "comes twice"},
		{"pageSize=7", "pageSize"},
		{"includeAllScopes=maybe", "Must be boolean"},
	} {
		t.Run(c.query, func(t *testing.T) {
			query, err := url.ParseQuery(c.query)
			if err != nil {
				t.Fatal(err)
			}
			err = list.Method.Parameters(query)
			if (err == nil) != (c.bad == "") || err != nil && !strings.Contains(err.Error(), c.bad) {
				t.Errorf("%v, want %q", err, c.bad)
			}
		})
	}
}
