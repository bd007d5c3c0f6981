package compute

import (
	"cmp"
	"slices"
	"strings"

	"gatehouse.dev/fake/gcpapi/store"
)

func (s *service) backendServices() *store.Kind {
	return &store.Kind{
		Collection: "backendServices", Schema: "BackendService", Noun: "backend_service", Stamp: "fingerprint", Quota: backendQuota,
		Immutable: []string{"name", "loadBalancingScheme", "network"}, WriteOnly: []string{"iap.oauth2ClientSecret", "params"},
		Default: completeBackendService, Check: s.checkBackendService, Show: showBackendService,
		References: []store.Reference{
			near("healthChecks[]", "healthChecks"), to("backends[].group", "networkEndpointGroups"), to("network", "networks"),
			s.foreign("tlsSettings.authenticationConfig", security, "backendAuthenticationConfigs"), s.foreign("serviceLbPolicy", services, "serviceLbPolicies"),
			s.foreign("securitySettings.clientTlsPolicy", security, "clientTlsPolicies"),
		},
	}
}

func backendQuota(n store.Name, o store.Object) string {
	where := "REGIONAL_"
	if n.Location() == "global" {
		where = "GLOBAL_"
	}
	switch scheme := store.Text(o, "loadBalancingScheme"); {
	case strings.HasSuffix(scheme, "_MANAGED"):
		return where + scheme + "_BACKEND_SERVICES"
	case scheme == "INTERNAL":
		return "REGIONAL_INTERNAL_LB_BACKEND_SERVICES"
	case scheme == "EXTERNAL" && where == "REGIONAL_":
		return "REGIONAL_EXTERNAL_NETWORK_LB_BACKEND_SERVICES"
	}
	return "BACKEND_SERVICES"
}

func completeBackendService(_ store.View, n store.Name, o store.Object) {
	scheme := cmp.Or(store.Text(o, "loadBalancingScheme"), "EXTERNAL")
	o["loadBalancingScheme"] = scheme
	passthrough := scheme == "INTERNAL" || scheme == "EXTERNAL_PASSTHROUGH" || scheme == "EXTERNAL" && n.Location() != "global"
	o["protocol"] = cmp.Or(store.Text(o, "protocol"), map[bool]string{true: "TCP", false: "HTTP"}[passthrough])
	o["sessionAffinity"] = cmp.Or(store.Text(o, "sessionAffinity"), "NONE")
	whole(o, "timeoutSec", 30)
	whole(o, "affinityCookieTtlSec", 0)
	if o["connectionDraining"] == nil {
		o["connectionDraining"] = store.Object{"drainingTimeoutSec": 0.0}
	}
	for i, b := range store.List(o, "backends") {
		backend, _ := b.(store.Object)
		whole(backend, "capacityScaler", 1)
		backend["balancingMode"] = cmp.Or(store.Text(backend, "balancingMode"), "UTILIZATION")
		store.List(o, "backends")[i] = backend
	}
	if passthrough {
		return
	}
	if o["iap"] == nil {
		o["iap"] = store.Object{"enabled": false}
	}
	if o["enableCDN"] == nil {
		o["enableCDN"] = false
	}
	whole(o, "port", 80)
	o["portName"] = cmp.Or(store.Text(o, "portName"), "http")
	if strings.HasSuffix(scheme, "_MANAGED") {
		o["localityLbPolicy"] = cmp.Or(store.Text(o, "localityLbPolicy"), "ROUND_ROBIN")
	}
}

func showBackendService(v store.View, n store.Name, o store.Object) {
	var by []any
	for _, u := range v.Users(n) {
		by = append(by, store.Object{"reference": link(u)})
	}
	if by != nil {
		o["usedBy"] = by
	}
}

