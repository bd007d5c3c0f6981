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
)

// offered is everything in the model: the data plane of the fake cloud serves all
// of it.
var offered = []lbmodel.Feature{
	lbmodel.FeatureHTTP, lbmodel.FeatureHTTPS, lbmodel.FeatureTLSPassthrough, lbmodel.FeatureTLSTerminate,
	lbmodel.FeatureTLSMixed, lbmodel.FeatureTCP, lbmodel.FeatureUDP, lbmodel.FeatureGRPC,
	lbmodel.FeatureStaticAddress, lbmodel.FeatureListenerIsolation, lbmodel.FeatureManyCertificates,
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
	lbmodel.FeatureBackendTLSIdentity, lbmodel.FeatureBackendTLSPerBackend, lbmodel.FeatureBackendTLSMin13,
	lbmodel.FeatureBackendTLSALPN,
}

// Offers implements providers.Compiler.
func (p *Provider) Offers(raw json.RawMessage) (lbmodel.Features, []lbmodel.Finding) {
	s, findings := readSettings(raw)
	out := lbmodel.Features{
		Has:    make(map[lbmodel.Feature]lbmodel.Support, len(offered)),
		Limits: lbmodel.Limits{RulesPerListener: maxRules, BackendsPerForward: maxBackends, MaxWeight: maxWeight},
	}
	for _, f := range offered {
		if !slices.Contains(s.Without, string(f)) {
			out.Has[f] = lbmodel.Yes
		}
	}
	return out, findings
}

// readSettings reads a provider section. What is wrong in it is told and left out,
// and the rest counts: a mistyped field must not move a gateway to the defaults.
func readSettings(raw json.RawMessage) (settings.Settings, []lbmodel.Finding) {
	var s settings.Settings
	var findings []lbmodel.Finding
	if len(raw) > 0 {
		if err := jsonv2.Unmarshal(raw, &s, jsonv2.RejectUnknownMembers(true)); err != nil {
			findings = append(findings, wrongSettings("fake: %v", err))
			s = readableSettings(raw)
		}
	}
	s.Location = cmp.Or(s.Location, defaultLocation)
	s.AddressPool = slices.DeleteFunc(s.AddressPool, func(text string) bool {
		_, err := netip.ParsePrefix(text)
		if err != nil {
			findings = append(findings, wrongSettings("fake.addressPool: %q is not a prefix such as %s; it is left out", text, defaultPrefix))
		}
		return err != nil
	})
	if len(s.AddressPool) == 0 {
		s.AddressPool = []string{defaultPrefix}
	}
	for _, name := range s.Without {
		if !slices.Contains(offered, lbmodel.Feature(name)) {
			findings = append(findings, wrongSettings("fake.without: there is no feature %q; it is left out", name))
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
