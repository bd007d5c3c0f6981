package aws

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"gatehouse.dev/lbmodel"
)

// codeFull is AWS's word for a group, or a load balancer, without room for more targets.
const codeFull = "TooManyTargets"

// waves is in how many parts the targets of a full group change places: as many as a
// Deployment replaces at a time if nobody says otherwise.
const waves = 4

// isFull says whether a group may not have room for so many targets. It is unknown
// whether AWS counts those that drain; if it does not, nothing is lost but time.
func (c *change) isFull(arn string, want *Targets, n int) (full bool) {
	now := c.now()
	c.memory.with(func() {
		g := c.memory.groupOf(arn, groupOfTargets(c.step.ID))
		if now.Before(g.drained) {
			n += g.draining
		}
		full = g.full || want.most > 0 && n > want.most
	})
	return full
}

// noteDraining takes down that targets are on their way out of a group.
func (c *change) noteDraining(arn string, n int) {
	now := c.now()
	end := now.Add(c.drainsFor())
	c.memory.with(func() {
		g := c.memory.groupOf(arn, groupOfTargets(c.step.ID))
		if now.Before(g.drained) {
			n += g.draining
		}
		g.draining, g.drained = n, end
	})
}

// drainsFor is how long a target of the group takes to go.
func (c *change) drainsFor() time.Duration {
	r, _ := c.resolve(groupOfTargets(c.step.ID))
	g, ok := r.Spec.(*TargetGroup)
	if !ok {
		g = &TargetGroup{}
	}
	seconds, err := strconv.Atoi(cmp.Or(g.Attributes[attributeDrain], groupDefaults(g)[attributeDrain]))
	if err != nil {
		return 0 // AWS has refused it
	}
	return time.Duration(seconds) * time.Second
}

const attributeDrain = "deregistration_delay.timeout_seconds"

// exchange goes on where a group has no room for all who come beside those who go. As
// many come as there is room for, and then a wave of those who go makes more. AWS counts
// those that drain, so each wave takes as long as they do. refused is why AWS took no
// more, if it was asked.
func (c *change) exchange(ctx context.Context, want *Targets, arn string, refused error) (made, error) {
	seen, err := c.look(ctx, arn)
	if err != nil {
		return made{}, err
	}
	come := minus(want.Targets, seen.targets)
	some := come[:clamp(want.most-len(seen.targets)-seen.draining, len(come))]
	if refused != nil { // another quota than the group's: not so many at once
		some = some[:min(len(some), max(1, len(want.Targets)/waves))]
	}
	if err := c.registerTargets(ctx, arn, some); hasCode(err, codeFull) {
		refused, some = err, nil
	} else if err != nil {
		return made{}, err
	}
	c.memory.with(func() { c.memory.groupOf(arn, groupOfTargets(c.step.ID)).full = len(some) < len(come) })
	if len(some) == len(come) {
		return c.leave(ctx, want, arn, seen)
	}
	gone := minus(seen.targets, want.Targets)
	leave := c.wave(want.Targets, gone, seen.states)
	if len(some)+len(gone)+seen.draining == 0 && refused != nil {
		return made{}, refused // nothing that we do makes room
	}
	if err := c.deregister(ctx, arn, leave); err != nil {
		return made{}, err
	}
	m := made{spec: &Targets{Group: want.Group, Targets: joined(minus(seen.targets, leave), some), source: want.source}, handle: arn}
	m.facts.Health = seen.without(c, leave)
	return m, c.pending(c.roomIn(arn, want, seen.states, len(some)), "the target group is full: %d of %d new targets come when others have left", len(come)-len(some), len(want.Targets))
}

func clamp(n, most int) int { return max(0, min(n, most)) }

// wave are those of the targets that go which make room for others: all that are not
// healthy themselves, and so many of the healthy ones that no more than a wave is
// missing. Where nobody is healthy, AWS sends to everybody, so everybody counts.
func (c *change) wave(stay, gone []Target, states map[lbmodel.Target]lbmodel.Health) []Target {
	healthy := func(t Target) bool { return states[c.nameOf(t)] == lbmodel.HealthHealthy }
	all := slices.Concat(gone, minus(stay, gone))
	if !slices.ContainsFunc(all, healthy) {
		healthy = func(t Target) bool { _, there := states[c.nameOf(t)]; return there }
	}
	spare := max(1, len(stay)/waves) - len(stay)
	for _, t := range all {
		if healthy(t) {
			spare++
		}
	}
	var out []Target
	for _, t := range gone {
		if !healthy(t) {
			out = append(out, t)
		} else if spare > 0 {
			out = append(out, t)
			spare--
		}
	}
	return out
}

// roomIn is when to look at a full group again: soon while targets that have come may
// become healthy, and else when those that drain are gone, or can no longer be waited
// for at a time.
func (c *change) roomIn(arn string, want *Targets, states map[lbmodel.Target]lbmodel.Health, came int) time.Duration {
	for _, t := range want.Targets {
		if came > 0 || states[c.nameOf(t)] == lbmodel.HealthInitial {
			return slower
		}
	}
	var left time.Duration
	now := c.now()
	c.memory.with(func() { left = c.memory.groupOf(arn, groupOfTargets(c.step.ID)).drained.Sub(now) })
	return max(slower, min(left, longest))
}
