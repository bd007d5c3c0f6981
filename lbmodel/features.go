package lbmodel

import "slices"

// Feature is one ability of a provider to serve a part of the model.
type Feature string

// The features, one for each thing in the model that a provider may lack.
const (
	FeatureHTTP           Feature = "HTTP"
	FeatureHTTPS          Feature = "HTTPS"
	FeatureTLSPassthrough Feature = "TLSPassthrough"
	FeatureTLSTerminate   Feature = "TLSTerminate"
	FeatureTLSMixed       Feature = "TLSMixed" // both modes on one port
	FeatureTCP            Feature = "TCP"
	FeatureUDP            Feature = "UDP"
	FeatureGRPC           Feature = "GRPC"

	FeatureSourceRanges      Feature = "SourceRanges"
	FeatureStaticAddress     Feature = "StaticAddress"
	FeatureIPv6              Feature = "IPv6"
	FeatureProxied           Feature = "Proxied" // backends are reached at their own addresses, never at the gateway's
	FeatureListenerIsolation Feature = "ListenerIsolation"
	FeatureManyCertificates  Feature = "ManyCertificates"
	FeatureMisdirected       Feature = "MisdirectedRequests" // 421 when Host and SNI belong to different listeners
	FeatureClientValidation  Feature = "ClientValidation"
	FeatureInsecureFallback  Feature = "ClientValidationInsecureFallback"

	FeaturePathRegex   Feature = "PathRegex"
	FeatureMethodMatch Feature = "MethodMatch"
	FeatureHeaderMatch Feature = "HeaderMatch"
	FeatureHeaderRegex Feature = "HeaderRegex"
	FeatureQueryMatch  Feature = "QueryMatch"
	FeatureQueryRegex  Feature = "QueryRegex"

	FeatureRequestHeaders         Feature = "RequestHeaders"
	FeatureResponseHeaders        Feature = "ResponseHeaders"
	FeatureBackendRequestHeaders  Feature = "BackendRequestHeaders"
	FeatureBackendResponseHeaders Feature = "BackendResponseHeaders"
	FeatureRedirectScheme         Feature = "RedirectScheme"
	FeatureRedirectHost           Feature = "RedirectHost"
	FeatureRedirectPort           Feature = "RedirectPort"
	FeatureRedirectPath           Feature = "RedirectPath"
	FeatureRedirect303            Feature = "Redirect303"
	FeatureRedirect307            Feature = "Redirect307"
	FeatureRedirect308            Feature = "Redirect308"
	FeatureRewriteHost            Feature = "RewriteHost"
	FeatureRewritePath            Feature = "RewritePath"
	FeatureBackendRewrite         Feature = "BackendRewrite"
	FeatureMirror                 Feature = "Mirror"
	FeatureManyMirrors            Feature = "ManyMirrors"
	FeatureMirrorShare            Feature = "MirrorShare"
	FeatureBackendMirror          Feature = "BackendMirror"
	FeatureCORS                   Feature = "CORS"
	FeatureRequestTimeout         Feature = "RequestTimeout"
	FeatureBackendTimeout         Feature = "BackendTimeout"
	FeatureRetryCodes             Feature = "RetryCodes"
	FeatureRetryConnect           Feature = "RetryConnect"
	FeatureRetryBackoff           Feature = "RetryBackoff"
	FeaturePersistCookie          Feature = "PersistCookie"
	FeaturePersistHeader          Feature = "PersistHeader"
	FeaturePersistSource          Feature = "PersistSourceIP"
	FeatureFixedShare             Feature = "FixedShare" // a broken backend's share answers by itself
	FeatureWeights                Feature = "Weights"

	FeatureH2C       Feature = "H2C"
	FeatureHTTP2     Feature = "HTTP2"
	FeatureWebSocket Feature = "WebSocket"
	FeatureFQDN      Feature = "FQDN"
	FeatureHealth    Feature = "HealthCheck"

	FeatureBackendTLSUnverified Feature = "BackendTLSUnverified"
	FeatureBackendTLSTrust      Feature = "BackendTLSTrust" // own roots
	FeatureBackendTLSSystem     Feature = "BackendTLSSystem"
	FeatureBackendTLSSNI        Feature = "BackendTLSSNI"
	FeatureBackendTLSDNSSAN     Feature = "BackendTLSDNSSAN"
	FeatureBackendTLSURISAN     Feature = "BackendTLSURISAN"
	FeatureBackendTLSIdentity   Feature = "BackendTLSClientCertificate"
	FeatureBackendTLSPerBackend Feature = "BackendTLSClientCertificatePerBackend"
	FeatureBackendTLS13         Feature = "BackendTLS13" // spoken, whether or not it can be demanded
	FeatureBackendTLSMin13      Feature = "BackendTLSMin13"
	FeatureBackendTLSALPN       Feature = "BackendTLSALPN"
)

// Features are what a provider, with given settings, can do.
type Features struct {
	Has    map[Feature]Support `json:"has"`
	Limits Limits              `json:"limits,omitzero"`
	// Unclaimed are those of Has whose note says what Gateway API's own tests ask for:
	// they are served up to there, and not told to be supported.
	Unclaimed []Feature `json:"unclaimed,omitempty"`
}

// Support is how a feature is offered. The zero value is not at all.
type Support string

// Yes is full support. Any other non-empty text is support with that note, for
// the README's matrix.
const Yes Support = "yes"

// Offers says whether f is there.
func (f Features) Offers(feature Feature) bool { return f.Has[feature] != "" }

// Claims says whether f is there as Gateway API's conformance tests want it.
func (f Features) Claims(feature Feature) bool {
	return f.Offers(feature) && !slices.Contains(f.Unclaimed, feature)
}

// Limits are the greatest numbers a provider takes; zero is no limit.
type Limits struct {
	RulesPerListener        int   `json:"rulesPerListener,omitzero"`
	ListenersPerGateway     int   `json:"listenersPerGateway,omitzero"`
	SourceRanges            int   `json:"sourceRanges,omitzero"` // of a listener
	BackendsPerForward      int   `json:"backendsPerForward,omitzero"`
	MaxWeight               int32 `json:"maxWeight,omitzero"`
	SANs                    int   `json:"sans,omitzero"`
	Roots                   int   `json:"roots,omitzero"`
	CertificatesPerListener int   `json:"certificatesPerListener,omitzero"`
	EndpointsPerPool        int   `json:"endpointsPerPool,omitzero"`
	MirrorsPerRule          int   `json:"mirrorsPerRule,omitzero"`
}
