package aws

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/lbmodel"
)

const targetsPerCall = 200 // AWS documents no limit; one call of any size costs one token

// register brings a group's targets to what is wanted: the new ones come first. The
// old ones go as far as healthy ones stand in for them, and all of them when nothing
// more is to be hoped for. Until then the step is Pending.
func (c *change) register(ctx context.Context, want *Targets) (made, error) {
	arn, err := c.arn(want.Group)
	if err != nil {
		return made{}, err
	}
	now := c.registered()
	come, gone := minus(want.Targets, now), minus(now, want.Targets)
	if len(come) > 0 && c.isFull(arn, want, len(now)+len(come)) {
		return c.exchange(ctx, want, arn, nil)
	}
	switch err := c.registerTargets(ctx, arn, come); {
	case hasCode(err, codeFull):
		return c.exchange(ctx, want, arn, err)
	case err != nil:
		return made{}, err
	case len(gone) == 0:
		return made{spec: want, handle: arn}, nil
	}
	seen, err := c.look(ctx, arn)
	if err != nil {
		return made{}, err
	}
	return c.leave(ctx, want, arn, seen)
}

// leave lets those go who are not wanted any more, when all who come are there.
func (c *change) leave(ctx context.Context, want *Targets, arn string, seen groupView) (made, error) {
	gone := minus(seen.targets, want.Targets)
	leave := c.mayLeave(want.Targets, gone, seen.states)
	if err := c.deregister(ctx, arn, leave); err != nil {
		return made{}, err
	}
	m := made{spec: want, handle: arn, facts: lbmodel.Facts{Health: seen.without(c, leave)}}
	if left := minus(gone, leave); len(left) > 0 {
		m.spec = &Targets{Group: want.Group, Targets: joined(want.Targets, left), source: want.source}
		return m, c.pending(soon, "%d targets stay until healthy ones stand in for them", len(left))
	}
	return m, nil
}

// registered are the targets that are there: by what this process did last, if it has
// done anything since the plan was made.
func (c *change) registered() []Target {
	if r, known := c.resolve(c.step.ID); known {
		if t, ok := r.Spec.(*Targets); ok {
			return t.Targets
		}
	}
	if t, ok := c.step.Have.Spec.(*Targets); ok {
		return t.Targets
	}
	return nil
}

func (c *change) registerTargets(ctx context.Context, arn string, come []Target) error {
	for some := range slices.Chunk(come, targetsPerCall) {
		descriptions, err := c.describeTargets(ctx, some)
		if err != nil {
			return err
		}
		c.doubtHealth(arn)
		if _, err := c.calls.elb.RegisterTargets(ctx, &elb.RegisterTargetsInput{TargetGroupArn: &arn, Targets: descriptions}); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) deregister(ctx context.Context, arn string, gone []Target) error {
	for some := range slices.Chunk(gone, targetsPerCall) {
		in := &elb.DeregisterTargetsInput{TargetGroupArn: &arn}
		for _, t := range some {
			id, err := c.idOf(t)
			if err != nil {
				return err
			}
			in.Targets = append(in.Targets, types.TargetDescription{Id: &id, Port: aws.Int32(t.Port)})
		}
		c.doubtHealth(arn)
		c.noteDraining(arn, len(some))
		if _, err := c.calls.elb.DeregisterTargets(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// doubtHealth makes the health of a group be read again.
func (c *change) doubtHealth(arn string) {
	c.memory.with(func() { c.memory.groupOf(arn, groupOfTargets(c.step.ID)).healthAt = time.Time{} })
}

// groupOfTargets is the resource of the group that targets are registered with.
func groupOfTargets(id lbmodel.ID) lbmodel.ID {
	id.Kind = KindTargetGroup
	return id
}

// describeTargets are targets as AWS takes them. An address outside of the virtual
// network is in no zone of it, and AWS must be told so.
func (c *change) describeTargets(ctx context.Context, all []Target) ([]types.TargetDescription, error) {
	inside, err := c.groupRanges(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]types.TargetDescription, 0, len(all))
	for _, t := range all {
		id, err := c.idOf(t)
		if err != nil {
			return nil, err
		}
		one := types.TargetDescription{Id: &id, Port: aws.Int32(t.Port)}
		if inside != nil && !inside.hold(t.ID) {
			one.AvailabilityZone = aws.String("all")
		}
		out = append(out, one)
	}
	return out, nil
}

// groupRanges are the ranges of the virtual network of a group of addresses; nil of
// another group.
func (c *change) groupRanges(ctx context.Context) (cidrs, error) {
	r, known := c.resolve(groupOfTargets(c.step.ID))
	g, ok := r.Spec.(*TargetGroup)
	if !known || !ok || g.TargetType != targetIP || g.VPC == "" {
		return nil, nil
	}
	return c.ranges(ctx, g.VPC)
}

// idOf is AWS's name of a target.
func (c *change) idOf(t Target) (string, error) {
	if t.LoadBalancer != "" {
		return c.arn(t.LoadBalancer)
	}
	return t.ID, nil
}

// nameOf is a target's name in reports of health; "" of a load balancer that is gone.
func (c *change) nameOf(t Target) lbmodel.Target {
	id, err := c.idOf(t)
	if err != nil {
		return ""
	}
	return lbmodel.Target(net.JoinHostPort(id, portText(t.Port)))
}

// groupView is what a look at a group shows.
type groupView struct {
	targets  []Target
	states   map[lbmodel.Target]lbmodel.Health
	draining int // others, that have been deregistered and are not gone
}

func (c *change) look(ctx context.Context, arn string) (groupView, error) {
	out, err := c.calls.elb.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: &arn})
	if err != nil {
		return groupView{}, err
	}
	targets, states := specTargets("", out.TargetHealthDescriptions, noRef, noListener)
	return groupView{targets.Targets, states, len(out.TargetHealthDescriptions) - len(targets.Targets)}, nil
}

// without are the states of those that stay.
func (v groupView) without(c *change, gone []Target) map[lbmodel.Target]lbmodel.Health {
	for _, t := range gone {
		delete(v.states, c.nameOf(t))
	}
	return v.states
}

// mayLeave are those of the targets that go for which a healthy one stands in, first
// the ones that are not healthy themselves. When none of those that stay may become
// healthy yet, all go.
func (c *change) mayLeave(stay, gone []Target, states map[lbmodel.Target]lbmodel.Health) []Target {
	healthy, hope := 0, false
	for _, t := range stay {
		switch states[c.nameOf(t)] {
		case lbmodel.HealthHealthy:
			healthy++
		case lbmodel.HealthInitial:
			hope = true
		}
	}
	if !hope {
		return gone
	}
	out := slices.Clone(gone)
	slices.SortStableFunc(out, func(a, b Target) int { return rankOf(states[c.nameOf(a)]) - rankOf(states[c.nameOf(b)]) })
	return out[:min(len(out), healthy)]
}

func rankOf(h lbmodel.Health) int {
	if h == lbmodel.HealthHealthy {
		return 1
	}
	return 0
}

// minus are the targets of one list that another has not.
func minus(of, without []Target) []Target {
	drop := make(map[Target]bool, len(without))
	for _, t := range without {
		drop[t.key()] = true
	}
	var out []Target
	for _, t := range of {
		if !drop[t.key()] {
			out = append(out, t)
		}
	}
	return out
}

// key is what AWS tells targets apart by.
func (t Target) key() Target {
	t.Listener = ""
	return t
}

func joined(a, b []Target) []Target {
	out := slices.Concat(a, b)
	slices.SortFunc(out, compareTargets)
	return slices.Compact(out)
}
