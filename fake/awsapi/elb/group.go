package elb

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"gatehouse.dev/fake/awsapi/account"
)

func (s *state) group(arn string) (*groupRow, error) {
	if arn == "" {
		return nil, missing("targetGroupArn")
	}
	if row := s.TargetGroups.Get(arn); row != nil {
		return row, nil
	}
	if !strings.Contains(arn, ":targetgroup/") {
		return nil, invalid("'%s' is not a valid target group ARN", arn)
	}
	return nil, refuse("TargetGroupNotFound", "One or more target groups not found")
}

// shape is the group as it is described.
func (g *groupRow) shape() targetGroup {
	out := g.targetGroup
	if out.LoadBalancerArns == nil {
		out.LoadBalancerArns = []string{}
	}
	return out
}

func (s *Service) createTargetGroup(call *account.Call, in *createTargetGroup) (any, error) {
	tags, err := s.newTags(in.Tags)
	if err != nil {
		return nil, err
	}
	next, err := s.groupOf(in)
	if err != nil {
		return nil, err
	}
	var out targetGroup
	err = s.change(call, func(now *state) error {
		same := now.TargetGroups.All(func(g *groupRow) bool { return g.TargetGroupName == in.Name })
		if len(same) > 0 {
			old := same[0].targetGroup
			next.TargetGroupArn, next.LoadBalancerArns = old.TargetGroupArn, old.LoadBalancerArns
			if !reflect.DeepEqual(old, next) || s.otherTags(same[0].Tags, tags) {
				return refuse("DuplicateTargetGroupName", "A target group with the same name '%s' exists, but with different settings", in.Name)
			}
			out = same[0].shape()
			return nil
		}
		if err := s.full(limitGroups, now.TargetGroups.Len(), "TooManyTargetGroups", "The maximum number of target groups has been reached"); err != nil {
			return err
		}
		next.TargetGroupArn = s.Home.ARN(service, "targetgroup/"+in.Name+"/"+s.IDs.Hex(16))
		row := groupRow{targetGroup: next, Tags: tags, Made: call.Now, Attributes: defaults(groupKnobs(next))}
		out = now.TargetGroups.Put(next.TargetGroupArn, row).shape()
		return nil
	})
	return targetGroupsOut{TargetGroups: []targetGroup{out}}, err
}

// groupOf is the target group that a create asks for, with every default filled in.
func (s *Service) groupOf(in *createTargetGroup) (targetGroup, error) {
	out := targetGroup{TargetGroupName: in.Name, TargetType: cmp.Or(in.TargetType, "instance"), Protocol: in.Protocol,
		ProtocolVersion: in.ProtocolVersion, Port: deref(in.Port, 0), VpcId: in.VpcId, IpAddressType: cmp.Or(in.IpAddressType, ipv4),
		TargetControlPort: deref(in.TargetControlPort, 0)}
	err := then(
		func() error { return checkName("Target group", in.Name) },
		func() error { return oneOf(out.TargetType, "targetType", "instance", "ip", "lambda", "alb") },
		func() error { return oneOf(out.IpAddressType, "ipAddressType", ipv4, "ipv6") },
		func() error { return s.checkGroup(&out, in) },
		func() error { return startHealth(&out, in.healthCheck) },
	)
	return out, err
}

func (s *Service) checkGroup(g *targetGroup, in *createTargetGroup) error {
	if g.TargetType == "lambda" {
		if in.Protocol != "" || in.Port != nil || in.VpcId != "" {
			return invalid("Protocol, port and VPC cannot be specified for target groups with target type 'lambda'")
		}
		g.IpAddressType = ""
		return nil
	}
	known := []string{"HTTP", "HTTPS", "TCP", "TLS", "UDP", "TCP_UDP", "QUIC", "TCP_QUIC"}
	switch {
	case in.Protocol == "":
		return invalid("A protocol must be specified")
	case !slices.Contains(known, in.Protocol):
		return oneOf(in.Protocol, "protocol", known...)
	case in.Port == nil:
		return invalid("A port must be specified")
	case g.Port < 1 || g.Port > 65535:
		return breaks(g.Port, "port", "have value between 1 and 65535")
	case in.VpcId == "":
		return invalid("A VPC ID must be specified")
	case g.TargetType == "alb" && in.Protocol != "TCP":
		return invalid("Protocol '%s' is not supported for target groups with target type 'alb': it must be TCP", in.Protocol)
	case g.TargetType != "ip" && g.TargetType != "instance" && g.IpAddressType == "ipv6":
		return invalid("IP address type 'ipv6' is only supported for target types 'ip' and 'instance'")
	}
	if _, ok := s.Network.FindVPC(in.VpcId); !ok {
		return invalid("The VPC ID '%s' is not found", in.VpcId)
	}
	return versionOf(g)
}

