// Package settings is the AWS provider's own section of GatewayParameters. It is
// plain data with no imports of ours: the API embeds it, the provider reads it,
// and there is one definition. It checks nothing. Start with [Settings].
//
// +kubebuilder:object:generate=true
package settings

// Settings configures the AWS provider for the gateways of a class.
type Settings struct {
	// Region is where the load balancers live, such as eu-west-1.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z]{2,}(-[a-z]+)+-[0-9]+$`
	Region string `json:"region"`
	// Flavour is the kind of load balancer. Unset, the listeners say: HTTP and HTTPS
	// are an Application, TCP, UDP and TLS a Network Load Balancer, and a gateway
	// with both gets its HTTP and HTTPS listeners only. Application and Network offer
	// nothing of the other kind. ApplicationBehindNetwork serves both at the address
	// of a Network Load Balancer, with an internal Application Load Balancer as its
	// target. Another flavour is another load balancer at another address.
	// +optional
	// +kubebuilder:validation:Enum=Application;Network;ApplicationBehindNetwork
	Flavour Flavour `json:"flavour,omitempty"`
	// Scheme says who can reach the address; unset is internal. Another scheme is
	// another load balancer at another address.
	// +optional
	// +kubebuilder:validation:Enum=internet-facing;internal
	Scheme string `json:"scheme,omitempty"`
	// VPC is the virtual network (vpc-…) of targets and security groups. Unset is that
	// of the subnets. Another one is another load balancer.
	// +optional
	// +kubebuilder:validation:Pattern=`^vpc-[0-9a-f]+$`
	VPC string `json:"vpc,omitempty"`
	// Subnets are where the load balancers stand, by ID (subnet-…), one in each zone.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	Subnets []string `json:"subnets,omitempty"`
	// SubnetTags find the subnets when none is named: those that have all of the
	// tags. An empty value is any value. Without both, subnets are found by where
	// their routes lead: to an internet gateway for internet-facing, else elsewhere.
	// +optional
	// +kubebuilder:validation:MaxProperties=8
	SubnetTags map[string]string `json:"subnetTags,omitempty"`
	// IPAddressType says whether clients can come by IPv6 too; unset is ipv4.
	// +optional
	// +kubebuilder:validation:Enum=ipv4;dualstack
	IPAddressType string `json:"ipAddressType,omitempty"`
	// SecurityGroups (sg-…) are attached instead of one of Gatehouse's own. Who may
	// connect is theirs to say then, and source ranges are not offered.
	// +optional
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	SecurityGroups []string `json:"securityGroups,omitempty"`
	// TargetSecurityGroups (sg-…) are those of the targets, such as the nodes'. The load
	// balancers of the cluster are let into each by one rule, that of a security group
	// which they all have. Nothing else in them is touched. It needs the VPC, and no
	// SecurityGroups.
	// +optional
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	TargetSecurityGroups []string `json:"targetSecurityGroups,omitempty"`
	// TargetType is how endpoints are registered: by their IP addresses, or as
	// instances at a node port. Unset is ip.
	// +optional
	// +kubebuilder:validation:Enum=ip;instance
	TargetType string `json:"targetType,omitempty"`
	// TargetFamily is the IP family of the endpoints that are registered, since a
	// target group has one; unset is ipv4.
	// +optional
	// +kubebuilder:validation:Enum=ipv4;ipv6
	TargetFamily string `json:"targetFamily,omitempty"`
	// TLSPolicy is the security policy of HTTPS and TLS listeners; unset is
	// ELBSecurityPolicy-TLS13-1-2-2021-06.
	// +optional
	// +kubebuilder:validation:Pattern=`^ELBSecurityPolicy-[A-Za-z0-9-]+$`
	TLSPolicy string `json:"tlsPolicy,omitempty"`
	// AccessLogs turns access logs on.
	// +optional
	AccessLogs *AccessLogs `json:"accessLogs,omitempty"`
	// Trust is where the roots that clients are verified by are put. Without it,
	// client certificates are not offered.
	// +optional
	Trust *TrustBucket `json:"trust,omitempty"`
	// LoadBalancerAttributes are set as they are, by AWS's keys. Those that the
	// meaning of routes depends on are Gatehouse's and are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	LoadBalancerAttributes map[string]string `json:"loadBalancerAttributes,omitempty"`
	// TargetGroupAttributes are set as they are, by AWS's keys.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	TargetGroupAttributes map[string]string `json:"targetGroupAttributes,omitempty"`
	// Held are objects of somebody else that a gateway uses. They are never changed,
	// tagged or deleted.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Held []Held `json:"held,omitempty"`
	// Assume are facts about AWS that its documentation leaves open and that the
	// operator vouches for. Each makes features offered that are refused without it.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	Assume []Assumption `json:"assume,omitempty"`
	// Quotas hold where they are smaller than the account's own, which are asked for.
	// Where nobody can ask, as in a plan without credentials, they hold instead of
	// AWS's defaults.
	// +optional
	Quotas Quotas `json:"quotas,omitzero"`
}

