package elb

import "time"

// The shapes of the API's resources, as they are on the wire. Stored objects are
// made of them, so that what is described is what was stored.

type loadBalancer struct {
	AvailabilityZones                                    []zone
	CanonicalHostedZoneId                                string
	CreatedTime                                          time.Time
	CustomerOwnedIpv4Pool                                string
	DNSName                                              string
	EnablePrefixForIpv6SourceNat                         string
	EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic string
	IpAddressType                                        string
	IpamPools                                            *ipamPools
	LoadBalancerArn                                      string
	LoadBalancerName                                     string
	Scheme                                               string
	SecurityGroups                                       []string
	State                                                *lbState
	Type                                                 string
	VpcId                                                string
}

type lbState struct{ Code, Reason string }

type ipamPools struct{ Ipv4IpamPoolId string }

type zone struct {
	LoadBalancerAddresses []address
	OutpostId             string
	SourceNatIpv6Prefixes []string
	SubnetId              string
	ZoneName              string
}

type address struct{ AllocationId, IPv6Address, IpAddress, PrivateIPv4Address string }

type subnetMapping struct{ AllocationId, IPv6Address, PrivateIPv4Address, SourceNatIpv6Prefix, SubnetId string }

type listener struct {
	AlpnPolicy           []string
	Certificates         []certificate
	DefaultActions       []action
	ListenerArn          string
	LoadBalancerArn      string
	MutualAuthentication *mutualAuthentication
	Port                 int
	Protocol             string
	SslPolicy            string
}

type certificate struct {
	CertificateArn string
	IsDefault      *bool
}

type mutualAuthentication struct {
	AdvertiseTrustStoreCaNames    string
	IgnoreClientCertificateExpiry *bool
	Mode                          string
	TrustStoreArn                 string
	TrustStoreAssociationStatus   string
}

type action struct {
	AuthenticateCognitoConfig *cognito
	AuthenticateOidcConfig    *oidc
	FixedResponseConfig       *fixedResponse
	ForwardConfig             *forward
	JwtValidationConfig       *jwtValidation
	Order                     *int
	RedirectConfig            *redirect
	TargetGroupArn            string
	Type                      string
}

type cognito struct {
	AuthenticationRequestExtraParams map[string]string
	OnUnauthenticatedRequest         string
	Scope                            string
	SessionCookieName                string
	SessionTimeout                   *int
	UserPoolArn                      string
	UserPoolClientId                 string
	UserPoolDomain                   string
}

type oidc struct {
	AuthenticationRequestExtraParams map[string]string
	AuthorizationEndpoint            string
	ClientId                         string
	ClientSecret                     string
	Issuer                           string
	OnUnauthenticatedRequest         string
	Scope                            string
	SessionCookieName                string
	SessionTimeout                   *int
	TokenEndpoint                    string
	UseExistingClientSecret          *bool
	UserInfoEndpoint                 string
}

type fixedResponse struct{ ContentType, MessageBody, StatusCode string }

type forward struct {
	TargetGroupStickinessConfig *stickiness
	TargetGroups                []weighted
}

type stickiness struct {
	DurationSeconds *int
	Enabled         *bool
}

type weighted struct {
	TargetGroupArn string
	Weight         *int
}

type jwtValidation struct {
	AdditionalClaims []claim
	Issuer           string
	JwksEndpoint     string
}

type claim struct {
	Format string
	Name   string
	Values []string
}

type redirect struct{ Host, Path, Port, Protocol, Query, StatusCode string }

type rule struct {
	Actions    []action
	Conditions []condition
	IsDefault  *bool
	Priority   string
	RuleArn    string
	Transforms []transform
}

type condition struct {
	Field                   string
	HostHeaderConfig        *patterns
	HttpHeaderConfig        *headerPatterns
	HttpRequestMethodConfig *plainValues
	PathPatternConfig       *patterns
	QueryStringConfig       *queryPairs
	RegexValues             []string
	SourceIpConfig          *sourceIPs
	Values                  []string
}

type patterns struct{ RegexValues, Values []string }

type headerPatterns struct {
	HttpHeaderName      string
	RegexValues, Values []string
}

type plainValues struct{ Values []string }

type queryPairs struct{ Values []queryPair }

type queryPair struct{ Key, Value string }

type sourceIPs struct {
	IpAddressType string
	Values        []string
}

type transform struct {
	HostHeaderRewriteConfig *rewrites
	Type                    string
	UrlRewriteConfig        *rewrites
}

type rewrites struct{ Rewrites []rewrite }

type rewrite struct {
	Regex   string
	Replace string `wire:",always"`
}

type targetGroup struct {
	HealthCheckEnabled         *bool
	HealthCheckIntervalSeconds int
	HealthCheckPath            string
	HealthCheckPort            string
	HealthCheckProtocol        string
	HealthCheckTimeoutSeconds  int
	HealthyThresholdCount      int
	IpAddressType              string
	LoadBalancerArns           []string
	Matcher                    *matcher
	Port                       int
	Protocol                   string
	ProtocolVersion            string
	TargetControlPort          int
	TargetGroupArn             string
	TargetGroupName            string
	TargetType                 string
	UnhealthyThresholdCount    int
	VpcId                      string
}

type matcher struct{ GrpcCode, HttpCode string }

type target struct {
	AvailabilityZone string
	Id               string
	Port             int
	QuicServerId     string
}

type targetHealth struct {
	AdministrativeOverride *override
	AnomalyDetection       *anomaly
	HealthCheckPort        string
	Target                 *target
	TargetHealth           *health
}

type override struct{ Description, Reason, State string }

type anomaly struct{ MitigationInEffect, Result string }

type health struct{ Description, Reason, State string }

// attribute is one of a load balancer, a listener or a target group.
type attribute struct {
	Key   string
	Value string `wire:",always"`
}

type tag struct {
	Key   string
	Value string `wire:",always"`
}

type tagDescription struct {
	ResourceArn string
	Tags        []tag
}

type limit struct{ Max, Name string }

type sslPolicy struct {
	Ciphers                    []cipher
	Name                       string
	SslProtocols               []string
	SupportedLoadBalancerTypes []string
}

type cipher struct {
	Name     string
	Priority int
}

type trustStore struct {
	Name                   string
	NumberOfCaCertificates *int
	Status                 string
	TotalRevokedEntries    *int
	TrustStoreArn          string
}

type revocation struct {
	NumberOfRevokedEntries *int
	RevocationId           int
	RevocationType         string
	TrustStoreArn          string
}

type revocationContent struct{ RevocationType, S3Bucket, S3Key, S3ObjectVersion string }

type association struct{ ResourceArn string }

type capacityUnits struct{ CapacityUnits int }

type zonalCapacity struct {
	AvailabilityZone       string
	EffectiveCapacityUnits *float64
	State                  *lbState
}
