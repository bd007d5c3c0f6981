package gcp

import (
	"gatehouse.dev/lbmodel"
)

// BackendService is how the endpoints of a pool are spoken to. Its scheme cannot be
// changed.
type BackendService struct {
	LoadBalancingScheme string       `json:"loadBalancingScheme"`
	Protocol            string       `json:"protocol"` // HTTP, HTTPS, HTTP2, H2C, TCP, UDP
	Backends            []Backend    `json:"backends,omitempty"`
	HealthChecks        []Ref        `json:"healthChecks,omitempty"`
	TimeoutSec          int32        `json:"timeoutSec,omitzero"`
	ConnectionDraining  Draining     `json:"connectionDraining"`
	SessionAffinity     string       `json:"sessionAffinity"`
	StrongCookie        *Cookie      `json:"strongSessionAffinityCookie,omitzero"`
	TLSSettings         *TLSSettings `json:"tlsSettings,omitzero"`

	sources  []lbmodel.Source
	hop      string // the model's name of the pool
	presents bool   // its authentication shows a client certificate
	firewall Ref    // the rule of ours that lets probes and proxies reach its endpoints
}

// Backend is one network endpoint group.
type Backend struct {
	Group                     Ref     `json:"group"`
	BalancingMode             string  `json:"balancingMode,omitzero"` // RATE, CONNECTION; none for internet endpoints
	MaxRatePerEndpoint        float64 `json:"maxRatePerEndpoint,omitzero"`
	MaxConnectionsPerEndpoint int32   `json:"maxConnectionsPerEndpoint,omitzero"`
}

// Draining is how long what goes may finish.
type Draining struct {
	DrainingTimeoutSec int32 `json:"drainingTimeoutSec"`
}

// Cookie keeps a client at its endpoint.
type Cookie struct {
	Name string    `json:"name"`
	Path string    `json:"path"`
	TTL  *Duration `json:"ttl,omitzero"`
}

// TLSSettings are what of the backend's certificate is verified, and what is shown to
// it.
type TLSSettings struct {
	SNI                  string   `json:"sni,omitzero"`
	SubjectAltNames      []SAN    `json:"subjectAltNames,omitempty"`
	AuthenticationConfig NamedRef `json:"authenticationConfig,omitzero"`
}

// SAN is one of the names of which a backend must have one.
type SAN struct {
	DNSName                   string `json:"dnsName,omitzero"`
	UniformResourceIdentifier string `json:"uniformResourceIdentifier,omitzero"`
}

// Needs implements lbmodel.Spec.
func (b *BackendService) Needs() []lbmodel.ID {
	refs := append([]Ref{b.firewall}, b.HealthChecks...)
	for _, backend := range b.Backends {
		refs = append(refs, backend.Group)
	}
	if b.TLSSettings != nil {
		refs = append(refs, Ref(b.TLSSettings.AuthenticationConfig))
	}
	return needs(refs...)
}

// Sources implements lbmodel.Sourced.
func (b *BackendService) Sources() []lbmodel.Source { return b.sources }

// HealthCheck finds out which endpoints answer. Its type and port are its name; the
// rest can be changed. Gateways share it.
type HealthCheck struct {
	Type               string     `json:"type"` // TCP, HTTP, HTTPS, HTTP2, GRPC, GRPC_WITH_TLS
	CheckIntervalSec   int32      `json:"checkIntervalSec"`
	TimeoutSec         int32      `json:"timeoutSec"`
	HealthyThreshold   int32      `json:"healthyThreshold"`
	UnhealthyThreshold int32      `json:"unhealthyThreshold"`
	TCP                *HTTPProbe `json:"tcpHealthCheck,omitzero"`
	HTTP               *HTTPProbe `json:"httpHealthCheck,omitzero"`
	HTTPS              *HTTPProbe `json:"httpsHealthCheck,omitzero"`
	HTTP2              *HTTPProbe `json:"http2HealthCheck,omitzero"`
	GRPC               *GRPCProbe `json:"grpcHealthCheck,omitzero"`
	GRPCTLS            *GRPCProbe `json:"grpcTlsHealthCheck,omitzero"`

	source lbmodel.Source
}

// HTTPProbe is a request; of TCP its port only.
type HTTPProbe struct {
	PortSpecification string `json:"portSpecification"` // USE_FIXED_PORT, USE_SERVING_PORT
	Port              int32  `json:"port,omitzero"`
	RequestPath       string `json:"requestPath,omitzero"`
	Host              string `json:"host,omitzero"`
}

// GRPCProbe is a call of grpc.health.v1.Health.
type GRPCProbe struct {
	PortSpecification string `json:"portSpecification"`
	Port              int32  `json:"port,omitzero"`
	GRPCServiceName   string `json:"grpcServiceName,omitzero"`
}

// Needs implements lbmodel.Spec.
func (h *HealthCheck) Needs() []lbmodel.ID { return nil }

// Sources implements lbmodel.Sourced.
func (h *HealthCheck) Sources() []lbmodel.Source { return sources(h.source) }

// NetworkEndpointGroup is a group of endpoints in one zone, or on the internet. Nothing
// in it can be changed; gateways share it.
type NetworkEndpointGroup struct {
	NetworkEndpointType string `json:"networkEndpointType"`
	Network             Ref    `json:"network,omitzero"`
	Subnetwork          Ref    `json:"subnetwork,omitzero"`

	source lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (g *NetworkEndpointGroup) Needs() []lbmodel.ID { return nil }

// Sources implements lbmodel.Sourced.
func (g *NetworkEndpointGroup) Sources() []lbmodel.Source { return sources(g.source) }

// NetworkEndpoints are who is attached to a network endpoint group, whose name they
// have. They go with it.
type NetworkEndpoints struct {
	Group     Ref        `json:"group"`
	Endpoints []Endpoint `json:"networkEndpoints"` // sorted
	// Unknown says, in a Spec only, that the endpoints are not known here: those that
	// are there stay.
	Unknown bool `json:"unknown,omitzero"`

	source lbmodel.Source
}

// Endpoint is one of them.
type Endpoint struct {
	Instance  string `json:"instance,omitzero"` // by its name, in the zone
	IPAddress string `json:"ipAddress,omitzero"`
	FQDN      string `json:"fqdn,omitzero"`
	Port      int32  `json:"port,omitzero"`
}

// Needs implements lbmodel.Spec.
func (e *NetworkEndpoints) Needs() []lbmodel.ID { return needs(e.Group) }

// Sources implements lbmodel.Sourced.
func (e *NetworkEndpoints) Sources() []lbmodel.Source { return sources(e.source) }

// Flows implements lbmodel.Flowing: endpoints come and go.
func (e *NetworkEndpoints) Flows(have lbmodel.Spec) bool {
	old, ok := have.(*NetworkEndpoints)
	return ok && old.Group == e.Group
}

// Structure implements lbmodel.Flowing.
func (e *NetworkEndpoints) Structure() lbmodel.Spec {
	return &NetworkEndpoints{Group: e.Group, Unknown: true, source: e.source}
}

func (e *NetworkEndpoints) wire() any {
	return struct {
		NetworkEndpoints []Endpoint `json:"networkEndpoints"`
	}{e.Endpoints}
}
