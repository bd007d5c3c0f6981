package elb

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"gatehouse.dev/fake/awsapi/account"
)

func (s *Service) describeTargetHealth(call *account.Call, in *describeTargetHealth) (any, error) {
	now := s.view(call)
	g, err := now.group(in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	out := targetHealthOut{TargetHealthDescriptions: []targetHealth{}}
	all := g.present(call.Now)
	if len(in.Targets) == 0 {
		for _, t := range all {
			out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, s.describe(call, now, g, t))
		}
		return out, nil
	}
	for _, asked := range in.Targets {
		at := slices.IndexFunc(all, func(has targetRow) bool { return g.same(has.target, asked) })
		if at >= 0 {
			out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, s.describe(call, now, g, all[at]))
			continue
		}
		if asked.Port == 0 {
			asked.Port = g.Port
		}
		out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, targetHealth{Target: &asked,
			TargetHealth: &health{State: "unused", Reason: "Target.NotRegistered", Description: "Target is not registered to the target group"}})
	}
	return out, nil
}

func (s *Service) describe(call *account.Call, now *state, g *groupRow, t targetRow) targetHealth {
	port := g.HealthCheckPort
	if port == "traffic-port" {
		port = strconv.Itoa(t.Port)
	}
	is := s.state(call.Now, now, g, t)
	return targetHealth{Target: &t.target, HealthCheckPort: port, TargetHealth: &is}
}

// state is a target's health: what takes precedence first.
func (s *Service) state(at time.Time, now *state, g *groupRow, t targetRow) health {
	ready, since := now.readyFor(g), g.Used
	if t.Registered.After(since) {
		since = t.Registered
	}
	switch {
	case !t.Draining.IsZero():
		return health{State: "draining", Reason: "Target.DeregistrationInProgress", Description: "Target deregistration is in progress"}
	case len(g.LoadBalancerArns) == 0:
		return health{State: "unused", Reason: "Target.NotInUse", Description: "Target group is not configured to receive traffic from the load balancer"}
	case now.outOfZone(g, t):
		return health{State: "unused", Reason: "Target.NotInUse", Description: "Target is in an Availability Zone that is not enabled for the load balancer"}
	case at.Before(ready):
		return health{State: "initial", Reason: "Elb.RegistrationInProgress", Description: "Target registration is in progress"}
	case t.Forced != nil:
		return *t.Forced
	case g.HealthCheckEnabled != nil && !*g.HealthCheckEnabled:
		return health{State: "unavailable", Reason: "Target.HealthCheckDisabled", Description: "Health checks are disabled for this target group"}
	}
	if s.Observed != nil {
		if state, reason, words, ok := s.Observed(g.TargetGroupArn, t.Id, t.Port); ok {
			return health{State: state, Reason: reason, Description: words}
		}
	}
	if ready.After(since) {
		since = ready
	}
	if at.Before(since.Add(s.Times.Initial)) {
		return health{State: "initial", Reason: "Elb.InitialHealthChecking", Description: "Initial health checks in progress"}
	}
	return health{State: "healthy"}
}

// outOfZone tells whether no load balancer of a group stands in a target's zone.
func (s *state) outOfZone(g *groupRow, t targetRow) bool {
	if t.AvailabilityZone == "" || t.AvailabilityZone == "all" {
		return false
	}
	for _, arn := range g.LoadBalancerArns {
		lb := s.LoadBalancers.Get(arn)
		if lb != nil && slices.ContainsFunc(lb.AvailabilityZones, func(z zone) bool { return z.ZoneName == t.AvailabilityZone }) {
			return false
		}
	}
	return len(g.LoadBalancerArns) > 0
}

// readyFor is when the first load balancer of a group has been provisioned.
func (s *state) readyFor(g *groupRow) time.Time {
	var out time.Time
	for i, arn := range g.LoadBalancerArns {
		if lb := s.LoadBalancers.Get(arn); lb != nil && (i == 0 || lb.Ready.Before(out)) {
			out = lb.Ready
		}
	}
	return out
}

// Force gives a registered target a health, whatever the checks say; state "" lets
// the checks speak again. A port of 0 is the group's.
func (s *Service) Force(call *account.Call, group, id string, port int, is, reason string) error {
	return s.change(call, func(now *state) error {
		old, err := now.group(group)
		if err != nil {
			return err
		}
		next := *old
		next.Targets = slices.Clone(old.Targets)
		at := slices.IndexFunc(next.Targets, func(t targetRow) bool { return t.Id == id && t.Port == cmp.Or(port, old.Port) })
		if at < 0 {
			return refuse("InvalidTarget", "Target '%s' is not registered", id)
		}
		if next.Targets[at].Forced = nil; is != "" {
			next.Targets[at].Forced = &health{State: is, Reason: reason}
		}
		now.TargetGroups.Put(group, next)
		return nil
	})
}
