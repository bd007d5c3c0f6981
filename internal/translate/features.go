package translate

import (
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"

	"gatehouse.dev/lbmodel"
)

// advertised are the conformance features that translation handles in full, each
// with what the provider must offer for it. Not in the list is what translation
// refuses: ExternalAuth, listener filters, routability of addresses.
var advertised = map[features.FeatureName][]lbmodel.Feature{
	features.SupportGateway:                                                    nil,
	features.SupportReferenceGrant:                                             nil,
	features.SupportListenerSet:                                                nil,
	features.SupportGatewayRouteHostnameIntersectionPrecedence:                 nil,
	features.SupportGatewayInfrastructure:                                      nil,
	features.SupportClusterTrustBundle:                                         {lbmodel.FeatureBackendTLSTrust},
	features.SupportGatewayPort8080:                                            {lbmodel.FeatureHTTP},
	features.SupportGatewayStaticAddresses:                                     {lbmodel.FeatureStaticAddress},
	features.SupportGatewayAddressEmpty:                                        {lbmodel.FeatureStaticAddress},
	features.SupportGatewayHTTPListenerIsolation:                               {lbmodel.FeatureListenerIsolation},
	features.SupportGatewayHTTPSListenerDetectMisdirectedRequests:              {lbmodel.FeatureHTTPS, lbmodel.FeatureMisdirected},
	features.SupportGatewayBackendClientCertificate:                            {lbmodel.FeatureBackendTLSTrust, lbmodel.FeatureBackendTLSIdentity},
	features.SupportGatewayFrontendClientCertificateValidation:                 {lbmodel.FeatureHTTPS, lbmodel.FeatureClientValidation},
	features.SupportGatewayFrontendClientCertificateValidationInsecureFallback: {lbmodel.FeatureClientValidation, lbmodel.FeatureInsecureFallback},

	features.SupportBackendTLSPolicy:              {lbmodel.FeatureBackendTLSTrust, lbmodel.FeatureBackendTLSSNI},
	features.SupportBackendTLSPolicySANValidation: {lbmodel.FeatureBackendTLSTrust, lbmodel.FeatureBackendTLSDNSSAN, lbmodel.FeatureBackendTLSURISAN},

	features.SupportHTTPRoute:                                 {lbmodel.FeatureHTTP, lbmodel.FeatureHeaderMatch, lbmodel.FeatureRequestHeaders, lbmodel.FeatureWeights},
	features.SupportHTTPRouteParentRefPort:                    {lbmodel.FeatureHTTP},
	features.SupportHTTPRouteDestinationPortMatching:          {lbmodel.FeatureHTTP},
	features.SupportHTTPRouteNamedRouteRule:                   {lbmodel.FeatureHTTP},
	features.SupportHTTPRouteQueryParamMatching:               {lbmodel.FeatureQueryMatch},
	features.SupportHTTPRouteMethodMatching:                   {lbmodel.FeatureMethodMatch},
	features.SupportHTTPRouteResponseHeaderModification:       {lbmodel.FeatureResponseHeaders},
	features.SupportHTTPRouteBackendRequestHeaderModification: {lbmodel.FeatureBackendRequestHeaders},
	features.SupportHTTPRoutePortRedirect:                     {lbmodel.FeatureRedirectPort},
	features.SupportHTTPRouteSchemeRedirect:                   {lbmodel.FeatureRedirectScheme},
	features.SupportHTTPRoutePathRedirect:                     {lbmodel.FeatureRedirectPath},
	features.SupportHTTPRoute303RedirectStatusCode:            {lbmodel.FeatureRedirect303},
	features.SupportHTTPRoute307RedirectStatusCode:            {lbmodel.FeatureRedirect307},
	features.SupportHTTPRoute308RedirectStatusCode:            {lbmodel.FeatureRedirect308},
	features.SupportHTTPRouteHostRewrite:                      {lbmodel.FeatureRewriteHost},
	features.SupportHTTPRoutePathRewrite:                      {lbmodel.FeatureRewritePath},
	features.SupportHTTPRouteBackendURLRewrite:                {lbmodel.FeatureBackendRewrite},
	features.SupportHTTPRouteRequestMirror:                    {lbmodel.FeatureMirror},
	features.SupportHTTPRouteRequestMultipleMirrors:           {lbmodel.FeatureMirror, lbmodel.FeatureManyMirrors},
	features.SupportHTTPRouteRequestPercentageMirror:          {lbmodel.FeatureMirror, lbmodel.FeatureMirrorShare},
	features.SupportHTTPRouteRequestTimeout:                   {lbmodel.FeatureRequestTimeout},
	features.SupportHTTPRouteBackendTimeout:                   {lbmodel.FeatureBackendTimeout},
	features.SupportHTTPRouteCORS:                             {lbmodel.FeatureCORS},
	features.SupportHTTPRouteRetryCodes:                       {lbmodel.FeatureRetryCodes},
	features.SupportHTTPRouteRetryConnectionError:             {lbmodel.FeatureRetryConnect},
	features.SupportHTTPRouteBackendProtocolH2C:               {lbmodel.FeatureH2C},
	features.SupportHTTPRouteBackendProtocolWebSocket:         {lbmodel.FeatureWebSocket},

	features.SupportGRPCRoute:                      {lbmodel.FeatureGRPC},
	features.SupportGRPCRouteNamedRouteRule:        {lbmodel.FeatureGRPC},
	features.SupportGRPCRouteRequestHeaderModifier: {lbmodel.FeatureGRPC, lbmodel.FeatureRequestHeaders},

	features.SupportTLSRoute:              {lbmodel.FeatureTLSPassthrough},
	features.SupportTLSRouteModeTerminate: {lbmodel.FeatureTLSTerminate},
	features.SupportTLSRouteModeMixed:     {lbmodel.FeatureTLSPassthrough, lbmodel.FeatureTLSTerminate, lbmodel.FeatureTLSMixed},
	features.SupportTCPRoute:              {lbmodel.FeatureTCP},
	features.SupportUDPRoute:              {lbmodel.FeatureUDP},
}

// clusterOffers says whether what is around the provider is there for a feature.
func (o Options) clusterOffers(name features.FeatureName) bool {
	switch name {
	case features.SupportGatewayInfrastructure:
		return o.Infrastructure
	case features.SupportClusterTrustBundle:
		return !o.NoTrustBundles
	default:
		return true
	}
}

// supportedFeatures are what a class offers, sorted by name as the API demands.
func (o Options) supportedFeatures(c *class) []gwv1.SupportedFeature {
	var out []gwv1.SupportedFeature
	for name, needs := range advertised {
		if o.clusterOffers(name) && !slices.ContainsFunc(needs, func(f lbmodel.Feature) bool { return !c.claims(f) }) {
			out = append(out, gwv1.SupportedFeature{Name: gwv1.FeatureName(name)})
		}
	}
	slices.SortFunc(out, func(a, b gwv1.SupportedFeature) int { return strings.Compare(string(a.Name), string(b.Name)) })
	return out
}