// protocols are those that a scheme's backend services may have; others may have all.
var protocols = map[string][]string{
	"EXTERNAL_MANAGED": {"HTTP", "HTTPS", "HTTP2", "H2C", "TCP", "SSL"},
	"INTERNAL_MANAGED": {"HTTP", "HTTPS", "HTTP2", "H2C", "TCP"},
	"INTERNAL":         {"TCP", "UDP", "UNSPECIFIED"},
}

func (s *service) checkBackendService(v store.View, n store.Name, _, o store.Object) error {
	scheme, protocol := store.Text(o, "loadBalancingScheme"), store.Text(o, "protocol")
	if allowed := protocols[scheme]; allowed != nil && !slices.Contains(allowed, protocol) {
		return store.BadField("protocol", protocol, "The protocol is not supported with the load balancing scheme %s.", scheme)
	}
	if scheme == "INTERNAL" && n.Location() == "global" {
		return store.BadField("loadBalancingScheme", scheme, "A global backend service can't have this scheme.")
	}
	if seconds, _ := o["timeoutSec"].(float64); seconds < 1 {
		return store.BadField("timeoutSec", seconds, "Must be at least 1.")
	}
	if drain, _ := store.Get(o, "connectionDraining.drainingTimeoutSec").(float64); drain < 0 || drain > 3600 {
		return store.BadField("connectionDraining.drainingTimeoutSec", drain, "Must be between 0 and 3600.")
	}
	for _, field := range []string{"customRequestHeaders", "customResponseHeaders"} {
		if len(store.List(o, field)) > 16 {
			return store.BadField(field, len(store.List(o, field)), "At most 16 custom headers can be specified.")
		}
	}
	types, err := s.checkBackends(v, n, o)
	if err != nil {
		return err
	}
	if err := checkHealthOf(o, types); err != nil {
		return err
	}
	return checkTLS(n, o, types)
}

// checkBackends looks at the groups, and returns their types.
func (s *service) checkBackends(v store.View, n store.Name, o store.Object) ([]string, error) {
	backends := store.List(o, "backends")
	if len(backends) > 50 {
		return nil, store.BadField("backends", len(backends), "At most 50 network endpoint groups can be added to a backend service.")
	}
	var types, seen []string
	for i, b := range backends {
		backend, _ := b.(store.Object)
		at := "backends[" + number(i) + "]"
		url := store.Text(backend, "group")
		group := s.named(n, url)
		switch {
		case url == "":
			return nil, required("resource." + at + ".group")
		case slices.Contains(seen, url):
			return nil, store.BadField(at+".group", url, "Duplicate network endpoint group.")
		case n.Location() != "global" && region(group.Location()) != n.Location():
			return nil, store.BadField(at+".group", url, "The group must be in the region %s of the backend service.", n.Location())
		}
		seen = append(seen, url)
		kind := store.Text(v.Get(group), "networkEndpointType")
		if err := checkCapacity(at, kind, o, backend); err != nil {
			return nil, err
		}
		if kind != "" && !slices.Contains(types, kind) {
			types = append(types, kind)
		}
	}
	if err := mixed(types); err != nil {
		return nil, err
	}
	return types, nil
}

// mixed refuses groups of types that can't be in one backend service.
func mixed(types []string) error {
	for _, t := range types {
		if len(types) > 1 && t != "GCE_VM_IP_PORT" && t != "NON_GCP_PRIVATE_IP_PORT" {
			return store.BadField("backends", strings.Join(types, ", "), "Network endpoint groups of these types can't be in one backend service.")
		}
	}
	return nil
}

