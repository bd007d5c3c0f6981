package awsapi_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/fake/awsapi"
)

// Every quota refuses the one too many, with AWS's code, and is what
// DescribeAccountLimits tells.
func TestQuotas(t *testing.T) {
	for _, c := range []struct {
		limit, want string
		n           int
		one         func(w *world, i int) string // makes the i-th, from 0
	}{
		{"application-load-balancers", "TooManyLoadBalancers", 2, func(w *world, i int) string {
			return code(w, w.elb.CreateLoadBalancer, &elb.CreateLoadBalancerInput{Name: aws.String(fmt.Sprint("lb", i)), Subnets: []string{publicA, publicB}})
		}},
		{"target-groups", "TooManyTargetGroups", 2, func(w *world, i int) string {
			return code(w, w.elb.CreateTargetGroup, &elb.CreateTargetGroupInput{Name: aws.String(fmt.Sprint("tg", i)), Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80), VpcId: aws.String(vpc)})
		}},
		{"listeners-per-application-load-balancer", "TooManyListeners", 2, func(w *world, i int) string {
			return code(w, w.elb.CreateListener, &elb.CreateListenerInput{LoadBalancerArn: w.lb("shop").LoadBalancerArn, Port: aws.Int32(int32(80 + i)), Protocol: types.ProtocolEnumHttp, DefaultActions: notFound()})
		}},
		{"rules-per-application-load-balancer", "TooManyRules", 4, func(w *world, i int) string {
			listener := w.listener(w.lb("shop"), int32(80+i%2), notFound()) // all listeners together
			return code(w, w.elb.CreateRule, &elb.CreateRuleInput{ListenerArn: &listener, Priority: aws.Int32(int32(i + 1)), Conditions: path("/a"), Actions: notFound()})
		}},
		{"target-groups-per-application-load-balancer", "TooManyUniqueTargetGroupsPerLoadBalancer", 2, func(w *world, i int) string {
			listener := w.listener(w.lb("shop"), 80, notFound())
			return code(w, w.elb.CreateRule, &elb.CreateRuleInput{ListenerArn: &listener, Priority: aws.Int32(int32(i + 1)), Conditions: path("/a"), Actions: forward(w.group(fmt.Sprint("g", i)))})
		}},
		{"targets-per-target-group", "TooManyTargets", 3, func(w *world, i int) string {
			return code(w, w.elb.RegisterTargets, &elb.RegisterTargetsInput{TargetGroupArn: aws.String(w.group("web")), Targets: targets(fmt.Sprintf("10.0.1.%d", i+1))})
		}},
		{"targets-per-application-load-balancer", "TooManyTargets", 3, func(w *world, i int) string {
			group := w.group(fmt.Sprint("g", i))
			w.rule(w.listener(w.lb("shop"), 80, notFound()), int32(i+1), path("/a"), forward(group))
			return code(w, w.elb.RegisterTargets, &elb.RegisterTargetsInput{TargetGroupArn: &group, Targets: targets(fmt.Sprintf("10.0.1.%d", i+1))})
		}},
	} {
		t.Run(c.limit, func(t *testing.T) {
			w := newWorld(t, awsapi.Config{Limits: map[string]int{c.limit: c.n}})
			for i := range c.n {
				if got := c.one(w, i); got != "" {
					t.Fatalf("number %d is refused: %s", i+1, got)
				}
			}
			before := w.Dump()
			if got := c.one(w, c.n); got != c.want {
				t.Errorf("one too many: %q, want %q", got, c.want)
			}
			if c.limit == "application-load-balancers" && w.Dump() != before {
				t.Error("what was refused left something behind")
			}
			told := map[string]string{}
			for _, l := range must(w, w.elb.DescribeAccountLimits, &elb.DescribeAccountLimitsInput{}).Limits {
				told[*l.Name] = *l.Max
			}
			if told[c.limit] != fmt.Sprint(c.n) {
				t.Errorf("DescribeAccountLimits says %q", told[c.limit])
			}
		})
	}
}

