package lbmodel

// describedFeature is a row of the list that documentation prints.
type describedFeature struct {
	feature Feature
	text    string
}

// featureList has every feature once, in the order of documentation.
var featureList = []describedFeature{
	{FeatureHTTP, "HTTP listeners"},
	{FeatureHTTPS, "HTTPS listeners"},
	{FeatureTLSPassthrough, "TLS listeners that pass connections through by server name"},
	{FeatureTLSTerminate, "TLS listeners that decrypt and forward TCP"},
	{FeatureTLSMixed, "both TLS modes on one port"},
	{FeatureTCP, "TCP listeners"},
	{FeatureUDP, "UDP listeners"},
	{FeatureGRPC, "matches on gRPC services and methods, and gRPC backends"},

	{FeatureSourceRanges, "only clients of given address ranges are served"},
	{FeatureStaticAddress, "a given address for the gateway"},
	{FeatureIPv6, "IPv6 addresses for the gateway"},
	{FeatureProxied, "backends are reached at their own addresses (a Service's ipMode Proxy; without it VIP)"},
	{FeatureListenerIsolation, "only the listener with the most specific hostname is asked"},
	{FeatureManyCertificates, "several certificates on one listener, by server name"},
	{FeatureMisdirected, "421 when Host and server name belong to different listeners"},
	{FeatureClientValidation, "client certificates are demanded and verified"},
	{FeatureInsecureFallback, "client certificates are asked for but not demanded"},

	{FeaturePathRegex, "paths, or gRPC services and methods, by regular expression"},
	{FeatureMethodMatch, "matches on the HTTP method"},
	{FeatureHeaderMatch, "matches on headers"},
	{FeatureHeaderRegex, "headers by regular expression"},
	{FeatureQueryMatch, "matches on query parameters"},
	{FeatureQueryRegex, "query parameters by regular expression"},

	{FeatureRequestHeaders, "request headers set, added and removed"},
	{FeatureResponseHeaders, "response headers set, added and removed"},
	{FeatureBackendRequestHeaders, "request headers edited for one backend"},
	{FeatureBackendResponseHeaders, "response headers edited for one backend"},
	{FeatureRedirectScheme, "redirects to another scheme"},
	{FeatureRedirectHost, "redirects to another hostname"},
	{FeatureRedirectPort, "redirects to another port"},
	{FeatureRedirectPath, "redirects to another path"},
	{FeatureRedirect303, "redirects with status 303"},
	{FeatureRedirect307, "redirects with status 307"},
	{FeatureRedirect308, "redirects with status 308"},
	{FeatureRewriteHost, "the Host that the backend sees replaced"},
	{FeatureRewritePath, "the path that the backend sees replaced"},
	{FeatureBackendRewrite, "Host or path replaced for one backend"},
	{FeatureMirror, "requests mirrored to another backend"},
	{FeatureManyMirrors, "requests mirrored to several backends"},
	{FeatureMirrorShare, "a share of requests mirrored"},
	{FeatureBackendMirror, "requests to one backend mirrored"},
	{FeatureCORS, "CORS answered by the gateway"},
	{FeatureRequestTimeout, "a time limit for the whole request"},
	{FeatureBackendTimeout, "a time limit for one attempt"},
	{FeatureRetryCodes, "retries by status code"},
	{FeatureRetryConnect, "retries of failed connections"},
	{FeatureRetryBackoff, "a given interval between retries"},
	{FeaturePersistCookie, "session persistence by cookie"},
	{FeaturePersistHeader, "session persistence by header"},
	{FeaturePersistSource, "session persistence by client address"},
	{FeatureFixedShare, "a share of traffic answered by the gateway itself"},
	{FeatureWeights, "traffic shared by weight"},

	{FeatureH2C, "HTTP/2 without TLS to backends"},
	{FeatureHTTP2, "HTTP/2 over TLS to backends"},
	{FeatureWebSocket, "WebSocket to backends"},
	{FeatureFQDN, "backends by DNS name"},
	{FeatureHealth, "health checks as given"},

	{FeatureBackendTLSUnverified, "TLS to backends without verification"},
	{FeatureBackendTLSTrust, "backends verified by given roots"},
	{FeatureBackendTLSSystem, "backends verified by well-known public roots"},
	{FeatureBackendTLSSNI, "a given server name to backends"},
	{FeatureBackendTLSDNSSAN, "backends verified by given DNS names"},
	{FeatureBackendTLSURISAN, "backends verified by URI, such as a SPIFFE ID"},
	{FeatureBackendTLSIdentity, "a client certificate to backends"},
	{FeatureBackendTLSPerBackend, "different client certificates to different backends"},
	{FeatureBackendTLS13, "TLS 1.3 to backends that demand it"},
	{FeatureBackendTLSMin13, "TLS 1.3 demanded of backends"},
	{FeatureBackendTLSALPN, "given ALPN protocols, or none, to backends"},
}

// AllFeatures are all features in the order of documentation.
func AllFeatures() []Feature {
	out := make([]Feature, len(featureList))
	for i, d := range featureList {
		out[i] = d.feature
	}
	return out
}

// Describe is one line for people that says what the feature is.
func (f Feature) Describe() string {
	for _, d := range featureList {
		if d.feature == f {
			return d.text
		}
	}
	return "unknown feature"
}

// FullFeatures offers everything without limits.
func FullFeatures() Features {
	out := Features{Has: map[Feature]Support{}}
	for _, f := range AllFeatures() {
		out.Has[f] = Yes
	}
	return out
}
