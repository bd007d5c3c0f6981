package elb

import (
	"net/netip"
	"slices"
	"strconv"
	"time"

	"gatehouse.dev/fake/awsapi/account"
)

// delay is how long a deregistered target of the group drains.
func (g *groupRow) delay() time.Duration {
	seconds, _ := strconv.Atoi(g.Attributes["deregistration_delay.timeout_seconds"]) // checked when set
	return time.Duration(seconds) * time.Second
}

// present are the targets that are still there, the draining ones included.
func (g *groupRow) present(now time.Time) []targetRow {
	var out []targetRow
	for _, t := range g.Targets {
		if t.Draining.IsZero() || now.Before(t.Draining.Add(g.delay())) {
			out = append(out, t)
		}
	}
	return out
}

// count is how many targets count against quotas.
func (s *Service) count(g *groupRow) int {
	n := 0
	for _, t := range g.present(s.Clock.Now()) {
		if t.Draining.IsZero() || !s.Undocumented.DrainingFree {
			n++
		}
	}
	return n
}

// same tells whether two descriptions mean the same target of the group.
func (g *groupRow) same(a, b target) bool {
	port := func(t target) int {
		if t.Port == 0 {
			return g.Port
		}
		return t.Port
	}
	return a.Id == b.Id && port(a) == port(b)
}

func (s *Service) registerTargets(call *account.Call, in *targets) (any, error) {
	return nothing{}, s.targets(call, in, func(now *state, g *groupRow) error {
		for _, t := range in.Targets {
			full, err := s.complete(now, g, t)
			if err != nil {
				return err
			}
			at := slices.IndexFunc(g.Targets, func(has targetRow) bool { return g.same(has.target, full) })
			switch {
			case at < 0:
				g.Targets = append(g.Targets, targetRow{target: full, Registered: call.Now})
			case !g.Targets[at].Draining.IsZero():
				g.Targets[at] = targetRow{target: full, Registered: call.Now} // revived
			}
		}
		return s.roomForTargets(now, g)
	})
}

// targets changes a group's targets. do gets a copy of the group.
func (s *Service) targets(call *account.Call, in *targets, do func(*state, *groupRow) error) error {
	if len(in.Targets) == 0 {
		return missing("targets")
	}
	return s.change(call, func(now *state) error {
		old, err := now.group(in.TargetGroupArn)
		switch {
		case err != nil:
			return err
		case s.fresh(call, old.Made):
			return refuse("TargetGroupNotFound", "One or more target groups not found")
		}
		next := *old
		next.Targets = old.present(call.Now)
		if err := do(now, &next); err != nil {
			return err
		}
		now.TargetGroups.Put(in.TargetGroupArn, next)
		return nil
	})
}

func (s *Service) roomForTargets(now *state, g *groupRow) error {
	most := s.limit(limitTargets)
	if g.TargetType == "alb" {
		most = 1
	}
	if s.count(g) > most {
		return refuse("TooManyTargets", "The maximum number of targets has been reached in target group '%s'", g.TargetGroupArn)
	}
	byID := map[string]int{}
	for _, t := range g.Targets {
		if byID[t.Id]++; byID[t.Id] > s.limit(limitRegistrations) {
			return refuse("TooManyRegistrationsForTargetId", "The maximum number of registrations has been reached for target '%s'", t.Id)
		}
	}
	now.TargetGroups.Put(g.TargetGroupArn, *g)
	for _, arn := range g.LoadBalancerArns {
		lb, err := now.lb(arn)
		if err != nil {
			return err
		}
		if err := s.roomForGroups(now, place{lb: lb}, nil); err != nil {
			return err
		}
		if err := s.roomInZones(now, lb); err != nil {
			return err
		}
	}
	return nil
}

// roomInZones keeps the quota of a Network Load Balancer's zones.
func (s *Service) roomInZones(now *state, lb *lbRow) error {
	if lb.Type != network {
		return nil
	}
	cross := lb.Attributes["load_balancing.cross_zone.enabled"] == "true"
	byZone := map[string]int{}
	for _, g := range now.TargetGroups.All(func(g *groupRow) bool { return slices.Contains(g.LoadBalancerArns, lb.LoadBalancerArn) }) {
		for _, t := range g.present(s.Clock.Now()) {
			zone := t.AvailabilityZone
			if cross {
				zone = "all"
			}
			if byZone[zone]++; byZone[zone] > s.limit(limitZoneTargets) {
				return refuse("TooManyTargets", "The maximum number of targets per Availability Zone has been reached on load balancer '%s'", lb.LoadBalancerArn)
			}
		}
	}
	return nil
}

