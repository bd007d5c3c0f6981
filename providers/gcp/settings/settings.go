// Package settings is the Google Cloud provider's own section of GatewayParameters. It
// is plain data with no imports of ours: the API embeds it, the provider reads it, and
// there is one definition. It checks nothing. Start with [Settings].
//
// +kubebuilder:object:generate=true
package settings

// Settings configures the Google Cloud provider for the gateways of a class.
type Settings struct {
	// Project is the project that the load balancers are in, by its ID.
	// +required
	// +kubebuilder:validation:Pattern=`^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$`
	Project string `json:"project"`
	// Flavour is the kind of load balancer. The first four are Application Load
	// Balancers for HTTP and HTTPS listeners, with proxy Network Load Balancers for TCP
	// and TLS ones at the same address. The Passthrough ones serve TCP and UDP, at nodes
	// that answer at the gateway's own address. Another flavour is another address.
	// +required
	// +kubebuilder:validation:Enum=GlobalExternal;RegionalExternal;RegionalInternal;CrossRegionInternal;PassthroughExternal;PassthroughInternal
	Flavour Flavour `json:"flavour"`
	// Location is the region of a regional flavour, such as europe-west1. For the
	// others it is global, and may be left out.
	// +optional
	// +kubebuilder:validation:Pattern=`^(global|[a-z]+(-[a-z]+)+[0-9]+)$`
	Location string `json:"location,omitempty"`
	// Network is the VPC network of the endpoints, by its name, or as
	// projects/PROJECT/global/networks/NAME in a Shared VPC. Unset is default.
	// +optional
	Network string `json:"network,omitempty"`
	// Subnetwork is where internal addresses are, by its name or as
	// projects/PROJECT/regions/REGION/subnetworks/NAME. It is required for
	// RegionalInternal and PassthroughInternal.
	// +optional
	Subnetwork string `json:"subnetwork,omitempty"`
	// NodeSubnetwork is that of the nodes, by its name in the region of each zone. It is
	// required for Passthrough flavours. Unset is any of the network.
	// +optional
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`
	NodeSubnetwork string `json:"nodeSubnetwork,omitempty"`
	// Frontends are the regions in which a CrossRegionInternal gateway has an address.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=region
	Frontends []Frontend `json:"frontends,omitempty"`
	// Zones are those that the cluster's nodes are in, such as europe-west1-b.
	// Endpoints elsewhere get no traffic.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=48
	// +listType=set
	Zones []string `json:"zones"`
	// EndpointType is how endpoints are registered: as addresses of instances of the
	// network (GCE_VM_IP_PORT), or as addresses that are reached through it
	// (NON_GCP_PRIVATE_IP_PORT), for clusters elsewhere. Unset is GCE_VM_IP_PORT.
	// Passthrough flavours register nodes (GCE_VM_IP) whatever this says.
	// +optional
	// +kubebuilder:validation:Enum=GCE_VM_IP_PORT;NON_GCP_PRIVATE_IP_PORT
	EndpointType string `json:"endpointType,omitempty"`
	// Firewall says what is done so that probes and proxies reach endpoints. Managed
	// makes a firewall rule for each Service; Report makes none and tells with which
	// command to make the ones that are missing; None looks at none. Unset is Managed.
	// +optional
	// +kubebuilder:validation:Enum=Managed;Report;None
	Firewall FirewallMode `json:"firewall,omitempty"`
	// TargetTags are the network tags of the nodes: firewall rules are for instances
	// with one of them only. Unset is every instance of the network.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	TargetTags []string `json:"targetTags,omitempty"`
	// ProxyRanges are the address ranges of the proxy-only subnets, as CIDRs, which
	// requests of regional and internal flavours come from.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	ProxyRanges []string `json:"proxyRanges,omitempty"`
	// GlobalAccess lets clients of other regions in to regional internal flavours.
	// +optional
	GlobalAccess bool `json:"globalAccess,omitempty"`
	// NetworkTier is that of regional external addresses; unset is PREMIUM.
	// +optional
	// +kubebuilder:validation:Enum=PREMIUM;STANDARD
	NetworkTier string `json:"networkTier,omitempty"`
	// SSLPolicy is the name of an existing SSL policy for HTTPS listeners. Unset is
	// Google's default.
	// +optional
	SSLPolicy string `json:"sslPolicy,omitempty"`
	// TimeoutSeconds is how long a backend may take where no route says so; unset is 30.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// DrainSeconds is how long requests to an endpoint that goes may go on; unset is 60.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	DrainSeconds int32 `json:"drainSeconds,omitempty"`
	// Held are objects of somebody else that gateways use. They are never changed,
	// labelled or deleted.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Held []Held `json:"held,omitempty"`
	// Assume are facts about Google Cloud that its documentation leaves open and that
	// the operator vouches for. Each makes features offered that are refused without it.
	// +optional
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	Assume []Assumption `json:"assume,omitempty"`
	// Quotas are the project's, where they are not Google's defaults.
	// +optional
	Quotas Quotas `json:"quotas,omitzero"`
}

// Flavour is a kind of load balancer.
type Flavour string

// The flavours.
const (
	GlobalExternal      Flavour = "GlobalExternal"
	RegionalExternal    Flavour = "RegionalExternal"
	RegionalInternal    Flavour = "RegionalInternal"
	CrossRegionInternal Flavour = "CrossRegionInternal"
	PassthroughExternal Flavour = "PassthroughExternal"
	PassthroughInternal Flavour = "PassthroughInternal"
)

// FirewallMode says who makes firewall rules.
type FirewallMode string

// The modes; "" is Managed.
const (
	FirewallManaged FirewallMode = "Managed"
	FirewallReport  FirewallMode = "Report"
	FirewallNone    FirewallMode = "None"
)

// Frontend is where a CrossRegionInternal gateway has an address.
type Frontend struct {
	// +required
	Region string `json:"region"`
	// Subnetwork is that of the address, by its name or its path.
	// +required
	Subnetwork string `json:"subnetwork"`
}

// Held names one object of somebody else.
type Held struct {
	// Kind is BackendService.
	// +required
	// +kubebuilder:validation:Enum=BackendService
	Kind string `json:"kind"`
	// Name is that of the object, in the location of the gateway.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`
	Name string `json:"name"`
	// For is the Service port that it stands for, as NAMESPACE/NAME:PORT: routes to it
	// lead to the held backend service, whatever that does with them.
	// +required
	// +kubebuilder:validation:Pattern=`^[^/]+/[^/]+:[0-9]+$`
	For string `json:"for"`
}

