package gcp

import (
	"encoding/json"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/gcp/settings"
)

// What is Yes only up to a point, in the matrix's words.
const (
	onOwnPorts   lbmodel.Support = "on other ports than 80 (HTTP) and 443 (HTTPS), hostnames without a wildcard"
	plainPaths   lbmodel.Support = "paths without encoded characters"
	noLetters    lbmodel.Support = "values without letters; others as the operator assumes"
	byAssumption lbmodel.Support = "as the operator assumes"
	googleRegex  lbmodel.Support = "Google's subset of RE2, 5 for each hostname"
	encodedNot   lbmodel.Support = "names and values without encoded characters"
	toWellKnown  lbmodel.Support = "not from https to http, and to the ports 80 and 443 only"
	oneAttempt   lbmodel.Support = "without retries it bounds the request"
	codeGroups   lbmodel.Support = "502, 503 and 504 together; 409; all of 500 to 599"
	strongCookie lbmodel.Support = "with an absolute timeout or none; not with weights"
	noTimeout    lbmodel.Support = "without a time"
	inSteps      lbmodel.Support = "rounded to a thousandth; one backend for each TCP listener"
	shadowHost   lbmodel.Support = "the copy's Host ends in -shadow"
	afterRequest lbmodel.Support = "from the end of the request"
	inRange      lbmodel.Support = "within Google's ranges; status 200 only, and connections only where a client certificate is demanded"
	withSNI      lbmodel.Support = "with a server name"
	named16      lbmodel.Support = "16 server names for each port, or the project's quota"
	byTags       lbmodel.Support = "by firewall rules"
)

// proxyOffers is what the Application Load Balancers serve, and the proxy Network Load
// Balancers at their side, with its meaning kept whatever Google leaves open.
func proxyOffers() map[lbmodel.Feature]lbmodel.Support {
	return map[lbmodel.Feature]lbmodel.Support{
		lbmodel.FeatureHTTP: onOwnPorts, lbmodel.FeatureHTTPS: onOwnPorts, lbmodel.FeatureTCP: lbmodel.Yes, lbmodel.FeatureGRPC: lbmodel.Yes,
		lbmodel.FeatureProxied: lbmodel.Yes, lbmodel.FeatureListenerIsolation: lbmodel.Yes, lbmodel.FeatureManyCertificates: lbmodel.Yes,
		lbmodel.FeatureClientValidation: lbmodel.Yes, lbmodel.FeatureInsecureFallback: lbmodel.Yes,
		lbmodel.FeatureMethodMatch: lbmodel.Yes, lbmodel.FeatureHeaderMatch: noLetters, lbmodel.FeatureQueryMatch: encodedNot,
		lbmodel.FeatureRequestHeaders: lbmodel.Yes, lbmodel.FeatureResponseHeaders: lbmodel.Yes,
		lbmodel.FeatureBackendRequestHeaders: lbmodel.Yes, lbmodel.FeatureBackendResponseHeaders: lbmodel.Yes,
		lbmodel.FeatureRedirectScheme: toWellKnown, lbmodel.FeatureRedirectHost: lbmodel.Yes, lbmodel.FeatureRedirectPath: plainPaths,
		lbmodel.FeatureRedirectPort: toWellKnown,
		lbmodel.FeatureRedirect303:  lbmodel.Yes, lbmodel.FeatureRedirect307: lbmodel.Yes, lbmodel.FeatureRedirect308: lbmodel.Yes,
		lbmodel.FeatureRewriteHost: lbmodel.Yes, lbmodel.FeatureRewritePath: plainPaths,
		lbmodel.FeatureMirror: shadowHost, lbmodel.FeatureMirrorShare: lbmodel.Yes,
		lbmodel.FeatureRequestTimeout: afterRequest, lbmodel.FeatureBackendTimeout: oneAttempt,
		lbmodel.FeatureRetryCodes: codeGroups, lbmodel.FeatureRetryConnect: lbmodel.Yes,
		lbmodel.FeaturePersistCookie: strongCookie, lbmodel.FeaturePersistSource: noTimeout,
		lbmodel.FeatureFixedShare: lbmodel.Yes, lbmodel.FeatureWeights: inSteps,
		lbmodel.FeatureH2C: lbmodel.Yes, lbmodel.FeatureHTTP2: lbmodel.Yes, lbmodel.FeatureWebSocket: lbmodel.Yes, lbmodel.FeatureHealth: inRange,
		lbmodel.FeatureBackendTLSUnverified: lbmodel.Yes, lbmodel.FeatureBackendTLSTrust: lbmodel.Yes, lbmodel.FeatureBackendTLSSystem: withSNI,
		lbmodel.FeatureBackendTLSSNI: lbmodel.Yes, lbmodel.FeatureBackendTLSDNSSAN: lbmodel.Yes, lbmodel.FeatureBackendTLSURISAN: lbmodel.Yes,
		lbmodel.FeatureBackendTLSIdentity: lbmodel.Yes, lbmodel.FeatureBackendTLSPerBackend: lbmodel.Yes,
	}
}

// passthroughOffers is what passthrough Network Load Balancers serve: nodes answer at
// the gateway's own address.
func passthroughOffers() map[lbmodel.Feature]lbmodel.Support {
	return map[lbmodel.Feature]lbmodel.Support{
		lbmodel.FeatureTCP: lbmodel.Yes, lbmodel.FeatureUDP: lbmodel.Yes, lbmodel.FeaturePersistSource: noTimeout, lbmodel.FeatureHealth: inRange,
	}
}

// Offers implements providers.Compiler.
func (Compiler) Offers(raw json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
	s, findings := readSettings(raw)
	f := flavourOf(s.Flavour)
	out := lbmodel.Features{Has: proxyOffers(), Limits: lbmodel.Limits{SANs: maxSANs, Roots: maxRoots, MirrorsPerRule: 1}}
	if f.passthrough {
		out.Has = passthroughOffers()
		if s.Firewall == settings.FirewallManaged {
			out.Has[lbmodel.FeatureSourceRanges] = byTags
		}
	}
	out.Has[lbmodel.FeatureStaticAddress] = lbmodel.Yes
	if f.passthrough {
		return out, findings
	}
	offerByFlavour(out.Has, f)
	offerAssumed(out.Has, &s)
	return out, findings
}

// offerByFlavour adds what only some Application Load Balancers do.
func offerByFlavour(to map[lbmodel.Feature]lbmodel.Support, f flavour) {
	if f.regexes {
		to[lbmodel.FeaturePathRegex], to[lbmodel.FeatureHeaderRegex], to[lbmodel.FeatureQueryRegex] = googleRegex, googleRegex, googleRegex
	}
	if f.globalExternal() {
		to[lbmodel.FeatureIPv6] = lbmodel.Yes
	} else {
		to[lbmodel.FeatureTLSPassthrough] = named16
	}
	if !f.global || !f.internal {
		to[lbmodel.FeatureFQDN] = lbmodel.Yes
	}
}

func offerAssumed(to map[lbmodel.Feature]lbmodel.Support, s *settings.Settings) {
	if assumes(s, settings.HeaderValuesCaseSensitive) {
		to[lbmodel.FeatureHeaderMatch] = byAssumption
	}
	if assumes(s, settings.CORSByLoadBalancer) {
		to[lbmodel.FeatureCORS] = byAssumption
	}
	if assumes(s, settings.HostPortIgnored) {
		to[lbmodel.FeatureHTTP], to[lbmodel.FeatureHTTPS] = lbmodel.Yes, lbmodel.Yes
	}
}