// complete checks a target, and fills in its port and zone.
func (s *Service) complete(now *state, g *groupRow, t target) (target, error) {
	if t.Id == "" {
		return t, missing("targets.id")
	}
	if t.Port < 0 || t.Port > 65535 {
		return t, breaks(t.Port, "targets.port", "have value between 1 and 65535")
	}
	if t.Port == 0 {
		t.Port = g.Port
	}
	switch g.TargetType {
	case "instance":
		return s.instance(g, t)
	case "ip":
		return s.address(g, t)
	case "alb":
		return s.loadBalancerTarget(now, g, t)
	}
	t.Port = 0
	return t, nil
}

func (s *Service) instance(g *groupRow, t target) (target, error) {
	machine, ok := s.Network.FindInstance(t.Id)
	subnet, _ := s.Network.FindSubnet(machine.Subnet)
	switch {
	case !ok:
		return t, refuse("InvalidTarget", "The following targets are not in the target group VPC '%s': '%s'", g.VpcId, t.Id)
	case subnet.VPC != g.VpcId:
		return t, refuse("InvalidTarget", "The following targets are not in the target group VPC '%s': '%s'", g.VpcId, t.Id)
	case machine.Stopped:
		return t, refuse("InvalidTarget", "The following targets are not in a running state and cannot be registered: '%s'", t.Id)
	}
	t.AvailabilityZone = subnet.Zone
	return t, nil
}

// outside are the ranges from which a target's address may come, besides its VPC's.
func outside(ip netip.Addr) bool {
	return ip.IsPrivate() || netip.MustParsePrefix("100.64.0.0/10").Contains(ip)
}

func (s *Service) address(g *groupRow, t target) (target, error) {
	ip, err := netip.ParseAddr(t.Id)
	if err != nil || ip.Is4() != (g.IpAddressType == ipv4) {
		return t, invalid("The IP address '%s' is not a valid %s address", t.Id, g.IpAddressType)
	}
	if subnet, ok := s.Network.SubnetAt(g.VpcId, ip); ok {
		if t.AvailabilityZone != "all" {
			t.AvailabilityZone = subnet.Zone
		}
		return t, nil
	}
	switch {
	case !outside(ip):
		return t, invalid("The IP address '%s' is not within a valid range", t.Id)
	case t.AvailabilityZone == "":
		return t, invalid("You must specify an Availability Zone for IP address '%s', which is outside the VPC", t.Id)
	}
	return t, nil
}

func (s *Service) loadBalancerTarget(now *state, g *groupRow, t target) (target, error) {
	lb := now.LoadBalancers.Get(t.Id)
	switch {
	case lb == nil || lb.Type != application:
		return t, refuse("InvalidTarget", "The following targets are not application load balancers: '%s'", t.Id)
	case lb.VpcId != g.VpcId:
		return t, refuse("InvalidTarget", "The following targets are not in the target group VPC '%s': '%s'", g.VpcId, t.Id)
	case t.Port != g.Port:
		return t, invalid("The port of target '%s' must be the port of the target group, '%d'", t.Id, g.Port)
	}
	for _, l := range now.listenersOf(t.Id) {
		if l.Port == t.Port {
			return t, nil
		}
	}
	return t, refuse("InvalidTarget", "Load balancer '%s' must have a listener on port '%d'", t.Id, t.Port)
}

func (s *Service) deregisterTargets(call *account.Call, in *targets) (any, error) {
	return nothing{}, s.targets(call, in, func(_ *state, g *groupRow) error {
		var out []targetRow
		for _, has := range g.Targets {
			if !slices.ContainsFunc(in.Targets, func(t target) bool { return t.Id == has.Id && (t.Port == 0 || t.Port == has.Port) }) {
				out = append(out, has)
				continue
			}
			unused := len(g.LoadBalancerArns) == 0 && !s.Undocumented.UnusedDrain
			switch {
			case unused:
			case has.Draining.IsZero():
				has.Draining = call.Now
				out = append(out, has)
			default:
				out = append(out, has)
			}
		}
		g.Targets = out
		return nil
	})
}
