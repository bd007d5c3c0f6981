package gcpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"gatehouse.dev/fake/gcpapi"
)

// bad is a body that must be refused with a message, or taken if it is "".
type bad struct{ name, at, body, want string }

// run posts bodies to collections of the project.
func (w *world) run(cases []bad) {
	w.Helper()
	for _, c := range cases {
		w.Run(c.name, func(t *testing.T) {
			status, text := w.raw("POST", "projects/"+project+"/"+c.at, c.body)
			if (status == http.StatusOK) != (c.want == "") || !strings.Contains(text, c.want) {
				t.Errorf("%d %s, want %q", status, text, c.want)
			}
		})
	}
}

// What Google documents of health checks.
func TestHealthCheckRules(t *testing.T) {
	newWorld(t, gcpapi.Config{}).run([]bad{
		{"whole", "global/healthChecks", `{"name": "a", "type": "HTTP", "httpHealthCheck": {"port": 80, "requestPath": "/ready"}}`, ""},
		{"no type", "global/healthChecks", `{"name": "b", "tcpHealthCheck": {}}`, "Invalid value for field 'resource.type'"},
		{"another type's part", "global/healthChecks", `{"name": "b", "type": "TCP", "httpHealthCheck": {}}`, "must match the type TCP"},
		{"no part", "global/healthChecks", `{"name": "b", "type": "TCP"}`, "must be specified"},
		{"timeout over interval", "global/healthChecks", `{"name": "b", "type": "TCP", "tcpHealthCheck": {}, "timeoutSec": 6}`, "must not be greater than the check interval, 5"},
		{"threshold", "global/healthChecks", `{"name": "b", "type": "TCP", "tcpHealthCheck": {}, "healthyThreshold": 11}`, "Must be between 1 and 10"},
		{"serving port and a port", "global/healthChecks", `{"name": "b", "type": "TCP", "tcpHealthCheck": {"portSpecification": "USE_SERVING_PORT", "port": 80}}`, "must not be set with USE_SERVING_PORT"},
		{"path", "global/healthChecks", `{"name": "b", "type": "HTTP", "httpHealthCheck": {"requestPath": "ready"}}`, "Must begin with /"},
		{"serving port", "global/healthChecks", `{"name": "c", "type": "GRPC", "grpcHealthCheck": {"portSpecification": "USE_SERVING_PORT"}}`, ""},
	})
}

