package aws

import (
	"fmt"
	"slices"

	"gatehouse.dev/lbmodel"
)

// The types of load balancers.
const (
	typeApplication = "application"
	typeNetwork     = "network"
)

// attributeHost lets targets see the Host as the client sent it.
const attributeHost = "routing.http.preserve_host_header.enabled"

// LoadBalancer is one Application or Network Load Balancer. Type, scheme and virtual
// network cannot be changed.
type LoadBalancer struct {
	Type           string            `json:"type"`
	Scheme         string            `json:"scheme"`
	VPC            string            `json:"vpc,omitzero"`         // "" is that of the subnets
	Subnets        []string          `json:"subnets,omitempty"`    // by ID
	SubnetTags     map[string]string `json:"subnetTags,omitempty"` // how to find them otherwise
	IPAddressType  string            `json:"ipAddressType"`        // ipv4, dualstack
	SecurityGroups []Ref             `json:"securityGroups,omitempty"`
	ForeignGroups  []string          `json:"foreignGroups,omitempty"` // security groups of the operator's, by ID
	Attributes     map[string]string `json:"attributes,omitempty"`    // by AWS's keys; others have AWS's defaults
	Labels         map[string]string `json:"labels,omitempty"`        // tags that the gateway asks for
	Inner          bool              `json:"inner,omitzero"`          // it stands behind another one, and clients do not know it

	site   site
	source lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (l *LoadBalancer) Needs() []lbmodel.ID { return needs(l.SecurityGroups...) }

// Sources implements lbmodel.Sourced.
func (l *LoadBalancer) Sources() []lbmodel.Source { return sources(l.source) }

// Impact implements lbmodel.Explained.
func (l *LoadBalancer) Impact(verb lbmodel.Verb, have lbmodel.Spec) string {
	old, ok := have.(*LoadBalancer)
	switch {
	case verb == lbmodel.Delete:
		return "The load balancer's DNS name goes and cannot be had again; clients that still use it lose the gateway."
	case verb == lbmodel.Update && ok && losesSubnet(old.Subnets, l.Subnets):
		return "The load balancer leaves a zone; connections through that zone end."
	case verb == lbmodel.Update && ok && old.IPAddressType == familyDual && l.IPAddressType == familyIPv4:
		return "The load balancer loses its IPv6 addresses; clients that come by them lose the gateway."
	default:
		return ""
	}
}

func losesSubnet(old, now []string) bool {
	return len(now) > 0 && slices.ContainsFunc(old, func(s string) bool { return !slices.Contains(now, s) })
}

// Address is where a load balancer is reached, once it is in service: which takes AWS
// some minutes, in which everything in it is made already. It comes and goes with its
// load balancer.
type Address struct {
	LoadBalancer Ref  `json:"loadBalancer"`
	Inner        bool `json:"inner,omitzero"`

	source lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (a *Address) Needs() []lbmodel.ID { return needs(a.LoadBalancer) }

// Sources implements lbmodel.Sourced.
func (a *Address) Sources() []lbmodel.Source { return sources(a.source) }

// addressID is the address of a load balancer.
func addressID(balancer lbmodel.ID) lbmodel.ID {
	balancer.Kind = KindAddress
	return balancer
}

// SecurityGroup is the security group of one load balancer. Its name and virtual
// network cannot be changed. Everything may go out.
type SecurityGroup struct {
	VPC     string    `json:"vpc,omitzero"`      // "" is that of the load balancer's subnets
	Ingress []Ingress `json:"ingress,omitempty"` // sorted

	site   site
	source lbmodel.Source
}

// site is how a virtual network is found that is not named: it is no property of what
// stands in it.
type site struct {
	scheme  string
	subnets []string
	tags    map[string]string
}

// Ingress lets clients in at one port.
type Ingress struct {
	Protocol string `json:"protocol"` // tcp, udp
	Port     int32  `json:"port"`
	CIDR     string `json:"cidr,omitzero"`
	Group    Ref    `json:"group,omitzero"` // whoever has this security group
}

// Needs implements lbmodel.Spec.
func (g *SecurityGroup) Needs() []lbmodel.ID {
	refs := make([]Ref, 0, len(g.Ingress))
	for _, in := range g.Ingress {
		refs = append(refs, in.Group)
	}
	return needs(refs...)
}

// Sources implements lbmodel.Sourced.
func (g *SecurityGroup) Sources() []lbmodel.Source { return sources(g.source) }

// SecurityGroupRule lets load balancers into a security group of their targets', which
// is the operator's. It is shared by the gateways of a cluster, and nothing in it can
// be changed.
type SecurityGroupRule struct {
	Into     string `json:"into"` // by ID
	From     Ref    `json:"from"`
	Protocol string `json:"protocol"` // tcp, udp, on all ports
}

// Needs implements lbmodel.Spec.
func (r *SecurityGroupRule) Needs() []lbmodel.ID { return needs(r.From) }

// Listener is one port of a load balancer. Where it listens, and whether for HTTP,
// connections or datagrams, cannot be changed.
type Listener struct {
	LoadBalancer Ref    `json:"loadBalancer"`
	Port         int32  `json:"port"`
	Protocol     string `json:"protocol"` // HTTP, HTTPS, TCP, TLS, UDP
	TLSPolicy    string `json:"tlsPolicy,omitzero"`
	Certificate  Ref    `json:"certificate,omitzero"` // the one that is served without a server name
	TrustStore   Ref    `json:"trustStore,omitzero"`  // clients must have a certificate of its roots
	Default      Action `json:"default"`

	sources []lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (l *Listener) Needs() []lbmodel.ID {
	return needs(append([]Ref{l.LoadBalancer, l.Certificate, l.TrustStore}, l.Default.needs()...)...)
}

// Slot implements lbmodel.Slotted: a port of the load balancer, whatever the
// protocol.
func (l *Listener) Slot() string { return fmt.Sprintf("%s port %d", l.LoadBalancer, l.Port) }

// Impact implements lbmodel.Explained.
func (l *Listener) Impact(verb lbmodel.Verb, have lbmodel.Spec) string {
	old, ok := have.(*Listener)
	switch {
	case verb == lbmodel.Delete:
		return fmt.Sprintf("Port %d stops answering.", l.Port)
	case verb == lbmodel.Update && ok && old.Protocol != l.Protocol:
		return fmt.Sprintf("Port %d speaks %s and no longer %s; clients that go on as before fail.", l.Port, l.Protocol, old.Protocol)
	case verb == lbmodel.Update && ok && old.TrustStore == "" && l.TrustStore != "":
		return fmt.Sprintf("Port %d demands client certificates from now on; clients without one are refused.", l.Port)
	default:
		return ""
	}
}

// Sources implements lbmodel.Sourced.
func (l *Listener) Sources() []lbmodel.Source { return l.sources }

// ListenerCertificate is one more certificate of a listener, chosen by server name.
type ListenerCertificate struct {
	Listener    Ref `json:"listener"`
	Certificate Ref `json:"certificate"`

	sources []lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (c *ListenerCertificate) Needs() []lbmodel.ID { return needs(c.Listener, c.Certificate) }

// Sources implements lbmodel.Sourced.
func (c *ListenerCertificate) Sources() []lbmodel.Source { return c.sources }
