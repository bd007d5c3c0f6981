package aws

import (
	"context"
	"maps"
	"slices"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"gatehouse.dev/lbmodel"
)

// healthFor is how long targets that were all healthy, or all not in use, are taken for
// so. AWS tells of nothing, and each group is one call.
const healthFor = time.Minute

// Health implements providers.HealthReader. It reads the groups in which something may
// change soon, and each other one once a minute; those that nobody has observed yet
// are not there.
func (p *Provider) Health(ctx context.Context, _ string) (map[lbmodel.ID]map[lbmodel.Target]lbmodel.Health, error) {
	out := map[lbmodel.ID]map[lbmodel.Target]lbmodel.Health{}
	var due []string
	now := p.now()
	p.memory.with(func() {
		for arn, g := range p.memory.groups {
			if g.due(now) {
				due = append(due, arn)
			}
		}
	})
	slices.Sort(due)
	err := each(ctx, due, func(ctx context.Context, arn string) error {
		read, err := p.calls.elb.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: &arn})
		if err != nil {
			return exceptGone(err)
		}
		_, states := specTargets("", read.TargetHealthDescriptions, noRef, noListener)
		p.memory.with(func() {
			if g := p.memory.groups[arn]; g != nil {
				g.health, g.healthAt = states, now
				out[targetsID(g.id)] = maps.Clone(states)
			}
		})
		return nil
	})
	if err != nil {
		return nil, codeError("Health", noID, err)
	}
	return out, nil
}

// due says whether a group's health is to be read again.
func (g *group) due(now time.Time) bool {
	if now.Sub(g.healthAt) >= healthFor {
		return true
	}
	for _, h := range g.health {
		if h == lbmodel.HealthInitial || h == lbmodel.HealthUnhealthy {
			return true
		}
	}
	return false
}

func noRef(string, string) Ref { return "" }

func noListener(string, int32) Ref { return "" }
