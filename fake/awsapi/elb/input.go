package elb

// The inputs of the actions. A list that was not given is nil, one that was given
// empty is not.

type createLoadBalancer struct {
	Name                         string
	CustomerOwnedIpv4Pool        string
	EnablePrefixForIpv6SourceNat string
	IpAddressType                string
	IpamPools                    *ipamPools
	Scheme                       string
	SecurityGroups               []string
	SubnetMappings               []subnetMapping
	Subnets                      []string
	Tags                         []tag
	Type                         string
}

type setSubnets struct {
	LoadBalancerArn              string
	EnablePrefixForIpv6SourceNat string
	IpAddressType                string
	SubnetMappings               []subnetMapping
	Subnets                      []string
}

type setSecurityGroups struct {
	LoadBalancerArn                                      string
	SecurityGroups                                       []string
	EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic string
}

type setIPAddressType struct{ LoadBalancerArn, IpAddressType string }

type describeLoadBalancers struct {
	LoadBalancerArns []string
	Names            []string
	Marker           string
	PageSize         *int
}

// ofLoadBalancer, ofListener, ofRule, ofTargetGroup and ofTrustStore are inputs
// that only say which.
type (
	ofLoadBalancer struct{ LoadBalancerArn string }
	ofListener     struct{ ListenerArn string }
	ofRule         struct{ RuleArn string }
	ofTargetGroup  struct{ TargetGroupArn string }
	ofTrustStore   struct{ TrustStoreArn string }
)

type modifyLoadBalancerAttributes struct {
	LoadBalancerArn string
	Attributes      []attribute
}

type createListener struct {
	LoadBalancerArn      string
	AlpnPolicy           []string
	Certificates         []certificate
	DefaultActions       []action
	MutualAuthentication *mutualAuthentication
	Port                 *int
	Protocol             string
	SslPolicy            string
	Tags                 []tag
}

type modifyListener struct {
	ListenerArn          string
	AlpnPolicy           []string
	Certificates         []certificate
	DefaultActions       []action
	MutualAuthentication *mutualAuthentication
	Port                 *int
	Protocol             string
	SslPolicy            string
}

type describeListeners struct {
	ListenerArns    []string
	LoadBalancerArn string
	Marker          string
	PageSize        *int
}

type listenerCertificates struct {
	ListenerArn  string
	Certificates []certificate
}

type describeListenerCertificates struct {
	ListenerArn string
	Marker      string
	PageSize    *int
}

type modifyListenerAttributes struct {
	ListenerArn string
	Attributes  []attribute
}

type createRule struct {
	Actions     []action
	Conditions  []condition
	ListenerArn string
	Priority    *int
	Tags        []tag
	Transforms  []transform
}

type modifyRule struct {
	RuleArn         string
	Actions         []action
	Conditions      []condition
	ResetTransforms *bool
	Transforms      []transform
}

type describeRules struct {
	ListenerArn string
	RuleArns    []string
	Marker      string
	PageSize    *int
}

type priorityPair struct {
	Priority *int
	RuleArn  string
}

type setRulePriorities struct{ RulePriorities []priorityPair }

type healthCheck struct {
	HealthCheckEnabled         *bool
	HealthCheckIntervalSeconds *int
	HealthCheckPath            string
	HealthCheckPort            string
	HealthCheckProtocol        string
	HealthCheckTimeoutSeconds  *int
	HealthyThresholdCount      *int
	Matcher                    *matcher
	UnhealthyThresholdCount    *int
}

type createTargetGroup struct {
	healthCheck
	Name              string
	IpAddressType     string
	Port              *int
	Protocol          string
	ProtocolVersion   string
	Tags              []tag
	TargetControlPort *int
	TargetType        string
	VpcId             string
}

type modifyTargetGroup struct {
	healthCheck
	TargetGroupArn string
}

type describeTargetGroups struct {
	LoadBalancerArn string
	Names           []string
	TargetGroupArns []string
	Marker          string
	PageSize        *int
}

type modifyTargetGroupAttributes struct {
	TargetGroupArn string
	Attributes     []attribute
}

type targets struct {
	TargetGroupArn string
	Targets        []target
}

type describeTargetHealth struct {
	TargetGroupArn string
	Include        []string
	Targets        []target
}

type addTags struct {
	ResourceArns []string
	Tags         []tag
}

type removeTags struct{ ResourceArns, TagKeys []string }

type describeTags struct{ ResourceArns []string }

type describeSSLPolicies struct {
	LoadBalancerType string
	Names            []string
	Marker           string
	PageSize         *int
}

type bundle struct {
	CaCertificatesBundleS3Bucket        string
	CaCertificatesBundleS3Key           string
	CaCertificatesBundleS3ObjectVersion string
}

type createTrustStore struct {
	bundle
	Name string
	Tags []tag
}

type modifyTrustStore struct {
	bundle
	TrustStoreArn string
}

type describeTrustStores struct {
	Names          []string
	TrustStoreArns []string
	Marker         string
	PageSize       *int
}

type describeTrustStoreAssociations struct {
	TrustStoreArn string
	Marker        string
	PageSize      *int
}

type addRevocations struct {
	TrustStoreArn      string
	RevocationContents []revocationContent
}

type removeRevocations struct {
	TrustStoreArn string
	RevocationIds []int
}

type describeRevocations struct {
	TrustStoreArn string
	RevocationIds []int
	Marker        string
	PageSize      *int
}

type ofRevocation struct {
	TrustStoreArn string
	RevocationId  *int
}

type ofSharedAssociation struct{ ResourceArn, TrustStoreArn string }

type ofResource struct{ ResourceArn string }

type modifyCapacityReservation struct {
	LoadBalancerArn             string
	MinimumLoadBalancerCapacity *capacityUnits
	ResetCapacityReservation    *bool
}

type modifyIPPools struct {
	LoadBalancerArn string
	IpamPools       *ipamPools
	RemoveIpamPools []string
}