// Assumption is something about Google Cloud that is not documented.
//
// +kubebuilder:validation:Enum=HeaderValuesCaseSensitive;HostPortIgnored;CORSByLoadBalancer
type Assumption string

// The assumptions.
const (
	// HeaderValuesCaseSensitive: a match on a header tells upper from lower case. It
	// makes matches on headers offered whose values have letters.
	HeaderValuesCaseSensitive Assumption = "HeaderValuesCaseSensitive"
	// HostPortIgnored: a host of a host rule takes requests that name a port too. It
	// makes rules without a hostname, or with a wildcard, served by HTTP listeners of
	// other ports than 80, and HTTPS ones of other ports than 443.
	HostPortIgnored Assumption = "HostPortIgnored"
	// CORSByLoadBalancer: the load balancer answers the preflights of allowed origins
	// itself, and forwards requests of others without further headers. It makes CORS
	// offered.
	CORSByLoadBalancer Assumption = "CORSByLoadBalancer"
)

// Quotas are limits of the project; zero is Google's default.
type Quotas struct {
	// +optional
	URLMapBytes int `json:"urlMapBytes,omitempty"` // 65536, of internal flavours 131072
	// +optional
	HostsPerURLMap int `json:"hostsPerURLMap,omitempty"` // 1000, of internal flavours 2000
	// +optional
	PredicatesPerHost int `json:"predicatesPerHost,omitempty"` // 1000
	// +optional
	BackendServicesPerURLMap int `json:"backendServicesPerURLMap,omitempty"` // 2500
	// +optional
	ServerNamesPerRoute int `json:"serverNamesPerRoute,omitempty"` // 16
	// +optional
	ForwardingRulesPerAddress int `json:"forwardingRulesPerAddress,omitempty"` // 10, of internal flavours
}
