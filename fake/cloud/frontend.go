package cloud

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"gatehouse.dev/lbmodel"
)

// Address reserves one IP address. Nothing in it can be changed: another request
// is another Address, and gets another value.
type Address struct {
	Value    string   `json:"value,omitzero"` // the address asked for; "" is any free one
	Prefixes []string `json:"prefixes"`       // where it may be taken from, first to last

	source lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (a *Address) Needs() []lbmodel.ID { return nil }

// Slot implements lbmodel.Slotted: an address that is asked for by value.
func (a *Address) Slot() string {
	if a.Value == "" {
		return ""
	}
	return "address " + a.Value
}

// Impact implements lbmodel.Explained.
func (a *Address) Impact(verb lbmodel.Verb, _ lbmodel.Spec) string {
	if verb != lbmodel.Delete {
		return ""
	}
	return "The address is released; clients that still use it lose the gateway, and it may not be had again."
}

// Sources implements lbmodel.Sourced.
func (a *Address) Sources() []lbmodel.Source { return sources(a.source) }

func (a *Address) references(func(*Ref)) {}
func (a *Address) frozen() any           { return a }

func (a *Address) check() error {
	prefixes, err := parsePrefixes(a.Prefixes)
	if err != nil {
		return err
	}
	if a.Value == "" {
		return nil
	}
	ip, err := netip.ParseAddr(a.Value)
	if err != nil {
		return fmt.Errorf("value %q is not an IP address", a.Value)
	}
	if !slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return fmt.Errorf("value %s is in none of the prefixes %v", ip, a.Prefixes)
	}
	return nil
}

// Network is an existing network that balancers attach to. Its operator keeps
// everything in it but IdleSeconds, which the provider sets when settings say so.
type Network struct {
	CIDR        string `json:"cidr,omitzero"`
	Description string `json:"description,omitzero"`
	IdleSeconds int32  `json:"idleSeconds,omitzero"` // how long a silent connection is kept, in seconds
}

// Needs implements lbmodel.Spec.
func (n *Network) Needs() []lbmodel.ID { return nil }

func (n *Network) references(func(*Ref)) {}
func (n *Network) frozen() any           { return n.CIDR }

func (n *Network) check() error {
	if n.IdleSeconds < 0 {
		return fmt.Errorf("idleSeconds is %d, want 0 or more", n.IdleSeconds)
	}
	return nil
}

// Balancer is one load balancer: its listeners are reached at its addresses.
type Balancer struct {
	Addresses []Ref             `json:"addresses,omitempty"`
	Network   Ref               `json:"network,omitzero"`
	Labels    map[string]string `json:"labels,omitempty"`
	Loopback  bool              `json:"loopback,omitzero"` // endpoints may be loopback addresses

	source lbmodel.Source
}

// Needs implements lbmodel.Spec.
func (b *Balancer) Needs() []lbmodel.ID { return needs(b) }

// Impact implements lbmodel.Explained.
func (b *Balancer) Impact(verb lbmodel.Verb, have lbmodel.Spec) string {
	old, ok := have.(*Balancer)
	if verb != lbmodel.Update || !ok {
		return ""
	}
	for _, address := range old.Addresses {
		if !slices.Contains(b.Addresses, address) {
			return "The gateway stops answering at an address that it has now; clients must use the new one."
		}
	}
	return ""
}

// Sources implements lbmodel.Sourced.
func (b *Balancer) Sources() []lbmodel.Source { return sources(b.source) }

func (b *Balancer) references(f func(*Ref)) {
	showAll(f, b.Addresses)
	show(f, &b.Network)
}
func (b *Balancer) frozen() any  { return nil }
func (b *Balancer) check() error { return nil }

// Listener is one port of a balancer for one hostname. Where, for whom and in
// which protocol it listens cannot be changed.
type Listener struct {
	Balancer     Ref              `json:"balancer"`
	Port         int32            `json:"port"`
	Protocol     lbmodel.Protocol `json:"protocol"`
	Hostname     string           `json:"hostname,omitzero"`
	SourceRanges []string         `json:"sourceRanges,omitempty"` // clients of no other addresses are served; none is all
	TLS          *ListenerTLS     `json:"tls,omitempty"`

	source lbmodel.Source
}