// What the API's validation refuses, it refuses with AWS's code.
func TestRefusals(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	lb := w.lb("shop")
	net := w.lb("net", nlb)
	web, udp := w.group("web"), w.group("udp", func(in *elb.CreateTargetGroupInput) { in.Protocol = types.ProtocolEnumUdp })
	grpc := w.group("grpc", func(in *elb.CreateTargetGroupInput) { in.ProtocolVersion = aws.String("GRPC") })
	listener := w.listener(lb, 80, forward(web))
	second := w.lb("second")
	create := func(change func(*elb.CreateLoadBalancerInput)) string {
		in := &elb.CreateLoadBalancerInput{Name: aws.String("new"), Subnets: []string{publicA, publicB}}
		change(in)
		return code(w, w.elb.CreateLoadBalancer, in)
	}
	rule := func(conditions []types.RuleCondition, actions []types.Action) string {
		return code(w, w.elb.CreateRule, &elb.CreateRuleInput{ListenerArn: &listener, Priority: aws.Int32(9), Conditions: conditions, Actions: actions})
	}
	listen := func(lb types.LoadBalancer, protocol types.ProtocolEnum, actions []types.Action) string {
		return code(w, w.elb.CreateListener, &elb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(99), Protocol: protocol, DefaultActions: actions})
	}
	redirect := func(r types.RedirectActionConfig) []types.Action {
		r.StatusCode = types.RedirectActionStatusCodeEnumHttp301
		return []types.Action{{Type: types.ActionTypeEnumRedirect, RedirectConfig: &r}}
	}
	for _, c := range []struct{ name, got, want, why string }{
		{"long name", create(func(in *elb.CreateLoadBalancerInput) { in.Name = aws.String("a23456789012345678901234567890123") }), "ValidationError", "33 characters"},
		{"name", create(func(in *elb.CreateLoadBalancerInput) { in.Name = aws.String("a_b") }), "ValidationError", "an underscore"},
		{"hyphen", create(func(in *elb.CreateLoadBalancerInput) { in.Name = aws.String("-a") }), "ValidationError", "it begins with a hyphen"},
		{"internal", create(func(in *elb.CreateLoadBalancerInput) { in.Name = aws.String("internal-a") }), "ValidationError", "a reserved prefix"},
		{"one zone", create(func(in *elb.CreateLoadBalancerInput) { in.Subnets = []string{publicA} }), "ValidationError", "an Application Load Balancer needs two"},
		{"same zone", create(func(in *elb.CreateLoadBalancerInput) { in.Subnets = []string{publicA, "subnet-00000000000000004"} }), "InvalidConfigurationRequest", "two subnets of a zone"},
		{"no subnet", create(func(in *elb.CreateLoadBalancerInput) { in.Subnets = []string{publicA, "subnet-1"} }), "SubnetNotFound", "it does not exist"},
		{"no group", create(func(in *elb.CreateLoadBalancerInput) { in.SecurityGroups = []string{"sg-1"} }), "InvalidSecurityGroup", "it does not exist"},
		{"tags", create(func(in *elb.CreateLoadBalancerInput) {
			in.Tags = []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("a"), Value: aws.String("2")}}
		}), "DuplicateTagKeys", "a key twice"},
		{"protocol", listen(lb, types.ProtocolEnumTcp, forward(web)), "ValidationError", "TCP on an Application Load Balancer"},
		{"udp", listen(net, types.ProtocolEnumTcp, forward(udp)), "IncompatibleProtocols", "a UDP group on a TCP listener"},
		{"network action", listen(net, types.ProtocolEnumTcp, notFound()), "InvalidLoadBalancerAction", "Network Load Balancers only forward"},
		{"network rule", code(w, w.elb.CreateRule, &elb.CreateRuleInput{ListenerArn: aws.String(w.listener(net, 80, forward(w.group("tcp", func(in *elb.CreateTargetGroupInput) { in.Protocol = types.ProtocolEnumTcp })))),
			Priority: aws.Int32(1), Conditions: path("/a"), Actions: forward(udp)}), "OperationNotPermitted", "rules need a dualstack one"},
		{"no certificate", listen(lb, types.ProtocolEnumHttps, notFound()), "ValidationError", "HTTPS without a certificate"},
		{"shared", listen(second, types.ProtocolEnumHttp, forward(web)), "TargetGroupAssociationLimit", "a target group serves one load balancer"},
		{"grpc", rule(path("/a"), forward(grpc)), "InvalidConfigurationRequest", "gRPC needs HTTPS"},
		{"no condition", rule([]types.RuleCondition{}, notFound()), "ValidationError", "a rule has conditions"},
		{"six values", rule(path("/1", "/2", "/3", "/4", "/5", "/6"), notFound()), "ValidationError", "five are allowed"},
		{"wildcards", rule(path("/*/*/*", "/*/*/*"), notFound()), "ValidationError", "five wildcards are allowed"},
		{"path", rule(path("/a%20b"), notFound()), "ValidationError", "no percent signs"},
		{"host", rule([]types.RuleCondition{{Field: aws.String("host-header"), Values: []string{"localhost"}}}, notFound()), "ValidationError", "a host has a dot"},
		{"two paths", rule(append(path("/a"), path("/b")...), notFound()), "ValidationError", "one path condition"},
		{"regex", rule([]types.RuleCondition{{Field: aws.String("path-pattern"), RegexValues: []string{"^(?=a)"}}}, notFound()), "ValidationError", "no lookahead"},
		{"loop", rule(path("/a"), redirect(types.RedirectActionConfig{Protocol: aws.String("HTTP"), Query: aws.String("a=b")})), "InvalidLoadBalancerAction", "a redirect to itself"},
		{"status", rule(path("/a"), []types.Action{{Type: types.ActionTypeEnumFixedResponse, FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: aws.String("301")}}}), "ValidationError", "2xx, 4xx and 5xx only"},
		{"address", code(w, w.elb.RegisterTargets, &elb.RegisterTargetsInput{TargetGroupArn: &web, Targets: targets("8.8.8.8")}), "ValidationError", "a public address"},
		{"outside", code(w, w.elb.RegisterTargets, &elb.RegisterTargetsInput{TargetGroupArn: &web, Targets: targets("192.168.0.1")}), "ValidationError", "outside the VPC a zone is needed"},
		{"attribute", code(w, w.elb.ModifyTargetGroupAttributes, &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: &web, Attributes: []types.TargetGroupAttribute{{Key: aws.String("proxy_protocol_v2.enabled"), Value: aws.String("true")}}}), "ValidationError", "HTTP groups have no proxy protocol"},
		{"tls policy", code(w, w.elb.DescribeSSLPolicies, &elb.DescribeSSLPoliciesInput{Names: []string{"x"}}), "SSLPolicyNotFound", "there is none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %q, want %q: %s", c.got, c.want, c.why)
			}
		})
	}
}

// A load balancer under deletion protection stays.
func TestDeletionProtection(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	lb := w.lb("shop")
	set := func(value string) {
		must(w, w.elb.ModifyLoadBalancerAttributes, &elb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: lb.LoadBalancerArn,
			Attributes: []types.LoadBalancerAttribute{{Key: aws.String("deletion_protection.enabled"), Value: &value}}})
	}
	set("true")
	if got := code(w, w.elb.DeleteLoadBalancer, &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn}); got != "OperationNotPermitted" {
		t.Errorf("protected, and deleted: %q", got)
	}
	set("false")
	must(w, w.elb.DeleteLoadBalancer, &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn})
}
