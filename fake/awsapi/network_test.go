package awsapi_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/fake/awsapi"
	sub "gatehouse.dev/fake/awsapi/elb"
)

func tcp(in *elb.CreateTargetGroupInput) { in.Protocol = types.ProtocolEnumTcp }

// A Network Load Balancer's own rules: addresses, groups, families, ALBs as targets.
func TestNetworkLoadBalancers(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	plain, both := w.lb("plain", nlb), w.lb("both", nlb, func(in *elb.CreateLoadBalancerInput) { in.IpAddressType = types.IpAddressTypeDualstack })
	if plain.CanonicalHostedZoneId == nil || len(plain.SecurityGroups) != 0 {
		t.Errorf("one without security groups is %+v", plain)
	}
	if got := code(w, w.elb.SetSecurityGroups, &elb.SetSecurityGroupsInput{LoadBalancerArn: plain.LoadBalancerArn, SecurityGroups: []string{defaultG}}); got != "InvalidConfigurationRequest" {
		t.Errorf("security groups, only afterwards: %q", got)
	}
	group, other := w.group("a", tcp), w.group("b", tcp)
	listener := w.listener(both, 443, forward(group))
	source := func(family types.SourceIpAddressTypeEnum) []types.RuleCondition {
		return []types.RuleCondition{{Field: aws.String("source-ip"), SourceIpConfig: &types.SourceIpConditionConfig{IpAddressType: family}}}
	}
	w.rule(listener, 1, source(types.SourceIpAddressTypeEnumIpv6), forward(other))
	if got := code(w, w.elb.CreateRule, &elb.CreateRuleInput{ListenerArn: &listener, Priority: aws.Int32(2), Conditions: path("/a"), Actions: forward(other)}); got != "InvalidConfigurationRequest" {
		t.Errorf("a path condition: %q", got)
	}
	weights := []types.Action{{Type: types.ActionTypeEnumForward, ForwardConfig: &types.ForwardActionConfig{TargetGroups: []types.TargetGroupTuple{{TargetGroupArn: &group}, {TargetGroupArn: &other}}}}}
	if got := code(w, w.elb.ModifyListener, &elb.ModifyListenerInput{ListenerArn: &listener, DefaultActions: weights}); got != "ValidationError" {
		t.Errorf("two groups without weights: %q", got)
	}
	front := w.lb("front")
	w.listener(front, 80, notFound())
	chain := w.group("chain", func(in *elb.CreateTargetGroupInput) {
		in.Protocol, in.Port, in.TargetType = types.ProtocolEnumTcp, aws.Int32(80), types.TargetTypeEnumAlb
	})
	w.listener(plain, 80, forward(chain))
	w.register(chain, *front.LoadBalancerArn)
	if got := code(w, w.elb.DeleteLoadBalancer, &elb.DeleteLoadBalancerInput{LoadBalancerArn: front.LoadBalancerArn}); got != "ResourceInUse" {
		t.Errorf("a load balancer that is another's target can be deleted: %q", got)
	}
	attributes := must(w, w.elb.DescribeTargetGroupAttributes, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: &group}).Attributes
	has := map[string]string{}
	for _, a := range attributes {
		has[*a.Key] = *a.Value
	}
	if has["preserve_client_ip.enabled"] != "false" || has["deregistration_delay.timeout_seconds"] != "300" || has["stickiness.type"] != "source_ip" {
		t.Errorf("a TCP group of addresses has %v", has)
	}
}

// A switch for what AWS does not document is off, or on, and nothing else.
func TestUndocumented(t *testing.T) {
	for _, c := range []struct {
		name string
		side sub.Undocumented
		do   func(w *world) string
		off  string
		on   string
	}{
		{"tags", sub.Undocumented{TagsAreSettings: true}, func(w *world) string {
			w.group("web")
			return code(w, w.elb.CreateTargetGroup, &elb.CreateTargetGroupInput{Name: aws.String("web"), Protocol: types.ProtocolEnumHttp, Port: aws.Int32(8080), VpcId: aws.String(vpc),
				TargetType: types.TargetTypeEnumIp, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}})
		}, "", "DuplicateTargetGroupName"},
		{"draining while unused", sub.Undocumented{UnusedDrain: true}, func(w *world) string {
			group := w.group("web")
			w.register(group, "10.0.1.1")
			must(w, w.elb.DeregisterTargets, &elb.DeregisterTargetsInput{TargetGroupArn: &group, Targets: targets("10.0.1.1")})
			return w.states(group)["10.0.1.1"]
		}, "", "draining"},
		{"deleting what is not there", sub.Undocumented{MissingGroupFails: true}, func(w *world) string {
			group := w.group("web")
			must(w, w.elb.DeleteTargetGroup, &elb.DeleteTargetGroupInput{TargetGroupArn: &group})
			return code(w, w.elb.DeleteTargetGroup, &elb.DeleteTargetGroupInput{TargetGroupArn: &group})
		}, "", "TargetGroupNotFound"},
		{"header names", sub.Undocumented{HeaderNameCounts: true}, func(w *world) string {
			listener := w.listener(w.lb("shop"), 80, notFound())
			five := []types.RuleCondition{{Field: aws.String("http-header"), HttpHeaderConfig: &types.HttpHeaderConditionConfig{HttpHeaderName: aws.String("a"), Values: []string{"1", "2", "3", "4", "5"}}}}
			return code(w, w.elb.CreateRule, &elb.CreateRuleInput{ListenerArn: &listener, Priority: aws.Int32(1), Conditions: five, Actions: notFound()})
		}, "", "ValidationError"},
		{"four values", sub.Undocumented{ThreePerCondition: true}, func(w *world) string {
			listener := w.listener(w.lb("shop"), 80, notFound())
			return code(w, w.elb.CreateRule, &elb.CreateRuleInput{ListenerArn: &listener, Priority: aws.Int32(1), Conditions: path("/1", "/2", "/3", "/4"), Actions: notFound()})
		}, "", "ValidationError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if off, on := c.do(newWorld(t, awsapi.Config{})), c.do(newWorld(t, awsapi.Config{Undocumented: c.side})); off != c.off || on != c.on {
				t.Errorf("off: %q, want %q; on: %q, want %q", off, c.off, on, c.on)
			}
		})
	}
}
