package gcp

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"gatehouse.dev/lbmodel"
)

// place is where an address is: of cross-region gateways in one of several.
type place struct{ location, subnetwork string }

// places are where the gateway has an address for each that it asks for.
func (c *compiler) places() []place {
	if !c.f.global || !c.f.internal {
		return []place{{c.s.Location, c.s.Subnetwork}}
	}
	out := make([]place, 0, len(c.s.Frontends))
	for _, f := range c.s.Frontends {
		out = append(out, place{f.Region, f.Subnetwork})
	}
	return out
}

// addresses are what the gateway asks for, or one address of any value. A request that
// cannot be met is told and left out; it is not met by another address.
func (c *compiler) addresses() []Ref {
	requests := c.gw.Addresses
	if len(requests) == 0 {
		requests = []lbmodel.AddressRequest{{Type: lbmodel.AddressIP}}
	}
	var out []Ref
	seen := map[lbmodel.AddressRequest]int{}
	for i, r := range requests {
		about := c.source
		about.Section = fmt.Sprintf("addresses[%d]", i)
		for _, at := range c.places() {
			ref, err := c.address(r, at, seen[r], about)
			if err != nil {
				c.find(about, c.source, "Accepted", "UnsupportedAddress", lbmodel.CodeUnsupported, "%v", err)
				continue
			}
			out = append(out, ref)
		}
		seen[r]++
	}
	return out
}

// address is one of them; turn tells equal requests apart.
func (c *compiler) address(r lbmodel.AddressRequest, at place, turn int, about lbmodel.Source) (Ref, error) {
	switch {
	case r.Routability != "":
		return "", fmt.Errorf("gcp.flavour says from where an address is reached; leave the routability out")
	case r.Type == lbmodel.AddressNamed:
		return c.namedAddress(r.Value, at)
	case r.Type != lbmodel.AddressIP:
		return "", fmt.Errorf("addresses of type %s are not supported; use %s, or %s with the name of a reserved address", r.Type, lbmodel.AddressIP, lbmodel.AddressNamed)
	case r.Value != "" && len(c.places()) > 1:
		return "", fmt.Errorf("a gateway with addresses in several regions (gcp.frontends) gets those that are free; leave the value out")
	}
	if err := checkFamily(r); err != nil {
		return "", err
	}
	if r.Value != "" && !c.f.internal {
		return Ref(r.Value), nil // it must be reserved already, and is found by its value
	}
	spec := &Address{AddressType: "EXTERNAL", Address: r.Value, Labels: labelsOf(c.gw.Labels), source: about}
	switch {
	case c.f.internal:
		spec.AddressType, spec.Purpose, spec.Subnetwork = "INTERNAL", "SHARED_LOADBALANCER_VIP", c.subnetwork(at)
	case c.f.global:
		spec.IPVersion = "IPV4"
		if r.Family == lbmodel.IPv6 {
			spec.IPVersion = "IPV6"
		}
	default:
		spec.NetworkTier = c.s.NetworkTier
	}
	id := c.name(KindAddress, "address", at.location, string(spec.Subnetwork), spec.NetworkTier, encode(r), strconv.Itoa(turn))
	id.Location = at.location
	return c.add(id, spec), nil
}

func checkFamily(r lbmodel.AddressRequest) error {
	if r.Value == "" {
		return nil
	}
	ip, err := netip.ParseAddr(r.Value)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not an IP address", r.Value)
	case ip.Is6():
		return fmt.Errorf("an IPv6 address cannot be asked for by its value; use %s with the name of a reserved one", lbmodel.AddressNamed)
	default:
		return nil
	}
}

// namedAddress is an address that somebody else reserved.
func (c *compiler) namedAddress(value string, at place) (Ref, error) {
	id := lbmodel.ID{Kind: KindAddress, Location: at.location, Name: value}
	if !nameForm.MatchString(value) {
		want := "/" + scope(at.location) + "/addresses/"
		if project, name, ok := strings.Cut(value, want); !ok || !strings.HasPrefix(project, "projects/") || !nameForm.MatchString(name) {
			return "", fmt.Errorf("%q is neither the name of an address in %s nor its path projects/PROJECT%sNAME", value, at.location, want)
		}
	}
	id.Name = "projects/" + c.s.Project + "/" + scope(at.location) + "/addresses/" + value
	if strings.HasPrefix(value, "projects/") {
		id.Name = value
	}
	return c.external(id), nil
}

// labelsOf are labels as Google Cloud takes them: lower case, letters, digits, hyphens
// and underscores, a letter first, 63 characters. What becomes equal is one label, of
// the first key.
func labelsOf(labels map[string]string) map[string]string {
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		k := strings.TrimLeft(labelText(key), "-_0123456789")
		if _, taken := out[k]; k != "" && k != labelUnwanted && !taken {
			out[k] = labelText(labels[key])
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func labelText(text string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(text))
	return clean[:min(63, len(clean))]
}

// network and subnetwork are their paths: what is named only is in our project.
func (c *compiler) network() Ref {
	if strings.HasPrefix(c.s.Network, "projects/") {
		return Ref(c.s.Network)
	}
	return Ref("projects/" + c.s.Project + "/global/networks/" + c.s.Network)
}

func (c *compiler) subnetwork(at place) Ref {
	if at.subnetwork == "" || strings.HasPrefix(at.subnetwork, "projects/") {
		return Ref(at.subnetwork)
	}
	return Ref("projects/" + c.s.Project + "/regions/" + at.location + "/subnetworks/" + at.subnetwork)
}

// addForwardingRules opens a port at every address, for what base leads to.
func (c *compiler) addForwardingRules(listeners []*lbmodel.Listener, addresses []Ref, base *ForwardingRule) {
	first := listeners[0]
	at := c.places()
	for i, address := range addresses {
		if c.f.internal && c.rules[address] >= c.s.Quotas.ForwardingRulesPerAddress {
			c.exceed(first.Source, c.source, "port %d would be forwarding rule %d of an internal address, of which %d may share one; use another gateway, or raise the quota",
				first.Port, c.rules[address]+1, c.s.Quotas.ForwardingRulesPerAddress)
			continue
		}
		c.rules[address]++
		c.addForwardingRule(listeners, address, at[i%len(at)], *base)
	}
}

func (c *compiler) addForwardingRule(listeners []*lbmodel.Listener, address Ref, at place, f ForwardingRule) {
	first := listeners[0]
	f.IPAddress, f.LoadBalancingScheme, f.IPProtocol = address, c.f.scheme, transportOf(first)
	f.port, f.sources, f.Labels = first.Port, listenerSources(listeners), labelsOf(c.gw.Labels)
	if c.f.passthrough {
		f.Ports = []string{portText(first.Port)}
	} else {
		f.PortRange = portText(first.Port)
	}
	switch {
	case c.f.internal:
		f.Network, f.Subnetwork = c.network(), c.subnetwork(at)
		f.AllowGlobalAccess = c.s.GlobalAccess && !c.f.global
	case !c.f.global && !c.f.passthrough:
		f.Network, f.NetworkTier = c.network(), c.s.NetworkTier
	case !c.f.global:
		f.NetworkTier = c.s.NetworkTier
	}
	c.add(c.name(KindForwardingRule, f.portText(), string(address), f.IPProtocol, f.portText(), string(f.Network), string(f.Subnetwork),
		f.NetworkTier, strconv.FormatBool(f.AllowGlobalAccess)), &f)
}

func transportOf(l *lbmodel.Listener) string {
	if l.Protocol == lbmodel.ProtocolUDP {
		return "UDP"
	}
	return "TCP"
}
