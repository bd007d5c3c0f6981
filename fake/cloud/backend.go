package cloud

import (
	"fmt"
	"slices"
	"strconv"

	"gatehouse.dev/lbmodel"
)

// Rule sends the traffic of a listener that matches to pools, elsewhere, or gives
// an answer itself. Rules are asked in the order of their numbers. On a TLS
// listener Hostname is the server name; on TCP and UDP ones there is a single rule
// that matches everything.
type Rule struct {
	Listener Ref            `json:"listener"`
	Number   int32          `json:"number"` // 1 to MaxNumber, unique in the listener
	Hostname string         `json:"hostname,omitzero"`
	Match    lbmodel.Match  `json:"match,omitzero"`
	Action   lbmodel.Action `json:"action"` // the Pools in it are Refs, the Sources empty

	sources []lbmodel.Source
	whole   lbmodel.Whole // what of it can be answered without a pool
}

// MaxNumber is the greatest number of a rule.
const MaxNumber = 1<<31 - 1

// Needs implements lbmodel.Spec.
func (r *Rule) Needs() []lbmodel.ID { return needs(r) }

// Slot implements lbmodel.Slotted: a number in the listener.
func (r *Rule) Slot() string { return r.Listener + " number " + strconv.Itoa(int(r.Number)) }

// Sources implements lbmodel.Sourced.
func (r *Rule) Sources() []lbmodel.Source { return r.sources }

func (r *Rule) references(f func(*Ref)) {
	show(f, &r.Listener)
	mirrors := func(e *lbmodel.Edits) {
		for i := range e.Mirrors {
			show(f, &e.Mirrors[i].Pool)
		}
	}
	mirrors(&r.Action.Edits)
	if r.Action.Forward == nil {
		return
	}
	for i := range r.Action.Forward.Backends {
		b := &r.Action.Forward.Backends[i]
		show(f, &b.Pool)
		mirrors(&b.Edits)
	}
}

func (r *Rule) frozen() any {
	return []any{r.Listener, r.Hostname, r.Match}
}

func (r *Rule) check() error {
	actions := 0
	for _, set := range []bool{r.Action.Forward != nil, r.Action.Redirect != nil, r.Action.Fixed != nil} {
		if set {
			actions++
		}
	}
	switch {
	case r.Listener == "":
		return fmt.Errorf("listener is required")
	case r.Number < 1:
		return fmt.Errorf("number is %d, want 1 to %d", r.Number, MaxNumber)
	case actions != 1:
		return fmt.Errorf("action has %d of forward, redirect and fixed, want one", actions)
	case r.Action.Forward != nil:
		return checkBackends(r.Action.Forward.Backends)
	default:
		return nil
	}
}

func checkBackends(backends []lbmodel.Backend) error {
	for i, b := range backends {
		answers := b.Fixed != nil || b.Redirect != nil
		if b.Weight < 0 {
			return fmt.Errorf("action.forward.backends[%d].weight is %d, want 0 or more", i, b.Weight)
		}
		if (b.Pool != "") == answers {
			return fmt.Errorf("action.forward.backends[%d] has a pool and an answer, or neither", i)
		}
	}
	return nil
}

// Pool is a way to speak to the endpoints of a group.
type Pool struct {
	Group       Ref                  `json:"group"`
	Protocol    lbmodel.PoolProtocol `json:"protocol"` // cannot be changed
	Health      *lbmodel.HealthCheck `json:"health,omitempty"`
	TLS         *PoolTLS             `json:"tls,omitempty"`
	Persistence *lbmodel.Persistence `json:"persistence,omitempty"`

	sources []lbmodel.Source
	hop     string // the model's name of it
}

// PoolTLS is the TLS of the hop to the endpoints; its fields are those of
// lbmodel.BackendTLS.
type PoolTLS struct {
	SNI        string           `json:"sni,omitzero"`
	SANs       []lbmodel.SAN    `json:"sans,omitempty"`
	Trust      Ref              `json:"trust,omitzero"`
	Identity   Ref              `json:"identity,omitzero"`
	Floor      lbmodel.TLSLevel `json:"floor,omitzero"`
	MinVersion string           `json:"minVersion,omitzero"`
	ALPN       []string         `json:"alpn,omitempty"`
	NoALPN     bool             `json:"noALPN,omitzero"`
}

// Needs implements lbmodel.Spec.
func (p *Pool) Needs() []lbmodel.ID { return needs(p) }

// Sources implements lbmodel.Sourced.
func (p *Pool) Sources() []lbmodel.Source { return p.sources }

func (p *Pool) references(f func(*Ref)) {
	show(f, &p.Group)
	if p.TLS != nil {
		show(f, &p.TLS.Trust, &p.TLS.Identity)
	}
}

func (p *Pool) frozen() any { return p.Protocol }

func (p *Pool) check() error {
	switch {
	case p.Group == "":
		return fmt.Errorf("group is required")
	case p.Protocol == "":
		return fmt.Errorf("protocol is required")
	case p.Health != nil && (p.Health.Interval <= 0 || p.Health.Timeout <= 0):
		return fmt.Errorf("health.interval and health.timeout must be above zero")
	default:
		return nil
	}
}

// EndpointGroup is a set of endpoints, shared by every pool that speaks to them.
type EndpointGroup struct {
	Group     string             `json:"group"`     // cannot be changed
	Transport string             `json:"transport"` // TCP or UDP; cannot be changed
	Endpoints []lbmodel.Endpoint `json:"endpoints"` // sorted
	// Unknown says, in a Spec only, that the endpoints are not known here: those
	// that are there stay.
	Unknown bool `json:"unknown,omitzero"`

	source lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (g *EndpointGroup) Needs() []lbmodel.ID { return nil }

// Sources implements lbmodel.Sourced.
func (g *EndpointGroup) Sources() []lbmodel.Source { return sources(g.source) }

// Flows implements lbmodel.Flowing: what a group is cannot be changed, so any other
// form of one has other endpoints.
func (g *EndpointGroup) Flows(have lbmodel.Spec) bool {
	_, ok := have.(*EndpointGroup)
	return ok
}

// Structure implements lbmodel.Flowing: a group without its endpoints.
func (g *EndpointGroup) Structure() lbmodel.Spec {
	return &EndpointGroup{Group: g.Group, Transport: g.Transport, Unknown: true, source: g.source}
}

func (g *EndpointGroup) references(func(*Ref)) {}
func (g *EndpointGroup) frozen() any           { return []string{g.Group, g.Transport} }

func (g *EndpointGroup) check() error {
	if g.Unknown {
		return fmt.Errorf("unknown is for specs: send the endpoints")
	}
	if !slices.Contains([]string{"TCP", "UDP"}, g.Transport) {
		return fmt.Errorf("transport is %q, want TCP or UDP", g.Transport)
	}
	for i, e := range g.Endpoints {
		if (e.Address == "") == (e.FQDN == "") {
			return fmt.Errorf("endpoints[%d] must have an address or an fqdn", i)
		}
		if e.Port < 1 || e.Port > 65535 {
			return fmt.Errorf("endpoints[%d].port is %d, want 1 to 65535", i, e.Port)
		}
	}
	return nil
}
