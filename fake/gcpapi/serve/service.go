package serve

import "time"

// BackendService is a compute BackendService as the v1 REST API has it, with the
// fields that change traffic.
type BackendService struct {
	Name                  string       `json:"name,omitempty"`
	Protocol              string       `json:"protocol,omitempty"` // HTTP, HTTPS, HTTP2, H2C, GRPC, TCP, SSL, UDP
	PortName              string       `json:"portName,omitempty"`
	LoadBalancingScheme   string       `json:"loadBalancingScheme,omitempty"`
	TimeoutSec            *int32       `json:"timeoutSec,omitempty"` // nil is 30
	Backends              []Backend    `json:"backends,omitempty"`
	HealthChecks          []string     `json:"healthChecks,omitempty"`
	SessionAffinity       string       `json:"sessionAffinity,omitempty"`
	AffinityCookieTTLSec  int32        `json:"affinityCookieTtlSec,omitempty"`
	LocalityLBPolicy      string       `json:"localityLbPolicy,omitempty"`
	ConsistentHash        *Hash        `json:"consistentHash,omitempty"`
	StrongAffinityCookie  *HashCookie  `json:"strongSessionAffinityCookie,omitempty"`
	ConnectionDraining    *Draining    `json:"connectionDraining,omitempty"`
	CustomRequestHeaders  []string     `json:"customRequestHeaders,omitempty"`
	CustomResponseHeaders []string     `json:"customResponseHeaders,omitempty"`
	TLSSettings           *TLSSettings `json:"tlsSettings,omitempty"`
}

// Backend is one group of a backend service.
type Backend struct {
	Group          string   `json:"group,omitempty"`
	BalancingMode  string   `json:"balancingMode,omitempty"`
	CapacityScaler *float64 `json:"capacityScaler,omitempty"` // nil is 1; 0 takes nothing new
}

// Draining is connectionDraining.
type Draining struct {
	DrainingTimeoutSec int32 `json:"drainingTimeoutSec,omitempty"`
}

// Hash is consistentHash.
type Hash struct {
	HTTPCookie     *HashCookie `json:"httpCookie,omitempty"`
	HTTPHeaderName string      `json:"httpHeaderName,omitempty"`
}

// HashCookie is a cookie by which sessions stay.
type HashCookie struct {
	Name string    `json:"name,omitempty"`
	Path string    `json:"path,omitempty"`
	TTL  *Duration `json:"ttl,omitempty"`
}

// TLSSettings (BackendServiceTlsSettings) is how the load balancer meets backends.
type TLSSettings struct {
	SNI                  string `json:"sni,omitempty"`
	SubjectAltNames      []SAN  `json:"subjectAltNames,omitempty"`
	AuthenticationConfig string `json:"authenticationConfig,omitempty"`
	Identity             string `json:"identity,omitempty"`
}

// SAN is one of its fields.
type SAN struct {
	DNSName                   string `json:"dnsName,omitempty"`
	UniformResourceIdentifier string `json:"uniformResourceIdentifier,omitempty"`
}

// defaultTimeout is a backend service's timeoutSec when none is set.
const defaultTimeout = 30 * time.Second

// Timeout is the service's own time for an answer.
func (s *BackendService) Timeout() time.Duration {
	if s.TimeoutSec == nil {
		return defaultTimeout
	}
	return time.Duration(*s.TimeoutSec) * time.Second
}
