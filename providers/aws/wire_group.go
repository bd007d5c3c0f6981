package aws

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/lbmodel"
)

const trafficPort = "traffic-port"

// sdkGroup is a target group as AWS makes one.
func sdkGroup(name, vpc string, g *TargetGroup, t tags) *elb.CreateTargetGroupInput {
	h := sdkHealth(g)
	out := &elb.CreateTargetGroupInput{
		Name: &name, VpcId: &vpc, Tags: t.elb(), Port: &g.Port,
		Protocol: types.ProtocolEnum(g.Protocol), TargetType: types.TargetTypeEnum(g.TargetType),
		IpAddressType:       types.TargetGroupIpAddressTypeEnum(g.Family),
		HealthCheckProtocol: h.HealthCheckProtocol, HealthCheckPort: h.HealthCheckPort, HealthCheckPath: h.HealthCheckPath, Matcher: h.Matcher,
		HealthCheckIntervalSeconds: h.HealthCheckIntervalSeconds, HealthCheckTimeoutSeconds: h.HealthCheckTimeoutSeconds,
		HealthyThresholdCount: h.HealthyThresholdCount, UnhealthyThresholdCount: h.UnhealthyThresholdCount,
	}
	if g.Version != "" {
		out.ProtocolVersion = &g.Version
	}
	return out
}

// sdkHealth is a group's health check as AWS changes it.
func sdkHealth(g *TargetGroup) *elb.ModifyTargetGroupInput {
	h := &g.Health
	out := &elb.ModifyTargetGroupInput{
		HealthCheckProtocol: types.ProtocolEnum(h.Protocol), HealthCheckPort: aws.String(trafficPort),
		HealthCheckIntervalSeconds: &h.Interval, HealthCheckTimeoutSeconds: &h.Timeout,
		HealthyThresholdCount: &h.Healthy, UnhealthyThresholdCount: &h.Unhealthy,
	}
	if h.Port != 0 {
		out.HealthCheckPort = aws.String(portText(h.Port))
	}
	if h.Path != "" {
		out.HealthCheckPath = &h.Path
	}
	switch {
	case h.Matcher == "":
	case g.Version == versionGRPC:
		out.Matcher = &types.Matcher{GrpcCode: &h.Matcher}
	default:
		out.Matcher = &types.Matcher{HttpCode: &h.Matcher}
	}
	return out
}

// specGroup reads a target group and its attributes.
func specGroup(g *types.TargetGroup, attributes map[string]string) *TargetGroup {
	out := &TargetGroup{
		Protocol: string(g.Protocol), Version: aws.ToString(g.ProtocolVersion), TargetType: string(g.TargetType),
		Family: cmp.Or(string(g.IpAddressType), familyIPv4), Port: aws.ToInt32(g.Port), VPC: aws.ToString(g.VpcId), Attributes: attributes,
		Health: Health{
			Protocol: string(g.HealthCheckProtocol), Interval: aws.ToInt32(g.HealthCheckIntervalSeconds), Timeout: aws.ToInt32(g.HealthCheckTimeoutSeconds),
			Healthy: aws.ToInt32(g.HealthyThresholdCount), Unhealthy: aws.ToInt32(g.UnhealthyThresholdCount),
		},
	}
	h := &out.Health
	if p, err := strconv.ParseInt(aws.ToString(g.HealthCheckPort), 10, 32); err == nil {
		h.Port = int32(p)
	}
	if h.Protocol == "HTTP" || h.Protocol == "HTTPS" {
		h.Path = aws.ToString(g.HealthCheckPath)
	}
	if m := g.Matcher; m != nil {
		h.Matcher = cmp.Or(aws.ToString(m.GrpcCode), aws.ToString(m.HttpCode))
	}
	if g.HealthCheckEnabled != nil && !*g.HealthCheckEnabled {
		h.Protocol = "" // somebody has turned the checks off
	}
	return out
}

// specTargets reads who is registered: a target that drains is not. instances are
// named by their IDs.
func specTargets(group Ref, all []types.TargetHealthDescription, ref refOf, listener func(balancer string, port int32) Ref) (*Targets, map[lbmodel.Target]lbmodel.Health) {
	out, health := &Targets{Group: group, Targets: []Target{}}, map[lbmodel.Target]lbmodel.Health{}
	for _, d := range all {
		if d.Target == nil || d.TargetHealth == nil || d.TargetHealth.State == types.TargetHealthStateEnumDraining {
			continue
		}
		id, port := aws.ToString(d.Target.Id), aws.ToInt32(d.Target.Port)
		one := Target{ID: id, Port: port}
		if strings.HasPrefix(id, "arn:") {
			one = Target{LoadBalancer: ref(KindLoadBalancer, id), Listener: listener(id, port), Port: port}
		}
		out.Targets = append(out.Targets, one)
		health[lbmodel.Target(net.JoinHostPort(id, portText(port)))] = healthState(d.TargetHealth.State)
	}
	slices.SortFunc(out.Targets, compareTargets)
	return out, health
}

func compareTargets(a, b Target) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(string(a.LoadBalancer), string(b.LoadBalancer)), cmp.Compare(a.Port, b.Port))
}

// healthState is what AWS's word means [API_TargetHealth].
func healthState(s types.TargetHealthStateEnum) lbmodel.Health {
	switch s {
	case types.TargetHealthStateEnumHealthy:
		return lbmodel.HealthHealthy
	case types.TargetHealthStateEnumInitial:
		return lbmodel.HealthInitial
	case types.TargetHealthStateEnumUnhealthy, types.TargetHealthStateEnumUnhealthyDraining:
		return lbmodel.HealthUnhealthy
	case types.TargetHealthStateEnumDraining:
		return lbmodel.HealthDraining
	default: // unused: no load balancer leads there yet; unavailable: checks are off
		return lbmodel.HealthUnknown
	}
}

// attributeMap are attributes by their keys.
func attributeMap(all []types.TargetGroupAttribute) map[string]string {
	out := make(map[string]string, len(all))
	for _, a := range all {
		out[aws.ToString(a.Key)] = aws.ToString(a.Value)
	}
	return out
}
