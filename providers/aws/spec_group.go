package aws

import (
	"net"

	"gatehouse.dev/lbmodel"
)

// TargetGroup is how the endpoints of a pool are spoken to and tried. All but
// health check and attributes cannot be changed. One load balancer uses it.
//
// It is not lbmodel.Protected: neither kind of load balancer presents a certificate to a
// backend, so no hop of AWS's is mutual TLS that could be given up.
type TargetGroup struct {
	Protocol   string            `json:"protocol"` // HTTP, HTTPS, TCP, TLS, UDP
	Version    string            `json:"version,omitzero"`
	TargetType string            `json:"targetType"` // ip, instance, alb
	Family     string            `json:"family"`     // ipv4, ipv6
	Port       int32             `json:"port"`       // of a target that names none; all do
	VPC        string            `json:"vpc,omitzero"`
	Health     Health            `json:"health"`
	Attributes map[string]string `json:"attributes,omitempty"`

	site    site
	sources []lbmodel.Source
	hop     string // the model's name of the pool
}

// Health is how targets are tried. Times are in seconds.
type Health struct {
	Protocol  string `json:"protocol"`
	Port      int32  `json:"port,omitzero"` // 0 is the target's own
	Path      string `json:"path,omitzero"`
	Matcher   string `json:"matcher,omitzero"`
	Interval  int32  `json:"interval"`
	Timeout   int32  `json:"timeout"`
	Healthy   int32  `json:"healthy"`
	Unhealthy int32  `json:"unhealthy"`
}

// Needs implements lbmodel.Spec.
func (g *TargetGroup) Needs() []lbmodel.ID { return nil }

// Sources implements lbmodel.Sourced.
func (g *TargetGroup) Sources() []lbmodel.Source { return g.sources }

// Hop implements lbmodel.Securing.
func (g *TargetGroup) Hop() string { return g.hop }

// Secures implements lbmodel.Securing: a group speaks TLS or not for as long as it
// lives.
func (g *TargetGroup) Secures(have lbmodel.Spec) bool {
	old, ok := have.(*TargetGroup)
	return g.isTLS() && (!ok || !old.isTLS())
}

func (g *TargetGroup) isTLS() bool { return g.Protocol == "HTTPS" || g.Protocol == "TLS" }

// Targets are who is registered with a target group.
type Targets struct {
	Group   Ref      `json:"group"`
	Targets []Target `json:"targets"` // sorted
	// Unknown says, in a Spec only, that the endpoints are not known here: those that
	// are there stay.
	Unknown bool `json:"unknown,omitzero"`

	most   int  // the group's quota; 0 is not known
	nodes  bool // endpoints are registered as the instances that they run on
	source lbmodel.Source
}

// Target is one of them: exactly one of ID and LoadBalancer is set.
type Target struct {
	ID           string `json:"id,omitzero"` // an IP address, or an instance's ID
	LoadBalancer Ref    `json:"loadBalancer,omitzero"`
	Listener     Ref    `json:"listener,omitzero"` // of that load balancer: it must be there first
	Port         int32  `json:"port"`
}

// Needs implements lbmodel.Spec.
func (t *Targets) Needs() []lbmodel.ID {
	refs := []Ref{t.Group}
	for _, target := range t.Targets {
		refs = append(refs, target.LoadBalancer, target.Listener)
	}
	return needs(refs...)
}

// Sources implements lbmodel.Sourced.
func (t *Targets) Sources() []lbmodel.Source { return sources(t.source) }

// Flows implements lbmodel.Flowing: endpoints come and go.
func (t *Targets) Flows(have lbmodel.Spec) bool {
	old, ok := have.(*Targets)
	return ok && old.Group == t.Group
}

// Structure implements lbmodel.Flowing.
func (t *Targets) Structure() lbmodel.Spec {
	return &Targets{Group: t.Group, Unknown: true, source: t.source}
}

// Named implements providers.Naming: what runs on an instance is as healthy as that.
func (t *Targets) Named(e lbmodel.Endpoint) lbmodel.Target {
	if !t.nodes {
		return e.Target()
	}
	return lbmodel.Target(net.JoinHostPort(instanceID.FindString(e.Instance), portText(e.Port)))
}