// Flavour is a kind of load balancer, or a pair of them.
type Flavour string

// The flavours; "" goes by the listeners.
const (
	Application              Flavour = "Application"
	Network                  Flavour = "Network"
	ApplicationBehindNetwork Flavour = "ApplicationBehindNetwork"
)

// AccessLogs say where access logs go.
type AccessLogs struct {
	// Bucket is an S3 bucket in the region that allows the log delivery.
	// +required
	// +kubebuilder:validation:MinLength=3
	Bucket string `json:"bucket"`
	// Prefix is what the objects' keys begin with.
	// +optional
	Prefix string `json:"prefix,omitempty"`
}

// TrustBucket says where CA bundles are put.
type TrustBucket struct {
	// Bucket is a versioned S3 bucket in the region.
	// +required
	// +kubebuilder:validation:MinLength=3
	Bucket string `json:"bucket"`
	// Prefix is what the objects' keys begin with; unset is gatehouse/.
	// +optional
	Prefix string `json:"prefix,omitempty"`
}

// Held names one object of somebody else.
type Held struct {
	// Kind is LoadBalancer or Listener.
	// +required
	// +kubebuilder:validation:Enum=LoadBalancer;Listener
	Kind string `json:"kind"`
	// ARN is AWS's name of it.
	// +required
	// +kubebuilder:validation:Pattern=`^arn:[^:]+:elasticloadbalancing:`
	ARN string `json:"arn"`
	// Port is the listener's port: the gateway's listeners of this port put their
	// rules into it. It is for listeners only, and required there.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// Assumption is something about AWS that is not documented.
//
// +kubebuilder:validation:Enum=PathRegexCaseSensitive;HeaderRegexCaseSensitive;RedirectSeesRewrite
type Assumption string

// The assumptions.
const (
	// PathRegexCaseSensitive: a regular expression of a path-pattern condition tells
	// upper from lower case, as a plain value does. It makes regular expressions of
	// paths offered, and paths with characters that plain values cannot have.
	PathRegexCaseSensitive Assumption = "PathRegexCaseSensitive"
	// HeaderRegexCaseSensitive: a regular expression of an http-header condition does,
	// although a plain value does not. It makes matches on headers offered.
	HeaderRegexCaseSensitive Assumption = "HeaderRegexCaseSensitive"
	// RedirectSeesRewrite: #{path} of a redirect is what a rule's rewrite made of
	// the path. It makes redirects to another path offered.
	RedirectSeesRewrite Assumption = "RedirectSeesRewrite"
)

// Quotas are limits of an account; zero is the account's own, or AWS's default.
type Quotas struct {
	// +optional
	RulesPerLoadBalancer int `json:"rulesPerLoadBalancer,omitempty"` // 100
	// +optional
	ConditionValuesPerRule int `json:"conditionValuesPerRule,omitempty"` // 5
	// +optional
	WildcardsPerRule int `json:"wildcardsPerRule,omitempty"` // 5
	// +optional
	TargetGroupsPerLoadBalancer int `json:"targetGroupsPerLoadBalancer,omitempty"` // 100
	// +optional
	TargetsPerGroup int `json:"targetsPerGroup,omitempty"` // 1000
	// +optional
	TargetsPerLoadBalancer int `json:"targetsPerLoadBalancer,omitempty"` // 1000, of a Network one 3000
	// +optional
	CertificatesPerLoadBalancer int `json:"certificatesPerLoadBalancer,omitempty"` // 25, without default ones
	// +optional
	ListenersPerLoadBalancer int `json:"listenersPerLoadBalancer,omitempty"` // 50
	// +optional
	RulesPerSecurityGroup int `json:"rulesPerSecurityGroup,omitempty"` // 60
}