// What Google documents of backend services and of TLS to their backends.
func TestBackendServiceRules(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.healthCheck("hc")
	w.group("neg")
	w.run([]bad{
		{"internet group", "global/networkEndpointGroups", `{"name": "away", "networkEndpointType": "INTERNET_FQDN_PORT"}`, ""},
		{"default port of nodes", "zones/us-central1-a/networkEndpointGroups", `{"name": "x", "networkEndpointType": "GCE_VM_IP", "defaultPort": 80}`, "The default port can't be specified"},
		{"nodes without subnetwork", "zones/us-central1-a/networkEndpointGroups", `{"name": "x", "networkEndpointType": "GCE_VM_IP"}`, "subnetwork must be specified"},
		{"nodes", "zones/us-central1-a/networkEndpointGroups", `{"name": "nodes", "networkEndpointType": "GCE_VM_IP", "subnetwork": "regions/us-central1/subnetworks/default"}`, ""},
		{"europe", "zones/europe-west1-b/networkEndpointGroups", `{"name": "far", "networkEndpointType": "NON_GCP_PRIVATE_IP_PORT"}`, ""},
		{"regional check", "regions/us-central1/healthChecks", `{"name": "hc", "type": "TCP", "tcpHealthCheck": {}}`, ""},
	})
	const (
		hc  = `"healthChecks": ["global/healthChecks/hc"]`
		neg = `"backends": [{"group": "zones/us-central1-a/networkEndpointGroups/neg", "balancingMode": "RATE", "maxRatePerEndpoint": 1}]`
		ext = `"loadBalancingScheme": "EXTERNAL_MANAGED"`
	)
	at := "global/backendServices"
	w.run([]bad{
		{"whole", at, `{"name": "a", ` + ext + `, ` + hc + `, ` + neg + `}`, ""},
		{"mode", at, `{"name": "b", ` + ext + `, ` + hc + `, "backends": [{"group": "zones/us-central1-a/networkEndpointGroups/neg"}]}`, "Balancing mode must be RATE"},
		{"capacity", at, `{"name": "b", ` + ext + `, ` + hc + `, "backends": [{"group": "zones/us-central1-a/networkEndpointGroups/neg", "balancingMode": "RATE"}]}`, "One of maxRate and maxRatePerEndpoint"},
		{"tcp", at, `{"name": "tcp", "protocol": "TCP", ` + ext + `, ` + hc + `, "backends": [{"group": "zones/us-central1-a/networkEndpointGroups/neg", "balancingMode": "CONNECTION", "maxConnectionsPerEndpoint": 9}]}`, ""},
		{"no check", at, `{"name": "b", ` + ext + `, ` + neg + `}`, "must have a health check"},
		{"internet with check", at, `{"name": "b", ` + ext + `, ` + hc + `, "backends": [{"group": "global/networkEndpointGroups/away"}]}`, "cannot have a healthcheck with INTERNET_FQDN_PORT"},
		{"internet", at, `{"name": "c", ` + ext + `, "backends": [{"group": "global/networkEndpointGroups/away"}]}`, ""},
		{"twice", at, `{"name": "b", ` + ext + `, ` + hc + `, "backends": [{"group": "zones/us-central1-a/networkEndpointGroups/neg", "balancingMode": "RATE", "maxRate": 1}, {"group": "projects/test-project/zones/us-central1-a/networkEndpointGroups/neg", "balancingMode": "RATE", "maxRate": 1}]}`, "Duplicate network endpoint group"},
		{"mixed", at, `{"name": "b", ` + ext + `, ` + hc + `, "backends": [{"group": "zones/us-central1-a/networkEndpointGroups/neg", "balancingMode": "RATE", "maxRate": 1}, {"group": "global/networkEndpointGroups/away"}]}`, "can't be in one backend service"},
		{"another region's group", "regions/us-central1/backendServices", `{"name": "b", ` + ext + `, "healthChecks": ["regions/us-central1/healthChecks/hc"], "backends": [{"group": "zones/europe-west1-b/networkEndpointGroups/far", "balancingMode": "RATE", "maxRate": 1}]}`, "must be in the region us-central1"},
		{"protocol of the scheme", at, `{"name": "b", ` + ext + `, "protocol": "UDP"}`, "not supported with the load balancing scheme EXTERNAL_MANAGED"},
		{"global passthrough", at, `{"name": "b", "loadBalancingScheme": "INTERNAL"}`, "A global backend service can't have this scheme"},
		{"tls", at, `{"name": "d", ` + ext + `, "protocol": "HTTPS", "tlsSettings": {"sni": "a.example", "subjectAltNames": [{"dnsName": "a.example"}, {"uniformResourceIdentifier": "spiffe://td/ns/a/sa/b"}]}}`, ""},
		{"tls in plain text", at, `{"name": "b", ` + ext + `, "protocol": "HTTP", "tlsSettings": {"sni": "a.example"}}`, "TLS settings may only be specified when protocol is SSL, HTTPS or HTTP2."},
		{"tls of the classic one", at, `{"name": "b", "protocol": "HTTPS", "tlsSettings": {"sni": "a.example"}}`, "Tls Settings are not supported for global EXTERNAL backend services."},
		{"tls to the internet", at, `{"name": "b", ` + ext + `, "protocol": "HTTPS", "tlsSettings": {"sni": "a.example"}, "backends": [{"group": "global/networkEndpointGroups/away"}]}`, "not supported with global internet"},
		{"six names", at, `{"name": "b", ` + ext + `, "protocol": "HTTPS", "tlsSettings": {"subjectAltNames": [` + strings.Repeat(`{"dnsName": "a.example"},`, 5) + `{"dnsName": "f.example"}]}}`, "At most 5 subject alternative names"},
		{"a name of both kinds", at, `{"name": "b", ` + ext + `, "protocol": "HTTPS", "tlsSettings": {"subjectAltNames": [{"dnsName": "a", "uniformResourceIdentifier": "b"}]}}`, "Exactly one of dnsName"},
		{"identity and sni", at, `{"name": "b", ` + ext + `, "protocol": "HTTPS", "tlsSettings": {"identity": "//td/ns/a/sa/b", "sni": "a"}}`, "can't be set with identity"},
		{"no such authentication", at, `{"name": "b", ` + ext + `, "protocol": "HTTPS", "tlsSettings": {"authenticationConfig": "//networksecurity.googleapis.com/projects/test-project/locations/global/backendAuthenticationConfigs/x"}}`, "backendAuthenticationConfigs/x' was not found"},
	})
}

