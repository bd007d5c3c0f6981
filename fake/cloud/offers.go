package cloud

import (
	"cmp"
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"fmt"
	"net/netip"
	"slices"

	"gatehouse.dev/fake/settings"
	"gatehouse.dev/lbmodel"
)

// What is used when the settings say nothing.
const (
	defaultLocation = "local"
	defaultPrefix   = "127.71.0.0/16"
)

// The limits that the provider tells.
const (
	maxRules    = 20_000
	maxBackends = 256
	maxWeight   = 1_000_000
	maxRanges   = 256
)

// offered is everything in the model: the data plane of the fake cloud serves all
// of it.
var offered = []lbmodel.Feature{
	lbmodel.FeatureHTTP, lbmodel.FeatureHTTPS, lbmodel.FeatureTLSPassthrough, lbmodel.FeatureTLSTerminate,
	lbmodel.FeatureTLSMixed, lbmodel.FeatureTCP, lbmodel.FeatureUDP, lbmodel.FeatureGRPC,
	lbmodel.FeatureSourceRanges, lbmodel.FeatureStaticAddress, lbmodel.FeatureIPv6, lbmodel.FeatureProxied, lbmodel.FeatureListenerIsolation, lbmodel.FeatureManyCertificates,
	lbmodel.FeatureMisdirected, lbmodel.FeatureClientValidation, lbmodel.FeatureInsecureFallback,
	lbmodel.FeaturePathRegex, lbmodel.FeatureMethodMatch, lbmodel.FeatureHeaderMatch, lbmodel.FeatureHeaderRegex,
	lbmodel.FeatureQueryMatch, lbmodel.FeatureQueryRegex,
	lbmodel.FeatureRequestHeaders, lbmodel.FeatureResponseHeaders, lbmodel.FeatureBackendRequestHeaders,
	lbmodel.FeatureBackendResponseHeaders, lbmodel.FeatureRedirectScheme, lbmodel.FeatureRedirectHost,
	lbmodel.FeatureRedirectPort, lbmodel.FeatureRedirectPath, lbmodel.FeatureRedirect303, lbmodel.FeatureRedirect307,
	lbmodel.FeatureRedirect308, lbmodel.FeatureRewriteHost, lbmodel.FeatureRewritePath, lbmodel.FeatureBackendRewrite,
	lbmodel.FeatureMirror, lbmodel.FeatureManyMirrors, lbmodel.FeatureMirrorShare, lbmodel.FeatureBackendMirror,
	lbmodel.FeatureCORS, lbmodel.FeatureRequestTimeout, lbmodel.FeatureBackendTimeout, lbmodel.FeatureRetryCodes,
	lbmodel.FeatureRetryConnect, lbmodel.FeatureRetryBackoff, lbmodel.FeaturePersistCookie, lbmodel.FeaturePersistHeader,
	lbmodel.FeaturePersistSource, lbmodel.FeatureFixedShare, lbmodel.FeatureWeights,
	lbmodel.FeatureH2C, lbmodel.FeatureHTTP2, lbmodel.FeatureWebSocket, lbmodel.FeatureFQDN, lbmodel.FeatureHealth,
	lbmodel.FeatureBackendTLSUnverified, lbmodel.FeatureBackendTLSTrust, lbmodel.FeatureBackendTLSSystem,
	lbmodel.FeatureBackendTLSSNI, lbmodel.FeatureBackendTLSDNSSAN, lbmodel.FeatureBackendTLSURISAN,
	lbmodel.FeatureBackendTLSIdentity, lbmodel.FeatureBackendTLSPerBackend, lbmodel.FeatureBackendTLS13,
	lbmodel.FeatureBackendTLSMin13, lbmodel.FeatureBackendTLSALPN,
}

// Offers implements providers.Compiler.
func (p *Provider) Offers(raw json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
	s, findings := readSettings(raw)
	out := lbmodel.Features{
		Has:    make(map[lbmodel.Feature]lbmodel.Support, len(offered)),
		Limits: lbmodel.Limits{RulesPerListener: maxRules, SourceRanges: maxRanges, BackendsPerForward: maxBackends, MaxWeight: maxWeight},
	}
	for _, f := range offered {
		if !slices.Contains(s.Without, string(f)) {
			out.Has[f] = lbmodel.Yes
		}
	}
	if len(ofFamily(s.AddressPool, lbmodel.IPv6)) == 0 {
		delete(out.Has, lbmodel.FeatureIPv6)
	}
	return out, findings
}

// ofFamily are the prefixes of one family; those that cannot be read are of
// either, so that whoever needs them says so.
func ofFamily(prefixes []string, family lbmodel.IPFamily) []string {
	if family == "" {
		return prefixes
	}
	return slices.DeleteFunc(slices.Clone(prefixes), func(text string) bool {
		p, err := netip.ParsePrefix(text)
		return err == nil && lbmodel.FamilyOf(p.Addr()) != family
	})
}

// readSettings reads a provider section. A finding refuses every gateway that uses
// it until the section is right, so each says what to write instead. For whoever
// compiles all the same, the rest counts, and nothing moves to a default in
// silence: a pool of which no prefix can be read gives no address at all.
func readSettings(raw json.RawMessage) (settings.Settings, []lbmodel.Finding) {
	var s settings.Settings
	var findings []lbmodel.Finding
	if len(raw) > 0 {
		if err := jsonv2.Unmarshal(raw, &s, jsonv2.RejectUnknownMembers(true)); err != nil {
			findings = append(findings, wrongSettings("fake: %v; the gateway waits and stays as it is until the section is corrected", err))
			s = readableSettings(raw)
		}
	}
	s.Location = cmp.Or(s.Location, defaultLocation)
	for i, text := range s.AddressPool {
		if _, err := netip.ParsePrefix(text); err != nil {
			findings = append(findings, wrongSettings("fake.addressPool[%d]: %q is not a prefix such as %s, so no address can be given; "+
				"the gateway waits and stays as it is until the prefix is corrected or taken out", i, text, defaultPrefix))
		}
	}
	if len(s.AddressPool) == 0 {
		s.AddressPool = []string{defaultPrefix}
	}
	for _, name := range s.Without {
		if !slices.Contains(offered, lbmodel.Feature(name)) {
			findings = append(findings, wrongSettings("fake.without: there is no feature %q; the gateway waits and stays as it is until the name is corrected or taken out", name))
		}
	}
	return s, findings
}

// readableSettings are the fields of a section that can be read, when not all can.
func readableSettings(raw json.RawMessage) settings.Settings {
	var s settings.Settings
	var fields map[string]json.RawMessage
	if jsonv2.Unmarshal(raw, &fields) != nil {
		return s // told already: not an object at all
	}
	for name, value := range fields {
		one, err := jsonv2.Marshal(map[string]json.RawMessage{name: value})
		next := s
		if err == nil && jsonv2.Unmarshal(one, &next) == nil {
			s = next
		}
	}
	return s
}

func wrongSettings(text string, args ...any) lbmodel.Finding {
	return lbmodel.Finding{
		About:     lbmodel.Source{Kind: "GatewayParameters", Section: "spec.fake"},
		Condition: "Accepted", Reason: "InvalidParameters", Code: lbmodel.CodeInvalid,
		Detail: fmt.Sprintf(text, args...),
	}
}
