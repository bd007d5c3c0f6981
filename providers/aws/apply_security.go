package aws

import (
	"context"
	jsonv2 "encoding/json/v2"
	"slices"
	"strings"

	"gatehouse.dev/internal/ec2calls"
	"gatehouse.dev/lbmodel"
)

// strangePermission begins the protocol of an Ingress that no Spec could state; the
// rest is the permission.
const strangePermission = "other:"

func (c *change) makeSecurity(ctx context.Context, want *SecurityGroup) (made, error) {
	vpc, err := c.vpc(ctx, want.VPC, want.site)
	if err != nil {
		return made{}, err
	}
	permissions, err := c.permissions(want.Ingress)
	if err != nil {
		return made{}, err
	}
	t := c.tags()
	id, err := c.calls.ec2.CreateGroup(ctx, ec2calls.Group{Name: c.step.ID.Name, Description: describe(c.owner), VPC: vpc, Tags: t})
	if err != nil {
		return made{}, err
	}
	c.memory.setTags(id, t)
	if len(permissions) > 0 {
		if err := c.calls.ec2.Authorize(ctx, id, permissions); err != nil {
			return made{}, err
		}
	}
	spec := *want
	spec.VPC = vpc
	return made{spec: &spec, handle: id}, nil
}

// describe says in AWS's console what a security group is for, in the characters that
// it takes.
func describe(o lbmodel.Owner) string {
	if o.Name == "" {
		return "Gatehouse: load balancers of cluster " + o.Cluster
	}
	return "Gatehouse: load balancer of " + o.Kind + " " + o.Namespace + "/" + o.Name
}

// changeSecurity lets the new in before it shuts the old out. Where there is no room
// for both it is the other way round.
func (c *change) changeSecurity(ctx context.Context, want, have *SecurityGroup) (made, error) {
	come, err := c.permissions(subtract(want.Ingress, have.Ingress))
	if err != nil {
		return made{}, err
	}
	gone, err := c.permissions(subtract(have.Ingress, want.Ingress))
	if err != nil {
		return made{}, err
	}
	id := c.there()
	err = c.authorize(ctx, id, come)
	full := hasCode(err, "RulesPerSecurityGroupLimitExceeded") && len(gone) > 0
	if err != nil && !full {
		return made{}, err
	}
	if len(gone) > 0 {
		if err := c.calls.ec2.Revoke(ctx, id, gone); err != nil {
			return made{}, err
		}
	}
	if full {
		err = c.authorize(ctx, id, come)
	}
	spec := *want
	spec.VPC = have.VPC
	return made{spec: &spec}, err
}

// authorize lets some in. If one is in already, each is let in by itself: AWS takes
// all or none.
func (c *change) authorize(ctx context.Context, id string, come []ec2calls.Permission) error {
	if len(come) == 0 {
		return nil
	}
	err := c.calls.ec2.Authorize(ctx, id, come)
	if !hasCode(err, "InvalidPermission.Duplicate") {
		return err
	}
	for _, one := range come {
		if len(come) == 1 {
			return nil
		}
		if err := c.authorize(ctx, id, []ec2calls.Permission{one}); err != nil {
			return err
		}
	}
	return nil
}

func subtract(of, without []Ingress) []Ingress {
	return slices.DeleteFunc(slices.Clone(of), func(in Ingress) bool { return slices.Contains(without, in) })
}

// permissions are rules as EC2 has them.
func (c *change) permissions(all []Ingress) ([]ec2calls.Permission, error) {
	var out []ec2calls.Permission
	for _, in := range all {
		one := ec2calls.Permission{Protocol: in.Protocol, From: in.Port, To: in.Port, CIDR: in.CIDR}
		if text, strange := strings.CutPrefix(in.Protocol, strangePermission); strange {
			one = ec2calls.Permission{}
			if err := jsonv2.Unmarshal([]byte(text), &one); err != nil {
				return nil, lbmodel.Errorf(lbmodel.CodeInternal, "Apply", c.step.ID, "a permission that was read cannot be written: %w", err)
			}
		}
		if in.Group != "" {
			id, err := c.arn(in.Group)
			if err != nil {
				return nil, err
			}
			one.Group = id
		}
		out = append(out, one)
	}
	return out, nil
}

// accessOf lets whoever has a security group in on all ports of a protocol.
func accessOf(group, protocol string) ec2calls.Permission {
	return ec2calls.Permission{Protocol: protocol, From: 0, To: 65535, Group: group}
}

// allows says whether two permissions let the same in.
func allows(a, b ec2calls.Permission) bool {
	a.Description, b.Description = "", ""
	return a == b
}

// letIn lets load balancers into a security group of the operator's.
func (c *change) letIn(ctx context.Context, want *SecurityGroupRule) (made, error) {
	from, err := c.arn(want.From)
	if err != nil {
		return made{}, err
	}
	permission := accessOf(from, want.Protocol)
	permission.Description = describe(lbmodel.Owner{Cluster: c.owner.Cluster})
	err = c.authorize(ctx, want.Into, []ec2calls.Permission{permission})
	return made{spec: want, handle: string(accessHandle(want.Into, from, want.Protocol))}, err
}

// accessHandle is the handle of a rule in a security group of the operator's.
func accessHandle(into, from, protocol string) lbmodel.Handle {
	return lbmodel.Handle(strings.Join([]string{into, from, protocol}, " "))
}

// accessFrom is the security group that such a rule is for.
func accessFrom(h lbmodel.Handle) (into, from, protocol string) {
	parts := strings.Split(string(h)+"  ", " ")
	return parts[0], parts[1], parts[2]
}