func overHTTP(protocol string) bool { return protocol == "HTTP" || protocol == "HTTPS" }

func versionOf(g *targetGroup) error {
	if !overHTTP(g.Protocol) {
		if g.ProtocolVersion != "" {
			return invalid("A protocol version cannot be specified for target groups with protocol '%s'", g.Protocol)
		}
		return nil
	}
	g.ProtocolVersion = cmp.Or(g.ProtocolVersion, "HTTP1")
	return oneOf(g.ProtocolVersion, "protocolVersion", "HTTP1", "HTTP2", "GRPC")
}

func (s *Service) modifyTargetGroup(call *account.Call, in *modifyTargetGroup) (any, error) {
	var out targetGroup
	err := s.change(call, func(now *state) error {
		old, err := now.group(in.TargetGroupArn)
		if err != nil {
			return err
		}
		next := *old
		if err := setHealth(&next.targetGroup, in.healthCheck); err != nil {
			return err
		}
		out = now.TargetGroups.Put(in.TargetGroupArn, next).shape()
		return nil
	})
	return targetGroupsOut{TargetGroups: []targetGroup{out}}, err
}

func (s *Service) describeTargetGroups(call *account.Call, in *describeTargetGroups) (any, error) {
	given := 0
	for _, has := range []bool{in.LoadBalancerArn != "", len(in.Names) > 0, len(in.TargetGroupArns) > 0} {
		if has {
			given++
		}
	}
	if given > 1 {
		return nil, invalid("Target group names, target group ARNs, and a load balancer ARN cannot be specified at the same time")
	}
	now := s.view(call)
	if in.LoadBalancerArn != "" {
		if _, err := now.lb(in.LoadBalancerArn); err != nil {
			return nil, err
		}
	}
	for _, arn := range in.TargetGroupArns {
		if _, err := now.group(arn); err != nil {
			return nil, err
		}
	}
	found := now.TargetGroups.All(func(g *groupRow) bool {
		return wanted(in.TargetGroupArns, g.TargetGroupArn) && wanted(in.Names, g.TargetGroupName) &&
			(in.LoadBalancerArn == "" || slices.Contains(g.LoadBalancerArns, in.LoadBalancerArn))
	})
	if len(found) < len(in.Names) {
		return nil, refuse("TargetGroupNotFound", "One or more target groups not found")
	}
	rows, next, err := page(found, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	out := targetGroupsOut{NextMarker: next, TargetGroups: []targetGroup{}}
	for _, g := range rows {
		out.TargetGroups = append(out.TargetGroups, g.shape())
	}
	return out, nil
}

func (s *Service) deleteTargetGroup(call *account.Call, in *ofTargetGroup) (any, error) {
	return nothing{}, s.change(call, func(now *state) error {
		g, err := now.group(in.TargetGroupArn)
		if codeOf(err) == "TargetGroupNotFound" && !s.Undocumented.MissingGroupFails {
			return nil // the only error documented for this action is ResourceInUse
		}
		switch {
		case err != nil:
			return err
		case len(g.LoadBalancerArns) > 0 || !g.Freed.IsZero() && call.Now.Before(g.Freed.Add(s.Times.Freeing)):
			return refuse("ResourceInUse", "Target group '%s' is currently in use by a listener or a rule", in.TargetGroupArn)
		}
		now.TargetGroups.Delete(in.TargetGroupArn)
		return nil
	})
}
