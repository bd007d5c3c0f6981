package aws

import (
	"encoding/json"
	"slices"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/aws/settings"
)

// What is Yes only up to a point, in the matrix's words.
const (
	onHTTPS      lbmodel.Support = "on HTTPS listeners"
	toHTTPS      lbmodel.Support = "not from https to http"
	onOwnPorts   lbmodel.Support = "on ports 80 (HTTP) and 443 (HTTPS)"
	onePerPort   lbmodel.Support = "one set of backends for each port, whatever the server name"
	inSteps      lbmodel.Support = "rounded to a thousandth"
	inRange      lbmodel.Support = "within AWS's ranges; no Host, and no gRPC service name"
	byAssumption lbmodel.Support = "as the operator assumes"
	noTimeout    lbmodel.Support = "without a time, for TCP and UDP"
	uncased      lbmodel.Support = "hosts longer than about 28 letters: upper case only without a port"
)

// applicationOffers is what an Application Load Balancer serves with its meaning
// kept, whatever AWS leaves open. Matches on query parameters are not among it:
// AWS compares them without regard to case. Headers cannot be edited, requests
// neither mirrored nor repeated, and no route has a time limit.
var applicationOffers = map[lbmodel.Feature]lbmodel.Support{
	lbmodel.FeatureHTTP: uncased, lbmodel.FeatureHTTPS: uncased, lbmodel.FeatureGRPC: onHTTPS,
	lbmodel.FeatureListenerIsolation: lbmodel.Yes, lbmodel.FeatureMethodMatch: lbmodel.Yes,
	lbmodel.FeatureRedirectScheme: toHTTPS, lbmodel.FeatureRedirectHost: lbmodel.Yes, lbmodel.FeatureRedirectPort: lbmodel.Yes,
	lbmodel.FeatureRewriteHost: onOwnPorts, lbmodel.FeatureRewritePath: lbmodel.Yes,
	lbmodel.FeatureH2C: onHTTPS, lbmodel.FeatureHTTP2: onHTTPS, lbmodel.FeatureWebSocket: lbmodel.Yes,
}

// networkOffers is what a Network Load Balancer serves.
var networkOffers = map[lbmodel.Feature]lbmodel.Support{
	lbmodel.FeatureTCP: lbmodel.Yes, lbmodel.FeatureUDP: lbmodel.Yes,
	lbmodel.FeatureTLSPassthrough: onePerPort, lbmodel.FeatureTLSTerminate: onePerPort,
	lbmodel.FeaturePersistSource: noTimeout,
}

// commonOffers is what both do. Neither verifies a backend's certificate or
// presents one to it, and neither has a field for the server name.
var commonOffers = map[lbmodel.Feature]lbmodel.Support{
	lbmodel.FeatureProxied: lbmodel.Yes, lbmodel.FeatureManyCertificates: lbmodel.Yes, lbmodel.FeatureWeights: inSteps,
	lbmodel.FeatureHealth: inRange, lbmodel.FeatureBackendTLSUnverified: lbmodel.Yes,
}

// unclaimed are those of which Gateway API asks more: gRPC and HTTP/2 on listeners of HTTP,
// backends by server name, and redirects that change nothing but a part of the path.
var unclaimed = []lbmodel.Feature{lbmodel.FeatureGRPC, lbmodel.FeatureH2C, lbmodel.FeatureTLSPassthrough, lbmodel.FeatureRedirectPath}

// The limits of both that no quota raises.
const (
	maxBackends = 5  // target groups of an action
	maxRoots    = 25 // CAs of a trust store
)

// assumed are the features that an assumption makes right.
var assumed = map[settings.Assumption][]lbmodel.Feature{
	settings.PathRegexCaseSensitive:   {lbmodel.FeaturePathRegex},
	settings.HeaderRegexCaseSensitive: {lbmodel.FeatureHeaderMatch, lbmodel.FeatureHeaderRegex},
	settings.RedirectSeesRewrite:      {lbmodel.FeatureRedirectPath},
}

// Offers implements providers.Compiler.
func (Compiler) Offers(raw json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
	s, findings := readSettings(raw)
	out := lbmodel.Features{
		Has:       map[lbmodel.Feature]lbmodel.Support{},
		Limits:    lbmodel.Limits{BackendsPerForward: maxBackends, Roots: maxRoots, EndpointsPerPool: s.Quotas.TargetsPerGroup},
		Unclaimed: unclaimed,
	}
	offer(out.Has, commonOffers)
	if s.Flavour != settings.Network {
		offer(out.Has, applicationOffers)
		offerAssumed(out.Has, s.Assume)
	}
	if s.Flavour != settings.Application {
		offer(out.Has, networkOffers)
	}
	offerBySettings(&out, &s)
	return out, findings
}

func offer(to, from map[lbmodel.Feature]lbmodel.Support) {
	for f, support := range from {
		to[f] = support
	}
}

func offerAssumed(to map[lbmodel.Feature]lbmodel.Support, assumptions []settings.Assumption) {
	for _, a := range assumptions {
		for _, f := range assumed[a] {
			to[f] = byAssumption
		}
	}
}

// offerBySettings adds what needs a place, or a security group of our own.
func offerBySettings(out *lbmodel.Features, s *settings.Settings) {
	if s.Trust != nil {
		out.Has[lbmodel.FeatureClientValidation] = lbmodel.Yes
	}
	if s.IPAddressType == familyDual {
		out.Has[lbmodel.FeatureIPv6] = lbmodel.Yes
	}
	if len(s.SecurityGroups) == 0 && !holds(s) {
		out.Has[lbmodel.FeatureSourceRanges] = lbmodel.Yes
		out.Limits.SourceRanges = s.Quotas.RulesPerSecurityGroup
	}
	if holds(s) {
		delete(out.Has, lbmodel.FeatureClientValidation)
	}
}

// holds says whether the load balancer, or one of its listeners, is somebody else's.
func holds(s *settings.Settings) bool { return len(s.Held) > 0 }

func assumes(s *settings.Settings, a settings.Assumption) bool { return slices.Contains(s.Assume, a) }
