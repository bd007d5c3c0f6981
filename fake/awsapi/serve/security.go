package serve

import (
	"net/netip"
	"slices"
)

// guards are a load balancer's security groups.
type guards struct {
	names  []string
	groups []SecurityGroup
}

func newGuards(names []string, all []SecurityGroup) guards {
	g := guards{names: names}
	for _, s := range all {
		if slices.Contains(names, s.Name) {
			g.groups = append(g.groups, s)
		}
	}
	return g
}

// admit says whether a client may reach a port. through are the security groups
// of the load balancer that the connection came through. A load balancer without
// security groups admits everybody; one whose groups are all unknown nobody.
func (g *guards) admit(protocol string, port int32, client netip.Addr, through []string) bool {
	if len(g.names) == 0 {
		return true
	}
	for _, s := range g.groups {
		for _, r := range s.Ingress {
			if r.covers(protocol, port) && r.from(client.Unmap(), through) {
				return true
			}
		}
	}
	return false
}

func (r *SecurityRule) covers(protocol string, port int32) bool {
	return r.Protocol == "-1" || r.Protocol == protocol && r.From <= port && port <= r.To
}

func (r *SecurityRule) from(client netip.Addr, through []string) bool {
	return slices.ContainsFunc(r.Sources, func(p netip.Prefix) bool { return p.Contains(client) }) ||
		slices.ContainsFunc(r.Groups, func(name string) bool { return slices.Contains(through, name) })
}
