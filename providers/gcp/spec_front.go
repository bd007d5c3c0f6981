package gcp

import (
	"fmt"

	"gatehouse.dev/lbmodel"
)

// Address is a reserved IP address. Nothing in it but its labels can be changed.
type Address struct {
	AddressType string            `json:"addressType"`         // EXTERNAL, INTERNAL
	Address     string            `json:"address,omitzero"`    // of an internal one that is asked for by value
	IPVersion   string            `json:"ipVersion,omitzero"`  // IPV4, IPV6, of global ones
	Purpose     string            `json:"purpose,omitzero"`    // SHARED_LOADBALANCER_VIP
	Subnetwork  Ref               `json:"subnetwork,omitzero"` // of internal ones
	NetworkTier string            `json:"networkTier,omitzero"`
	Labels      map[string]string `json:"labels,omitempty"`

	source lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (a *Address) Needs() []lbmodel.ID { return nil }

// Sources implements lbmodel.Sourced.
func (a *Address) Sources() []lbmodel.Source { return sources(a.source) }

// Slot implements lbmodel.Slotted: an address that is asked for by value.
func (a *Address) Slot() string {
	if a.Address == "" {
		return ""
	}
	return fmt.Sprintf("address %s in %s", a.Address, a.Subnetwork)
}

// Impact implements lbmodel.Explained.
func (a *Address) Impact(verb lbmodel.Verb, _ lbmodel.Spec) string {
	if verb != lbmodel.Delete {
		return ""
	}
	return "The address is released; clients that still use it lose the gateway, and it may not be had again."
}

// ForwardingRule is one port of one address. Where it leads and its labels can be
// changed.
type ForwardingRule struct {
	IPAddress           Ref               `json:"IPAddress"`
	IPProtocol          string            `json:"IPProtocol"` // TCP, UDP
	PortRange           string            `json:"portRange,omitzero"`
	Ports               []string          `json:"ports,omitempty"` // of passthrough flavours
	LoadBalancingScheme string            `json:"loadBalancingScheme"`
	Target              Ref               `json:"target,omitzero"`
	BackendService      Ref               `json:"backendService,omitzero"` // of passthrough flavours
	Network             Ref               `json:"network,omitzero"`
	Subnetwork          Ref               `json:"subnetwork,omitzero"`
	NetworkTier         string            `json:"networkTier,omitzero"`
	AllowGlobalAccess   bool              `json:"allowGlobalAccess,omitzero"`
	Labels              map[string]string `json:"labels,omitempty"`

	port    int32
	sources []lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (f *ForwardingRule) Needs() []lbmodel.ID {
	return needs(f.IPAddress, f.Target, f.BackendService)
}

// Slot implements lbmodel.Slotted: a port of the address.
func (f *ForwardingRule) Slot() string {
	return fmt.Sprintf("%s %s/%s", f.IPAddress, f.IPProtocol, f.portText())
}

func (f *ForwardingRule) portText() string {
	if len(f.Ports) > 0 {
		return f.Ports[0]
	}
	return f.PortRange
}

// Impact implements lbmodel.Explained.
func (f *ForwardingRule) Impact(verb lbmodel.Verb, _ lbmodel.Spec) string {
	if verb != lbmodel.Delete {
		return ""
	}
	return fmt.Sprintf("Port %s (%s) stops answering.", f.portText(), f.IPProtocol)
}

// Sources implements lbmodel.Sourced.
func (f *ForwardingRule) Sources() []lbmodel.Source { return f.sources }

// TargetHTTPProxy serves HTTP by a URL map.
type TargetHTTPProxy struct {
	URLMap Ref `json:"urlMap"`

	sources []lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (p *TargetHTTPProxy) Needs() []lbmodel.ID { return needs(p.URLMap) }

// Sources implements lbmodel.Sourced.
func (p *TargetHTTPProxy) Sources() []lbmodel.Source { return p.sources }

// TargetHTTPSProxy serves HTTPS by a URL map. It has one of CertificateMap and
// SSLCertificates.
type TargetHTTPSProxy struct {
	URLMap          Ref        `json:"urlMap"`
	CertificateMap  NamedRef   `json:"certificateMap,omitzero"`
	SSLCertificates []NamedRef `json:"sslCertificates,omitempty"` // the first is served without a server name
	SSLPolicy       Ref        `json:"sslPolicy,omitzero"`
	ServerTLSPolicy NamedRef   `json:"serverTlsPolicy,omitzero"`

	demands bool // clients must have a certificate
	sources []lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (p *TargetHTTPSProxy) Needs() []lbmodel.ID {
	refs := []Ref{p.URLMap, Ref(p.CertificateMap), Ref(p.ServerTLSPolicy)}
	for _, c := range p.SSLCertificates {
		refs = append(refs, Ref(c))
	}
	return needs(refs...)
}

// Sources implements lbmodel.Sourced.
func (p *TargetHTTPSProxy) Sources() []lbmodel.Source { return p.sources }

// Impact implements lbmodel.Explained.
func (p *TargetHTTPSProxy) Impact(verb lbmodel.Verb, have lbmodel.Spec) string {
	old, ok := have.(*TargetHTTPSProxy)
	if verb == lbmodel.Update && ok && p.demands && old.ServerTLSPolicy != p.ServerTLSPolicy {
		return "Clients must show a certificate of these roots from now on; those without one are refused."
	}
	return ""
}

// TargetTCPProxy sends connections to a backend service. Regional ones cannot be
// changed at all, so another service is another proxy.
type TargetTCPProxy struct {
	Service Ref `json:"service"`

	sources []lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (p *TargetTCPProxy) Needs() []lbmodel.ID { return needs(p.Service) }

// Sources implements lbmodel.Sourced.
func (p *TargetTCPProxy) Sources() []lbmodel.Source { return p.sources }

// Firewall lets probes, proxies or clients reach endpoints.
type Firewall struct {
	Network      Ref       `json:"network"`
	Direction    string    `json:"direction"` // INGRESS
	SourceRanges []string  `json:"sourceRanges"`
	TargetTags   []string  `json:"targetTags,omitempty"`
	Allowed      []Allowed `json:"allowed"`
	Disabled     bool      `json:"disabled,omitzero"` // it lets nobody in
	// Unknown says, in a Spec only, that no ports are known here: those that are there
	// stay.
	Unknown bool `json:"unknown,omitzero"`

	source lbmodel.Source
}

// Allowed is a protocol with its ports.
type Allowed struct {
	IPProtocol string   `json:"IPProtocol"` // tcp, udp
	Ports      []string `json:"ports,omitempty"`
}

// Needs implements lbmodel.Spec.
func (f *Firewall) Needs() []lbmodel.ID { return nil }

// Sources implements lbmodel.Sourced.
func (f *Firewall) Sources() []lbmodel.Source { return sources(f.source) }

// Flows implements lbmodel.Flowing: ports come and go with endpoints.
func (f *Firewall) Flows(have lbmodel.Spec) bool {
	old, ok := have.(*Firewall)
	return ok && lbmodel.DigestOf(f.Structure()) == lbmodel.DigestOf(old.Structure())
}

// Structure implements lbmodel.Flowing: who is let in, and where.
func (f *Firewall) Structure() lbmodel.Spec {
	out := *f
	out.Allowed, out.Disabled, out.Unknown = nil, false, true
	return &out
}
