package aws

import (
	"context"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/lbmodel"
)

// attributesFor is how long the attributes of a target group are taken for what they
// were. They cost one call for each group, and hardly anybody turns them by hand. A
// process that starts takes those of a group for AWS's defaults whose tags say that
// nothing was ever set there, and looks at some with each scan for drift.
const attributesFor = 30 * time.Minute

// firstLook is when to take a group's attributes for read that were not: which of them
// are read by the next scans is spread.
func firstLook(arn string, now time.Time) time.Time {
	h := fnv.New64a()
	_, _ = io.WriteString(h, arn) // a hash takes everything
	return now.Add(-time.Duration(h.Sum64() % uint64(attributesFor)))
}

// readGroups reads what is in our target groups.
func (o *observer) readGroups(ctx context.Context) error {
	ours := slices.DeleteFunc(o.groups, func(g types.TargetGroup) bool {
		_, is := o.id(aws.ToString(g.TargetGroupArn))
		t, _ := o.memory.tagsOf(aws.ToString(g.TargetGroupArn))
		return !is || !o.concerns(t)
	})
	return each(ctx, ours, func(ctx context.Context, g types.TargetGroup) error { return exceptGone(o.readGroup(ctx, &g)) })
}

func (o *observer) readGroup(ctx context.Context, g *types.TargetGroup) error {
	arn := aws.ToString(g.TargetGroupArn)
	id, _ := o.id(arn)
	attributes, err := o.attributesOf(ctx, id, arn)
	if err != nil {
		return err
	}
	look := o.now()
	health, err := o.calls.elb.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: &arn})
	if err != nil {
		return err
	}
	t, _ := o.memory.tagsOf(arn)
	spec := specGroup(g, nil)
	var u unspoken
	t.unpack(&u)
	spec.Attributes = stated(attributes, groupDefaults(spec), u.Attributes)
	o.show(id, spec, lbmodel.Handle(arn), t, lbmodel.Facts{})
	targets, states := specTargets(refTo(id), health.TargetHealthDescriptions, o.ref, o.listenerAt)
	o.show(targetsID(id), targets, lbmodel.Handle(arn), t, lbmodel.Facts{Health: states})
	o.memory.with(func() {
		known := o.memory.groupOf(arn, id)
		known.users, known.health, known.healthAt = g.LoadBalancerArns, states, look
	})
	return nil
}

// groupOf is what is remembered of a group; the memory is held.
func (m *memory) groupOf(arn string, id lbmodel.ID) *group {
	if m.groups[arn] == nil {
		m.groups[arn] = &group{id: id}
	}
	return m.groups[arn]
}

// attributesOf are a group's attributes, as they are or were not long ago.
func (o *observer) attributesOf(ctx context.Context, id lbmodel.ID, arn string) (map[string]string, error) {
	var known map[string]string
	now := o.now()
	t, _ := o.memory.tagsOf(arn)
	o.memory.with(func() {
		g := o.memory.groupOf(arn, id)
		if g.readAt.IsZero() && t[tagTurned] == "" {
			g.attributes, g.readAt = map[string]string{}, firstLook(arn, now)
		}
		if now.Sub(g.readAt) < attributesFor {
			known = maps.Clone(g.attributes)
		}
	})
	if known != nil {
		return known, nil
	}
	out, err := o.calls.elb.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: &arn})
	if err != nil {
		return nil, err
	}
	known = attributeMap(out.Attributes)
	o.memory.with(func() {
		g := o.memory.groupOf(arn, id)
		g.attributes, g.readAt = maps.Clone(known), now
	})
	return known, nil
}

// targetsID is the resource of a group's targets.
func targetsID(group lbmodel.ID) lbmodel.ID {
	group.Kind = KindTargets
	return group
}

// listenerAt is the listener of a load balancer at a port.
func (o *observer) listenerAt(balancer string, port int32) Ref {
	f := o.fronts[balancer]
	if f == nil {
		return ""
	}
	for _, l := range f.listeners {
		if aws.ToInt32(l.Port) == port {
			return o.ref(KindListener, aws.ToString(l.ListenerArn))
		}
	}
	return ""
}
