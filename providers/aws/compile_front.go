package aws

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers/aws/settings"
)

// front is a load balancer under construction.
type front struct {
	kind    string
	id      lbmodel.ID
	group   lbmodel.ID // its security group
	ingress []Ingress
	ports   int
}

func (c *compiler) newFront(kind string) *front {
	id := c.balancerID(kind)
	return &front{kind: kind, id: id, group: c.name(KindSecurityGroup, c.readable, id.Name, c.s.VPC)}
}

// held says whether the load balancer is somebody else's.
func (f *front) held() bool { return strings.HasPrefix(f.id.Name, "arn:") }

// addFront adds the load balancer and its security group, once its listeners are
// known.
func (c *compiler) addFront(f *front) {
	if f.held() {
		c.external(f.id, &LoadBalancer{})
		return
	}
	spec := &LoadBalancer{
		Type: f.kind, Scheme: c.scheme(f.kind), VPC: c.s.VPC, Subnets: sorted(c.s.Subnets), SubnetTags: c.s.SubnetTags,
		IPAddressType: c.s.IPAddressType, ForeignGroups: sorted(c.s.SecurityGroups), Attributes: different(c.attributes(f.kind), lbDefaults(f.kind)),
		Labels: c.gw.Labels, Inner: c.inner(f.kind), site: c.site(), source: c.source,
	}
	if len(c.s.SecurityGroups) == 0 {
		spec.SecurityGroups = []Ref{c.add(f.group, &SecurityGroup{VPC: c.s.VPC, site: c.site(), Ingress: sortIngress(f.ingress), source: c.source})}
		spec.SecurityGroups = append(spec.SecurityGroups, c.shareAccess(f)...)
	}
	c.add(addressID(f.id), &Address{LoadBalancer: c.add(f.id, spec), Inner: spec.Inner, source: c.source})
}

// inner says whether the load balancer stands behind another one.
func (c *compiler) inner(kind string) bool {
	return kind == typeApplication && c.s.Flavour == settings.ApplicationBehindNetwork
}

// shareAccess lets the load balancer into the security groups of its targets: it gets
// the security group that all of the cluster's have, for which there is one rule in
// each, so that sixty gateways do not use up a node's sixty rules.
func (c *compiler) shareAccess(f *front) []Ref {
	if len(c.s.TargetSecurityGroups) == 0 {
		return nil
	}
	cluster := c.gw.Owner.Cluster
	group := lbmodel.ID{Kind: KindSecurityGroup, Location: c.s.Region, Name: nameOf("to-targets", KindSecurityGroup, cluster, c.s.VPC)}
	c.put(c.shared, lbmodel.NewResource(group, &SecurityGroup{VPC: c.s.VPC}).With(lbmodel.Shared))
	for _, into := range c.s.TargetSecurityGroups {
		for _, protocol := range f.protocols() {
			id := accessID(cluster, c.s.Region, c.s.VPC, into, protocol)
			c.put(c.shared, lbmodel.NewResource(id, &SecurityGroupRule{Into: into, From: refTo(group), Protocol: protocol}).With(lbmodel.Shared))
		}
	}
	return []Ref{refTo(group)}
}

// accessID is the rule that lets load balancers of a cluster into a security group.
func accessID(cluster, region, vpc, into, protocol string) lbmodel.ID {
	return lbmodel.ID{Kind: KindSecurityGroupRule, Location: region, Name: nameOf("to-"+into, KindSecurityGroupRule, cluster, vpc, into, protocol)}
}

// protocols are those of the targets: health checks are TCP.
func (f *front) protocols() []string {
	if slices.ContainsFunc(f.ingress, func(in Ingress) bool { return in.Protocol == "udp" }) {
		return []string{"tcp", "udp"}
	}
	return []string{"tcp"}
}

func (c *compiler) site() site { return site{c.s.Scheme, sorted(c.s.Subnets), c.s.SubnetTags} }

// sorted is a sorted copy; nil of nothing.
func sorted(values []string) []string {
	return slices.Sorted(slices.Values(values))
}

func sortIngress(all []Ingress) []Ingress {
	slices.SortFunc(all, func(a, b Ingress) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.CIDR, b.CIDR), cmp.Compare(a.Group, b.Group))
	})
	return slices.Compact(all)
}

// attributes are those of the settings and those that the meaning of routes needs.
func (c *compiler) attributes(kind string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, c.s.LoadBalancerAttributes)
	if kind == typeApplication {
		out[attributeHost] = "true"
	}
	if logs := c.s.AccessLogs; logs != nil {
		out["access_logs.s3.enabled"], out["access_logs.s3.bucket"] = "true", logs.Bucket
		if logs.Prefix != "" {
			out["access_logs.s3.prefix"] = logs.Prefix
		}
	}
	return out
}

// admit opens a port for the clients of a listener; false when there are too many
// ranges for the security group.
func (c *compiler) admit(f *front, l *lbmodel.Listener) bool {
	cidrs := l.SourceRanges
	if len(cidrs) == 0 {
		cidrs = []string{"0.0.0.0/0"}
		if c.s.IPAddressType == familyDual {
			cidrs = append(cidrs, "::/0")
		}
	}
	quota := c.s.Quotas.RulesPerSecurityGroup
	if len(c.s.SecurityGroups) == 0 && len(f.ingress)+len(cidrs) > quota {
		c.exceed(l.Source, c.source, "the listener needs %d rules of the security group, of which %d are used and %d allowed; "+
			"use fewer source ranges, or raise the quota", len(cidrs), len(f.ingress), quota)
		return false
	}
	for _, cidr := range cidrs {
		f.ingress = append(f.ingress, Ingress{Protocol: transportOf(l), Port: l.Port, CIDR: cidr})
	}
	return true
}

func transportOf(l *lbmodel.Listener) string {
	if l.Protocol == lbmodel.ProtocolUDP {
		return "udp"
	}
	return "tcp"
}

// open counts a port of the load balancer; false when there are too many.
func (c *compiler) open(f *front, l *lbmodel.Listener) bool {
	if f.ports == c.s.Quotas.ListenersPerLoadBalancer {
		c.exceed(l.Source, c.source, "the load balancer has %d ports already, which is the quota; use another gateway, or raise it", f.ports)
		return false
	}
	f.ports++
	return true
}

// listenerID is a port of a load balancer, for HTTP, connections or datagrams.
func (c *compiler) listenerID(f *front, l *lbmodel.Listener, what string) lbmodel.ID {
	port := portText(l.Port)
	return c.name(KindListener, c.gw.Owner.Name+"-"+what+"-"+port, f.id.Name, what, port)
}