// checkCapacity looks at the balancing mode and what it needs.
func checkCapacity(at, group string, o, backend store.Object) error {
	mode := store.Text(backend, "balancingMode")
	internet := strings.HasPrefix(group, "INTERNET_") || group == "SERVERLESS" || group == "PRIVATE_SERVICE_CONNECT"
	var need []string
	switch {
	case group == "" || internet:
		return nil
	case group == "GCE_VM_IP":
		if mode != "CONNECTION" {
			return store.BadField(at+".balancingMode", mode, "Must be CONNECTION for network endpoint groups of type GCE_VM_IP.")
		}
		return nil
	case isHTTP(store.Text(o, "protocol")):
		need = []string{"maxRate", "maxRatePerEndpoint"}
		if mode == "IN_FLIGHT" {
			need = []string{"maxInFlightRequests", "maxInFlightRequestsPerEndpoint"}
		} else if mode != "RATE" {
			return store.BadField(at+".balancingMode", mode, "Balancing mode must be RATE for network endpoint groups with protocol %s.", store.Text(o, "protocol"))
		}
	default:
		need = []string{"maxConnections", "maxConnectionsPerEndpoint"}
		if mode != "CONNECTION" {
			return store.BadField(at+".balancingMode", mode, "Balancing mode must be CONNECTION for network endpoint groups with protocol %s.", store.Text(o, "protocol"))
		}
	}
	if backend[need[0]] == nil && backend[need[1]] == nil {
		return store.BadField(at+"."+need[1], "", "One of %s and %s must be specified with balancing mode %s.", need[0], need[1], mode)
	}
	return nil
}

func isHTTP(protocol string) bool {
	return slices.Contains([]string{"HTTP", "HTTPS", "HTTP2", "H2C", "GRPC"}, protocol)
}

// checkHealthOf wants a health check where endpoints can be checked, and none where they
// can't.
func checkHealthOf(o store.Object, types []string) error {
	checks := store.List(o, "healthChecks")
	if len(checks) > 1 {
		return store.BadField("healthChecks", len(checks), "At most one health check can be specified.")
	}
	for _, t := range types {
		unchecked := t == "SERVERLESS" || strings.HasPrefix(t, "INTERNET_") || t == "PRIVATE_SERVICE_CONNECT"
		switch {
		case unchecked && len(checks) > 0:
			return store.BadField("healthChecks", checks[0], "A backend service cannot have a healthcheck with %s network endpoint group backends.", t)
		case !unchecked && len(checks) == 0:
			return store.BadField("healthChecks", "", "A backend service with network endpoint group backends of type %s must have a health check.", t)
		}
	}
	return nil
}

// checkTLS looks at tlsSettings (gcp.md 1.1, 1.2).
func checkTLS(n store.Name, o store.Object, types []string) error {
	tls, ok := o["tlsSettings"].(store.Object)
	if !ok || len(tls) == 0 {
		return nil
	}
	names := store.List(tls, "subjectAltNames")
	switch {
	case !slices.Contains([]string{"SSL", "HTTPS", "HTTP2"}, store.Text(o, "protocol")):
		return store.BadField("tlsSettings", "", "TLS settings may only be specified when protocol is SSL, HTTPS or HTTP2.")
	case !strings.HasSuffix(store.Text(o, "loadBalancingScheme"), "_MANAGED"):
		return store.BadField("tlsSettings", "", "Tls Settings are not supported for global %s backend services.", store.Text(o, "loadBalancingScheme"))
	case n.Location() == "global" && slices.ContainsFunc(types, func(t string) bool { return strings.HasPrefix(t, "INTERNET_") }):
		return store.BadField("tlsSettings", "", "Tls Settings are not supported with global internet network endpoint group backends.")
	case len(names) > 5:
		return store.BadField("tlsSettings.subjectAltNames", len(names), "At most 5 subject alternative names can be specified.")
	case tls["identity"] != nil && (tls["sni"] != nil || tls["authenticationConfig"] != nil || len(names) > 0):
		return store.BadField("tlsSettings.identity", tls["identity"], "Sni, subjectAltNames and authenticationConfig can't be set with identity.")
	}
	for i, one := range names {
		name, _ := one.(store.Object)
		if (name["dnsName"] == nil) == (name["uniformResourceIdentifier"] == nil) {
			return store.BadField("tlsSettings.subjectAltNames["+number(i)+"]", name, "Exactly one of dnsName and uniformResourceIdentifier must be specified.")
		}
	}
	return nil
}
