package elb

import (
	"slices"
	"strings"
)

// takes are the target groups' protocols that a listener can forward to.
func takes(listener string) []string {
	switch listener {
	case "TCP":
		return []string{"TCP", "TCP_UDP"}
	case "TLS":
		return []string{"TCP", "TLS"}
	case "UDP":
		return []string{"UDP", "TCP_UDP"}
	case "HTTP", "HTTPS":
		return []string{"HTTP", "HTTPS"}
	}
	return []string{listener}
}

// checkGroups refuses actions whose target groups can't be used there.
func (s *Service) checkGroups(now *state, p place, actions []action) error {
	versions := map[string]bool{}
	arns := groupsIn(actions)
	for _, arn := range arns {
		g, err := now.group(arn)
		if codeOf(err) == "TargetGroupNotFound" || err == nil && s.clock(g.Made.Add(s.Times.Reference)) {
			return refuse("TargetGroupNotFound", "Target group '%s' not found", arn)
		}
		if err != nil {
			return err
		}
		if err := compatible(p, g); err != nil {
			return err
		}
		versions[g.ProtocolVersion] = true
	}
	if len(versions) > 1 {
		return refuse("InvalidConfigurationRequest", "All target groups of a rule must have the same protocol version")
	}
	for _, a := range actions {
		if (versions["HTTP2"] || versions["GRPC"]) && a.Type != "forward" {
			return refuse("InvalidConfigurationRequest", "Only forward actions are supported for target groups with protocol version HTTP2 or GRPC")
		}
	}
	return s.roomForGroups(now, p, arns)
}

func compatible(p place, g *groupRow) error {
	switch {
	case g.TargetType == "lambda" && p.lb.Type == application:
		return nil
	case !slices.Contains(takes(p.protocol), g.Protocol):
		return refuse("IncompatibleProtocols", "The protocol of target group '%s' must be one of '%s' for a listener with protocol '%s'",
			g.TargetGroupArn, strings.Join(takes(p.protocol), ", "), p.protocol)
	case g.VpcId != p.lb.VpcId:
		return refuse("InvalidConfigurationRequest", "The load balancer and the target group '%s' must be in the same VPC", g.TargetGroupArn)
	case p.protocol == "HTTP" && (g.ProtocolVersion == "HTTP2" || g.ProtocolVersion == "GRPC"):
		return refuse("InvalidConfigurationRequest", "Listener protocol must be HTTPS for target groups with protocol version '%s'", g.ProtocolVersion)
	case g.IpAddressType == "ipv6" && p.lb.IpAddressType == ipv4:
		return refuse("InvalidConfigurationRequest", "Target group '%s' has IP address type ipv6: the load balancer must be dualstack", g.TargetGroupArn)
	}
	others := slices.DeleteFunc(slices.Clone(g.LoadBalancerArns), func(arn string) bool { return arn == p.lb.LoadBalancerArn })
	most := 1
	if g.TargetType == "alb" {
		most = 2
	}
	if len(others) >= most {
		return refuse("TargetGroupAssociationLimit", "The following target groups cannot be associated with more than one load balancer: %s", g.TargetGroupArn)
	}
	return nil
}

// roomForGroups keeps the quotas of target groups and targets of a load balancer.
func (s *Service) roomForGroups(now *state, p place, more []string) error {
	all := slices.Clone(more)
	for _, l := range now.listenersOf(p.lb.LoadBalancerArn) {
		for _, r := range now.rulesOf(l.ListenerArn) {
			if r.RuleArn != p.rule {
				all = append(all, groupsIn(r.Actions)...)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if p.lb.Type == application && len(all) > s.limit(limitGroupsPerALB) {
		return refuse("TooManyUniqueTargetGroupsPerLoadBalancer", "The maximum number of unique target groups has been reached on load balancer '%s'", p.lb.LoadBalancerArn)
	}
	targets := 0
	for _, arn := range all {
		if g := now.TargetGroups.Get(arn); g != nil {
			targets += s.count(g)
		}
	}
	name := map[string]string{application: limitTargetsPerALB, network: limitTargetsPerNLB}[p.lb.Type]
	if targets > s.limit(name) {
		return refuse("TooManyTargets", "The maximum number of targets has been reached on load balancer '%s'", p.lb.LoadBalancerArn)
	}
	return nil
}
