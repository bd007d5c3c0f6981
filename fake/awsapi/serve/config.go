package serve

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"time"
)

// Config is everything that is served. It is a plain value: after it was given to
// [Server.Apply] it must not be changed. References between its parts are names
// (a control plane would use ARNs); a name that leads nowhere costs whatever uses
// it, never the rest.
type Config struct {
	LoadBalancers  []LoadBalancer
	TargetGroups   []TargetGroup
	TrustStores    []TrustStore
	SecurityGroups []SecurityGroup
	Undocumented   Undocumented // the zero value takes the first position of every switch
}

// Kind is what a load balancer is.
type Kind string

// The kinds that are emulated. Gateway Load Balancers are not.
const (
	Application Kind = "application"
	Network     Kind = "network"
)

// Protocol of a listener, a target group or a health check.
type Protocol string

// The protocols. QUIC is not emulated.
const (
	HTTP   Protocol = "HTTP"
	HTTPS  Protocol = "HTTPS"
	TCP    Protocol = "TCP"
	TLS    Protocol = "TLS"
	UDP    Protocol = "UDP"
	TCPUDP Protocol = "TCP_UDP"
)

// LoadBalancer is one load balancer, wherever its listeners are bound.
type LoadBalancer struct {
	Name string // unique among LoadBalancers
	Kind Kind
	// Attributes are load balancer attributes by AWS's own keys, such as
	// "routing.http.preserve_host_header.enabled". Absent keys have AWS's defaults,
	// keys without an effect on traffic are ignored. Times are seconds, and may have
	// fractions here, so that tests need not wait.
	Attributes map[string]string
	// SecurityGroups are names of Config.SecurityGroups. With none, everything is
	// allowed.
	SecurityGroups []string
	Listeners      []Listener
}

// Listener is one port of a load balancer.
type Listener struct {
	Name     string // unique in its load balancer
	Port     int32  // as clients of AWS would see it: in redirects, X-Forwarded-Port, security groups
	Protocol Protocol
	// Addresses are where the listener is really bound: loopback addresses, each
	// with the port to bind, 0 for any free one. [Server.Bound] says which it became. A
	// socket stays bound while a listener of the same load balancer, Port and
	// transport (TCP or UDP) asks for the same address.
	Addresses []netip.AddrPort
	// Certificates of HTTPS and TLS listeners, the default one first.
	Certificates []tls.Certificate
	// TLSPolicy is the security policy's name. Only the TLS versions that it allows
	// are kept to ("…TLS13-1-3…" is 1.3 only, "…TLS13-1-2…" from 1.2 on; others, and
	// none, from 1.0 on, which the standard library's cipher suites narrow).
	TLSPolicy  string
	ALPN       string            // of TLS listeners: HTTP1Only, HTTP2Only, HTTP2Optional, HTTP2Preferred, None (and "")
	MutualTLS  *MutualTLS        // nil is off
	Attributes map[string]string // by AWS's keys, as LoadBalancer.Attributes
	Rules      []Rule            // in any order
	Default    []Action          // of the default rule
}

// The modes of MutualTLS.
const (
	MutualOff         = "off"
	MutualPassthrough = "passthrough"
	MutualVerify      = "verify"
)

// MutualTLS is a listener's way with client certificates.
type MutualTLS struct {
	Mode             string // off, passthrough, verify
	TrustStore       string // for verify
	IgnoreExpiry     bool   // of client certificates
	AdvertiseCANames bool
}

// Rule is one rule of a listener. The rule with the lowest Priority whose
// conditions all hold acts.
type Rule struct {
	Name       string // for Entry and Explain
	Priority   int32
	Conditions []Condition
	Transforms []Transform
	Actions    []Action // the last one acts: authentication is not emulated
}

// Field is what a condition looks at.
type Field string

// The fields of conditions.
const (
	HostHeader        Field = "host-header"
	PathPattern       Field = "path-pattern"
	HTTPHeader        Field = "http-header"
	HTTPRequestMethod Field = "http-request-method"
	QueryString       Field = "query-string"
	SourceIP          Field = "source-ip"
)

// Condition holds when one of its values does.
type Condition struct {
	Field  Field
	Header string   // the name, for http-header
	Values []string // globs of host, path and header; methods; CIDRs of source-ip
	Regex  []string // RegexValues of host, path and header
	Query  []QueryPair
	// IPAddressType of a Network Load Balancer's source-ip rule: ipv4 or ipv6.
	IPAddressType string
}

// QueryPair is one value of a query-string condition.
type QueryPair struct {
	Key   string // a glob; "" is any key
	Value string // a glob
}

// String is the pair as a query has it.
func (q QueryPair) String() string { return cmp.Or(q.Key, "*") + "=" + q.Value }