// ListenerTLS is the TLS of the clients' side.
type ListenerTLS struct {
	Mode         lbmodel.TLSMode   `json:"mode"`
	Certificates []Ref             `json:"certificates,omitempty"` // the first is served without SNI
	ClientTrust  Ref               `json:"clientTrust,omitzero"`   // clients must have a certificate of these roots
	Insecure     bool              `json:"insecure,omitzero"`      // but are let through without
	Options      map[string]string `json:"options,omitempty"`
}

// Needs implements lbmodel.Spec.
func (l *Listener) Needs() []lbmodel.ID { return needs(l) }

// Slot implements lbmodel.Slotted: a hostname on a port of the balancer.
func (l *Listener) Slot() string {
	return fmt.Sprintf("%s %s/%d %q", l.Balancer, l.transport(), l.Port, l.Hostname)
}

// Impact implements lbmodel.Explained.
func (l *Listener) Impact(verb lbmodel.Verb, _ lbmodel.Spec) string {
	if verb != lbmodel.Delete {
		return ""
	}
	host := "any host"
	if l.Hostname != "" {
		host = l.Hostname
	}
	return fmt.Sprintf("Port %d (%s) stops answering for %s.", l.Port, l.Protocol, host)
}

// Sources implements lbmodel.Sourced.
func (l *Listener) Sources() []lbmodel.Source { return sources(l.source) }

func (l *Listener) references(f func(*Ref)) {
	show(f, &l.Balancer)
	if l.TLS != nil {
		showAll(f, l.TLS.Certificates)
		show(f, &l.TLS.ClientTrust)
	}
}

func (l *Listener) frozen() any {
	return []string{l.Balancer, strconv.Itoa(int(l.Port)), string(l.Protocol), l.Hostname}
}

func (l *Listener) check() error {
	terminates := l.Protocol == lbmodel.ProtocolHTTPS || l.TLS != nil && l.TLS.Mode == lbmodel.TLSTerminate
	encrypted := l.Protocol == lbmodel.ProtocolHTTPS || l.Protocol == lbmodel.ProtocolTLS
	switch {
	case l.Balancer == "":
		return fmt.Errorf("balancer is required")
	case l.Port < 1 || l.Port > 65535:
		return fmt.Errorf("port is %d, want 1 to 65535", l.Port)
	case !knownProtocol(l.Protocol):
		return fmt.Errorf("protocol %q is unknown", l.Protocol)
	case encrypted != (l.TLS != nil):
		return fmt.Errorf("tls is for the protocols HTTPS and TLS, and required there")
	case !areRanges(l.SourceRanges):
		return fmt.Errorf("sourceRanges has %q, want prefixes in their shortest form", l.SourceRanges)
	case terminates && len(l.TLS.Certificates) == 0:
		return fmt.Errorf("tls.certificates is empty: a listener that ends TLS needs one")
	default:
		return nil
	}
}

func areRanges(texts []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool {
		p, err := netip.ParsePrefix(text)
		return err != nil || p.Masked().String() != text
	})
}

func knownProtocol(p lbmodel.Protocol) bool {
	return slices.Contains([]lbmodel.Protocol{lbmodel.ProtocolHTTP, lbmodel.ProtocolHTTPS, lbmodel.ProtocolTLS,
		lbmodel.ProtocolTCP, lbmodel.ProtocolUDP}, p)
}

// transport is what the port is opened for.
func (l *Listener) transport() string {
	if l.Protocol == lbmodel.ProtocolUDP {
		return "udp"
	}
	return "tcp"
}

// sources drops the empty ones and the repeated ones.
func sources(all ...lbmodel.Source) []lbmodel.Source {
	var out []lbmodel.Source
	for _, s := range all {
		if s != (lbmodel.Source{}) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