// What Google documents of URL maps.
func TestURLMapRules(t *testing.T) {
	w := newWorld(t, gcpapi.Config{URLMapBytes: 1 << 20})
	w.backend("web")
	w.run([]bad{
		{"tcp backend", "global/backendServices", `{"name": "tcp", "protocol": "TCP", "loadBalancingScheme": "EXTERNAL_MANAGED"}`, ""},
		{"classic backend", "global/backendServices", `{"name": "classic"}`, ""},
	})
	const web = `"defaultService": "global/backendServices/web"`
	rule := func(rule string) string {
		return `{"name": "b", ` + web + `, "hostRules": [{"hosts": ["a.example"], "pathMatcher": "m"}], "pathMatchers": [{"name": "m", ` + web + `, "routeRules": [` + rule + `]}]}`
	}
	path := func(rules string) string {
		return `{"name": "b", ` + web + `, "hostRules": [{"hosts": ["a.example"], "pathMatcher": "m"}], "pathMatchers": [{"name": "m", ` + web + `, "pathRules": [` + rules + `]}]}`
	}
	const to = `"service": "global/backendServices/web"`
	at := "global/urlMaps"
	w.run([]bad{
		{"redirect by default", at, `{"name": "a", "defaultUrlRedirect": {"httpsRedirect": true, "redirectResponseCode": "FOUND"}}`, ""},
		{"nothing to do", at, `{"name": "b"}`, "must be set; 0 are"},
		{"two things to do", at, `{"name": "b", ` + web + `, "defaultUrlRedirect": {"httpsRedirect": true}}`, "must be set; 2 are"},
		{"missing backend service", at, `{"name": "b", "defaultService": "global/backendServices/x"}`, "The resource 'projects/test-project/global/backendServices/x' was not found"},
		{"missing deep inside", at, rule(`{"priority": 1, "matchRules": [{"prefixMatch": "/"}], ` + to + `, "routeAction": {"requestMirrorPolicy": {"backendService": "global/backendServices/x"}}}`), "backendServices/x' was not found"},
		{"tcp backend service", at, `{"name": "b", "defaultService": "global/backendServices/tcp"}`, "protocol TCP can't be used"},
		{"two schemes", at, path(`{"paths": ["/a"], "service": "global/backendServices/classic"}`), "must have the same load balancing scheme"},
		{"host twice", at, `{"name": "b", ` + web + `, "hostRules": [{"hosts": ["a.example", "A.example"], "pathMatcher": "m"}], "pathMatchers": [{"name": "m", ` + web + `}]}`, "in one host rule only"},
		{"host with a star inside", at, `{"name": "b", ` + web + `, "hostRules": [{"hosts": ["a.*.example"], "pathMatcher": "m"}], "pathMatchers": [{"name": "m", ` + web + `}]}`, "must be a valid hostname"},
		{"no such path matcher", at, `{"name": "b", ` + web + `, "hostRules": [{"hosts": ["a.example"], "pathMatcher": "n"}]}`, "must be the name of a path matcher"},
		{"unused path matcher", at, `{"name": "b", ` + web + `, "pathMatchers": [{"name": "m", ` + web + `}]}`, "No host rule refers to"},
		{"path with a star inside", at, path(`{"paths": ["/a*b"], ` + to + `}`), "only at the end after a /"},
		{"path twice", at, path(`{"paths": ["/a"], ` + to + `}, {"paths": ["/a"], ` + to + `}`), "in one path rule only"},
		{"priority twice", at, rule(`{"priority": 1, "matchRules": [{"prefixMatch": "/"}], ` + to + `}, {"priority": 1, "matchRules": [{"prefixMatch": "/a"}], ` + to + `}`), "each once in a path matcher"},
		{"two ways of matching", at, rule(`{"priority": 1, "matchRules": [{"prefixMatch": "/", "fullPathMatch": "/"}], ` + to + `}`), "Exactly one of prefixMatch"},
		{"header without a way", at, rule(`{"priority": 1, "matchRules": [{"prefixMatch": "/", "headerMatches": [{"headerName": "a"}]}], ` + to + `}`), "Exactly one of exactMatch"},
		{"expression", at, rule(`{"priority": 1, "matchRules": [{"prefixMatch": "/", "headerMatches": [{"headerName": "a", "regexMatch": "b.*"}]}], ` + to + `}`), "Regular expressions can only be used"},
		{"no place", at, rule(`{"priority": 1, "matchRules": [{"prefixMatch": "/"}]}`), "must be set; 0 are"},
		{"no weight", at, rule(`{"priority": 1, "matchRules": [{"prefixMatch": "/"}], "routeAction": {"weightedBackendServices": [{"backendService": "global/backendServices/web", "weight": 0}]}}`), "The weight of a single backend service must not be 0"},
		{"weight", at, rule(`{"priority": 1, "matchRules": [{"prefixMatch": "/"}], "routeAction": {"weightedBackendServices": [{"backendService": "global/backendServices/web", "weight": 1001}]}}`), "must be from 0 to 1000"},
		{"retry condition", at, rule(`{"priority": 1, "matchRules": [{"prefixMatch": "/"}], ` + to + `, "routeAction": {"retryPolicy": {"retryConditions": ["always"]}}}`), "not a retry condition"},
		{"redirect and action", at, rule(`{"priority": 1, "matchRules": [{"prefixMatch": "/"}], "urlRedirect": {"hostRedirect": "b.example"}, "routeAction": {"timeout": {"seconds": "1"}}}`), "cannot be together with a route action"},
		{"two weights of 0", at, strings.Replace(rule(`{"priority": 1, "matchRules": [{"prefixMatch": "/"}], "routeAction": {"weightedBackendServices": [{"backendService": "global/backendServices/web", "weight": 0}, {"backendService": "global/backendServices/web", "weight": 0}]}}`), `"b"`, `"zero"`, 1), ""},
		{"no path", at, rule(`{"priority": 1, "matchRules": [{"headerMatches": [{"headerName": "a", "presentMatch": true}]}], ` + to + `}`), "Exactly one of prefixMatch"},
		{"redirect to https, behind https", "global/targetHttpsProxies", `{"name": "p", "urlMap": "global/urlMaps/a", "sslCertificates": ["global/sslCertificates/x"]}`, "defaultUrlRedirect.httpsRedirect"},
		{"1001 predicates", at, rule(strings.TrimSuffix(manyRules(501), ",")), "may have 1000 predicates"},
		{"1000 predicates", at, rule(strings.TrimSuffix(manyRules(500), ",")), ""},
	})
	status, text := w.raw("POST", "projects/"+project+"/global/urlMaps/b/validate", `{"resource": {"name": "b", "defaultService": "global/backendServices/none"}}`)
	if status != http.StatusOK || !strings.Contains(text, `"loadSucceeded": false`) {
		t.Errorf("validate: %d %s", status, text)
	}
}

// What the older page on quotas says of a URL map's size holds unless the newer one is
// asked for.
func TestURLMapSize(t *testing.T) {
	w := newWorld(t, gcpapi.Config{})
	w.backend("web")
	w.run([]bad{{"over 64 KB", "global/urlMaps", `{"name": "b", "defaultService": "global/backendServices/web", "hostRules": [{"hosts": ["a.example"], "pathMatcher": "m"}],
		"pathMatchers": [{"name": "m", "defaultService": "global/backendServices/web", "routeRules": [` + long(200) + `]}]}`, "may have 65536 bytes"}})
}

// long is a route rule of about half a kilobyte a match.
func long(n int) string {
	return `{"priority": 1, "matchRules": [` + strings.TrimSuffix(strings.Repeat(`{"prefixMatch": "/`+strings.Repeat("a", 500)+`"},`, n), ",") + `], "service": "global/backendServices/web"}`
}

// manyRules are route rules with two predicates each.
func manyRules(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString(`{"priority": ` + itoa(i) + `, "matchRules": [{"fullPathMatch": "/` + itoa(i) + `"}, {"prefixMatch": "/` + itoa(i) + `/"}], "service": "global/backendServices/web"},`)
	}
	return out.String()
}