// The types of transforms.
const (
	HostHeaderRewrite = "host-header-rewrite"
	URLRewrite        = "url-rewrite"
)

// Transform is a search-and-replace in a request's host or URL.
type Transform struct {
	Type    string
	Regex   string
	Replace string // with $1, $2 …
}

// Action is exactly one of its fields. One without any (an action that is not
// emulated) answers 500.
type Action struct {
	Forward  *Forward
	Redirect *Redirect
	Fixed    *FixedResponse
}

// Forward sends requests or connections to target groups by weight.
type Forward struct {
	Groups     []WeightedGroup
	Stickiness time.Duration // how long a client stays with its group; 0 is off. For a Network Load Balancer any time is on
}

// WeightedGroup is one target group of a Forward.
type WeightedGroup struct {
	Group  string // of Config.TargetGroups
	Weight int32  // 0 to 999; of a single group it has no meaning
}

// Redirect builds a Location. Empty fields are AWS's defaults: #{protocol},
// #{host}, #{port}, /#{path}, #{query}.
type Redirect struct {
	Status                            int // 301 or 302
	Protocol, Host, Port, Path, Query string
}

// FixedResponse is the load balancer's own answer.
type FixedResponse struct {
	Status            int
	ContentType, Body string
}

// The types of targets.
const (
	TargetInstance = "instance"
	TargetIP       = "ip"
	TargetALB      = "alb"
)

// The protocol versions of a target group.
const (
	VersionHTTP1 = "HTTP1"
	VersionHTTP2 = "HTTP2"
	VersionGRPC  = "GRPC"
)

// TargetGroup is a set of targets that are spoken to in one way.
type TargetGroup struct {
	Name       string // unique among TargetGroups
	Type       string // instance, ip, alb
	Protocol   Protocol
	Version    string            // HTTP1 (and "") , HTTP2, GRPC: of HTTP and HTTPS groups
	Attributes map[string]string // by AWS's keys, as LoadBalancer.Attributes
	Health     HealthCheck
	Targets    []Target
}

// Target is one member of a target group. A target that a new Config no longer
// has is gone: what is still in flight to it is cut (502), except flows of a
// Network Load Balancer whose group does not terminate connections.
type Target struct {
	ID string // unique in its group, such as "10.0.3.7:8080"
	// Address is where it really listens.
	Address netip.AddrPort
	// LoadBalancer and Port of a target of type alb name an Application Load Balancer
	// of the same Config and a listener's port, instead of Address. Clients'
	// addresses reach such a target.
	LoadBalancer string
	Port         int32
	// Check is where health checks go when their port is not the traffic port; the
	// zero value is Address with the check's port. A load balancer is always checked
	// where it listens.
	Check netip.AddrPort
	// State is "" while the checks decide. StateDraining takes a target out of new
	// traffic and lets the old finish: a deregistered target is given so until
	// its deregistration delay has run out, and then left out. StateHealthy,
	// StateUnhealthy and StateUnavailable are forced, without any check.
	State State
}

// State is a target's health as DescribeTargetHealth names it.
type State string

// The states of targets.
const (
	StateInitial           State = "initial"
	StateHealthy           State = "healthy"
	StateUnhealthy         State = "unhealthy"
	StateUnhealthyDraining State = "unhealthy.draining"
	StateUnused            State = "unused"
	StateDraining          State = "draining"
	StateUnavailable       State = "unavailable"
)

// HealthCheck of a target group. Zero fields take the default of the group's
// kind: HTTP groups are checked by their protocol at "/" with GET, every 30 s, 5
// passes, 2 failures, matcher 200 (GRPC: /AWS.ALB/healthcheck, 12); TCP groups by
// connecting, 10 s timeout.
type HealthCheck struct {
	Disabled  bool
	Protocol  Protocol
	Port      int32 // 0 is the traffic port
	Path      string
	Interval  time.Duration
	Timeout   time.Duration
	Healthy   int32
	Unhealthy int32
	Matcher   string // codes and ranges: "200,202", "200-299"; gRPC codes of a GRPC group
}

// TrustStore is what MutualTLS verifies with.
type TrustStore struct {
	Name       string
	Roots      []*x509.Certificate
	Revocation []*x509.RevocationList
}

// SecurityGroup is the inbound side of a security group.
type SecurityGroup struct {
	Name    string
	Ingress []SecurityRule
}

// SecurityRule allows what it describes.
type SecurityRule struct {
	Protocol string         // tcp, udp, or "-1" for all (then without ports)
	From, To int32          // Listener.Port, both ends included
	Sources  []netip.Prefix // of clients
	Groups   []string       // security groups of a Network Load Balancer that the connection comes through
}
