package aws

import (
	"context"
	"slices"

	"gatehouse.dev/internal/ec2calls"
	"gatehouse.dev/lbmodel"
)

// listSecurity finds the cluster's security groups.
func (o *observer) listSecurity(ctx context.Context) error {
	groups, err := o.calls.ec2.Groups(ctx, ec2calls.Query{Tags: map[string]string{tagCluster: o.owner.Cluster}})
	if err != nil {
		return err
	}
	for _, g := range groups {
		if t := tags(g.Tags); o.isOurs(t) && t[tagID] == g.Name {
			o.security = append(o.security, g)
			o.learn(g.ID, lbmodel.ID{Kind: KindSecurityGroup, Location: o.calls.region, Name: g.Name})
			o.memory.setTags(g.ID, t)
		}
	}
	return nil
}

// readSecurity shows the security groups, and where those of the cluster are let in.
func (o *observer) readSecurity(ctx context.Context) error {
	for _, g := range o.security {
		t, _ := o.memory.tagsOf(g.ID)
		if !o.concerns(t) {
			continue
		}
		id, _ := o.id(g.ID)
		o.show(id, o.specSecurity(&g), lbmodel.Handle(g.ID), t, lbmodel.Facts{})
		if t.hold() == lbmodel.Shared {
			if err := o.readAccess(ctx, &g, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *observer) specSecurity(g *ec2calls.Group) *SecurityGroup {
	out := &SecurityGroup{VPC: g.VPC}
	for _, p := range g.Ingress {
		out.Ingress = append(out.Ingress, o.ingressOf(p))
	}
	out.Ingress = sortIngress(out.Ingress)
	return out
}

// ingressOf is a permission as a Spec names it. One that no Spec could name (several
// ports, another protocol, a prefix list) is told by all that it says, so that it is
// taken away again: see permissionOf.
func (o *observer) ingressOf(p ec2calls.Permission) Ingress {
	if (p.Protocol != "tcp" && p.Protocol != "udp") || p.From != p.To || p.PrefixList != "" {
		p.Description = ""
		return Ingress{Protocol: strangePermission + encode(p)}
	}
	out := Ingress{Protocol: p.Protocol, Port: p.From, CIDR: p.CIDR}
	if p.Group != "" {
		if out.Group = o.ref(KindSecurityGroup, p.Group); out.Group == "" {
			return Ingress{Protocol: strangePermission + encode(ec2calls.Permission{Protocol: p.Protocol, From: p.From, To: p.To, Group: p.Group})}
		}
	}
	return out
}

// readAccess shows where a security group of ours is let in: each protocol on all
// ports is one of ours.
func (o *observer) readAccess(ctx context.Context, from *ec2calls.Group, t tags) error {
	into, err := o.calls.ec2.Groups(ctx, ec2calls.Query{VPC: from.VPC, LetsIn: from.ID})
	if err != nil {
		return err
	}
	ref := o.ref(KindSecurityGroup, from.ID)
	for _, g := range into {
		for _, protocol := range []string{"tcp", "udp"} {
			if slices.ContainsFunc(g.Ingress, func(p ec2calls.Permission) bool { return allows(p, accessOf(from.ID, protocol)) }) {
				id := accessID(o.owner.Cluster, o.calls.region, from.VPC, g.ID, protocol)
				o.show(id, &SecurityGroupRule{Into: g.ID, From: ref, Protocol: protocol}, accessHandle(g.ID, from.ID, protocol), t, lbmodel.Facts{})
			}
		}
	}
	return nil
}
