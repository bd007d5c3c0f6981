package aws

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// groupTags are all that a target group gets: whether attributes were set, and which
// where no default is known.
func (g *TargetGroup) groupTags(ours tags) tags {
	if len(g.Attributes) > 0 {
		ours[tagTurned] = "set"
	}
	if unknown := withoutDefault(g.Attributes, groupDefaults(g)); len(unknown) > 0 {
		ours.pack(unspoken{Attributes: unknown})
	}
	return ours
}

func (c *change) makeGroup(ctx context.Context, want *TargetGroup) (made, error) {
	vpc, err := c.vpc(ctx, want.VPC, want.site)
	if err != nil {
		return made{}, err
	}
	t := want.groupTags(c.tags())
	out, err := c.calls.elb.CreateTargetGroup(ctx, sdkGroup(c.step.ID.Name, vpc, want, t))
	if err != nil {
		return made{}, err
	}
	arn := aws.ToString(out.TargetGroups[0].TargetGroupArn)
	c.memory.setTags(arn, t)
	c.memory.with(func() { c.memory.groupOf(arn, c.step.ID) })
	if err := c.turnGroup(ctx, arn, turns(want.Attributes, nil, nil)); err != nil {
		return made{}, err
	}
	spec := *want
	spec.VPC = vpc
	return made{spec: &spec, handle: arn}, nil
}

func (c *change) turnGroup(ctx context.Context, arn string, set map[string]string) error {
	if len(set) == 0 {
		return nil
	}
	in := &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: &arn}
	for _, key := range sortedKeys(set) {
		in.Attributes = append(in.Attributes, types.TargetGroupAttribute{Key: &key, Value: aws.String(set[key])})
	}
	c.memory.with(func() {
		if g := c.memory.groups[arn]; g != nil {
			g.attributes = nil
		}
	})
	_, err := c.calls.elb.ModifyTargetGroupAttributes(ctx, in)
	return err
}

func (c *change) changeGroup(ctx context.Context, want, have *TargetGroup) (made, error) {
	arn := c.there()
	if want.Health != have.Health {
		in := sdkHealth(want)
		in.TargetGroupArn = &arn
		if have.Health.Protocol == "" {
			in.HealthCheckEnabled = aws.Bool(true)
		}
		if _, err := c.calls.elb.ModifyTargetGroup(ctx, in); err != nil {
			return made{}, err
		}
	}
	// A process may end in between: what may be set has its tag before, and has it after.
	from, to := c.groupNotes(arn, have), want.groupTags(tags{})
	both := maps.Clone(from)
	maps.Copy(both, to)
	if err := c.retag(ctx, arn, from, both); err != nil {
		return made{}, err
	}
	if err := c.turnGroup(ctx, arn, turns(want.Attributes, have.Attributes, groupDefaults(want))); err != nil {
		return made{}, err
	}
	if err := c.retag(ctx, arn, both, to); err != nil {
		return made{}, err
	}
	spec := *want
	spec.VPC = have.VPC
	return made{spec: &spec}, nil
}

// groupNotes are the tags that a group has for its attributes, as far as they are known.
func (c *change) groupNotes(arn string, have *TargetGroup) tags {
	all, known := c.memory.tagsOf(arn)
	if !known {
		return have.groupTags(tags{})
	}
	out := packedOnly(all)
	if v, is := all[tagTurned]; is {
		out[tagTurned] = v
	}
	return out
}
