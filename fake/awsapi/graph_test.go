package awsapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/fake/awsapi"
	sub "gatehouse.dev/fake/awsapi/elb"
)

// A whole graph is made, seen and removed, and leaves nothing behind.
func TestEverythingGoes(t *testing.T) {
	w := newWorld(t, awsapi.Config{Times: awsapi.Times{Times: sub.Times{Provisioning: 2 * time.Minute, Initial: 30 * time.Second}}})
	lb := w.lb("shop")
	if !strings.HasPrefix(*lb.LoadBalancerArn, "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/shop/") ||
		!strings.HasPrefix(*lb.DNSName, "shop-") || !strings.HasSuffix(*lb.DNSName, ".us-east-1.elb.amazonaws.com") ||
		lb.State.Code != types.LoadBalancerStateEnumProvisioning || *lb.VpcId != vpc || lb.SecurityGroups[0] != defaultG || len(lb.AvailabilityZones) != 2 {
		t.Errorf("a new load balancer is %+v", lb)
	}
	group := w.group("web")
	listener := w.listener(lb, 80, notFound())
	rule := w.rule(listener, 10, path("/a", "/a/*"), forward(group))
	w.register(group, "10.0.1.1", "10.0.1.2")
	if got := w.states(group); got["10.0.1.1"] != "initial" {
		t.Errorf("before the load balancer is active targets are %v", got)
	}
	w.clock.Advance(2 * time.Minute)
	again := must(w, w.elb.DescribeLoadBalancers, &elb.DescribeLoadBalancersInput{Names: []string{"shop"}})
	if again.LoadBalancers[0].State.Code != types.LoadBalancerStateEnumActive {
		t.Errorf("after two minutes it is %v", again.LoadBalancers[0].State)
	}
	w.clock.Advance(30 * time.Second)
	if got := w.states(group); got["10.0.1.1"] != "healthy" || got["10.0.1.2"] != "healthy" {
		t.Errorf("after the first checks targets are %v", got)
	}
	if got := code(w, w.elb.DeleteTargetGroup, &elb.DeleteTargetGroupInput{TargetGroupArn: &group}); got != "ResourceInUse" {
		t.Errorf("a group in use can be deleted: %q", got)
	}
	must(w, w.elb.DeleteRule, &elb.DeleteRuleInput{RuleArn: &rule})
	if got := w.states(group); got["10.0.1.1"] != "unused" {
		t.Errorf("without a rule targets are %v", got)
	}
	must(w, w.elb.DeleteLoadBalancer, &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn})
	must(w, w.elb.DeleteLoadBalancer, &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn})
	must(w, w.elb.DeleteTargetGroup, &elb.DeleteTargetGroupInput{TargetGroupArn: &group})
	if diff := cmp.Diff(awsapi.Empty(), w.Dump()); diff != "" {
		t.Errorf("something is left (-empty +is):\n%s", diff)
	}
}

// A target in a zone where the load balancer does not stand is not used.
func TestZones(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	group := w.group("web")
	lb := w.lb("shop")
	w.listener(lb, 80, forward(group))
	w.register(group, "10.0.1.1", "10.0.33.1") // zones a and c
	if diff := cmp.Diff(map[string]string{"10.0.1.1": "healthy", "10.0.33.1": "unused"}, w.states(group)); diff != "" {
		t.Errorf("in zones a and b (-want +is):\n%s", diff)
	}
	zones := must(w, w.elb.SetSubnets, &elb.SetSubnetsInput{LoadBalancerArn: lb.LoadBalancerArn, Subnets: []string{publicA, publicB, publicC}}).AvailabilityZones
	if got := w.states(group)["10.0.33.1"]; got != "healthy" || len(zones) != 3 {
		t.Errorf("in all three zones it is %s", got)
	}
}

// A target group stays in use for a while after its last rule went.
func TestFreeing(t *testing.T) {
	w := newWorld(t, awsapi.Config{Times: awsapi.Times{Times: sub.Times{Freeing: 5 * time.Second}}})
	group := w.group("web")
	listener := w.listener(w.lb("shop"), 80, forward(group))
	must(w, w.elb.DeleteListener, &elb.DeleteListenerInput{ListenerArn: &listener})
	w.clock.Advance(4 * time.Second)
	if got := code(w, w.elb.DeleteTargetGroup, &elb.DeleteTargetGroupInput{TargetGroupArn: &group}); got != "ResourceInUse" {
		t.Errorf("after four seconds: %q", got)
	}
	w.clock.Advance(time.Second)
	must(w, w.elb.DeleteTargetGroup, &elb.DeleteTargetGroupInput{TargetGroupArn: &group})
}

// Creates with the same name and settings succeed and make nothing new; with other
// settings they are refused.
func TestCreatesAreIdempotent(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	lb := w.lb("shop")
	group := w.group("web")
	listener := w.listener(lb, 80, forward(group))
	before := w.Dump()
	if again := w.lb("shop"); *again.LoadBalancerArn != *lb.LoadBalancerArn || w.group("web") != group || w.listener(lb, 80, forward(group)) != listener {
		t.Error("the same create makes another resource")
	}
	if w.Dump() != before {
		t.Error("the same create changes the account")
	}
	other := must(w, w.elb.CreateTargetGroup, &elb.CreateTargetGroupInput{Name: aws.String("alike"), Protocol: types.ProtocolEnumHttp, Port: aws.Int32(8080), VpcId: aws.String(vpc)})
	for _, c := range []struct {
		name, want string
		call       func() string
		why        string
	}{
		{"load balancer", "DuplicateLoadBalancerName", func() string {
			return code(w, w.elb.CreateLoadBalancer, &elb.CreateLoadBalancerInput{Name: aws.String("shop"), Subnets: []string{publicA, publicC}})
		}, "other subnets"},
		{"target group", "DuplicateTargetGroupName", func() string {
			return code(w, w.elb.CreateTargetGroup, &elb.CreateTargetGroupInput{Name: aws.String("web"), Protocol: types.ProtocolEnumHttp, Port: aws.Int32(9090), VpcId: aws.String(vpc), TargetType: types.TargetTypeEnumIp})
		}, "another port"},
		{"listener", "DuplicateListener", func() string {
			return code(w, w.elb.CreateListener, &elb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(80), Protocol: types.ProtocolEnumHttp, DefaultActions: forward(*other.TargetGroups[0].TargetGroupArn)})
		}, "another default action"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.call(); got != c.want {
				t.Errorf("%s: got %q, want %q", c.why, got, c.want)
			}
		})
	}
	rule := &elb.CreateRuleInput{ListenerArn: &listener, Priority: aws.Int32(1), Conditions: path("/a"), Actions: forward(group)}
	must(w, w.elb.CreateRule, rule)
	if got := code(w, w.elb.CreateRule, rule); got != "PriorityInUse" {
		t.Errorf("a second rule with the same priority: %q; creating rules is not idempotent", got)
	}
}

// What is described is not word for word what was asked for.
func TestEchoes(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	lb := w.lb("Shop")
	a, b := w.group("a"), w.group("b")
	listener := w.listener(lb, 80, notFound())
	host := []types.RuleCondition{{Field: aws.String("host-header"), Values: []string{"a.example.com"}},
		{Field: aws.String("http-header"), HttpHeaderConfig: &types.HttpHeaderConditionConfig{HttpHeaderName: aws.String("x-a"), RegexValues: []string{"^v$"}}}}
	w.rule(listener, 7, host, forward(a))
	w.rule(listener, 3, []types.RuleCondition{{Field: aws.String("path-pattern"), PathPatternConfig: &types.PathPatternConditionConfig{RegexValues: []string{"^/x$"}}}},
		[]types.Action{{Type: types.ActionTypeEnumRedirect, RedirectConfig: &types.RedirectActionConfig{StatusCode: types.RedirectActionStatusCodeEnumHttp302, Host: aws.String("b.example.com")}}})
	w.rule(listener, 5, path("/y"), []types.Action{{Type: types.ActionTypeEnumForward, ForwardConfig: &types.ForwardActionConfig{
		TargetGroups: []types.TargetGroupTuple{{TargetGroupArn: &a, Weight: aws.Int32(1)}, {TargetGroupArn: &b, Weight: aws.Int32(0)}}}}})
	rules := must(w, w.elb.DescribeRules, &elb.DescribeRulesInput{ListenerArn: &listener}).Rules
	var order []string
	for _, r := range rules {
		order = append(order, *r.Priority)
		if r.Actions[0].Order == nil || *r.Actions[0].Order != 1 {
			t.Errorf("rule %s has no order", *r.Priority)
		}
	}
	if got := strings.Join(order, " "); got != "3 5 7 default" || !*rules[3].IsDefault {
		t.Errorf("rules come as %s", got)
	}
	red := rules[0].Actions[0].RedirectConfig
	if got := strings.Join([]string{*red.Protocol, *red.Host, *red.Port, *red.Path, *red.Query}, " "); got != "#{protocol} b.example.com #{port} /#{path} #{query}" {
		t.Errorf("a redirect is described as %s", got)
	}
	if c := rules[0].Conditions[0]; len(c.RegexValues) != 1 || c.RegexValues[0] != "^/x$" {
		t.Errorf("regular expressions are not mirrored: %+v", c)
	}
	if c := rules[2].Conditions[0]; c.HostHeaderConfig == nil || c.HostHeaderConfig.Values[0] != "a.example.com" || c.Values[0] != "a.example.com" {
		t.Errorf("host values are not mirrored: %+v", c)
	}
	one := rules[2].Actions[0]
	if *one.TargetGroupArn != a || *one.ForwardConfig.TargetGroups[0].Weight != 1 || *one.ForwardConfig.TargetGroupStickinessConfig.Enabled {
		t.Errorf("a forward to one group is described as %+v", one)
	}
	if many := rules[1].Actions[0]; many.TargetGroupArn != nil || *many.ForwardConfig.TargetGroups[1].Weight != 0 {
		t.Errorf("a forward to two groups is described as %+v", many)
	}
	w.register(a, "10.0.17.9")
	h := must(w, w.elb.DescribeTargetHealth, &elb.DescribeTargetHealthInput{TargetGroupArn: &a}).TargetHealthDescriptions[0]
	if *h.Target.AvailabilityZone != "us-east-1b" || *h.Target.Port != 8080 || *h.HealthCheckPort != "8080" {
		t.Errorf("a target is described as %+v", h.Target)
	}
	if !strings.Contains(*lb.DNSName, "Shop-") {
		t.Errorf("the DNS name %s loses the name's case", *lb.DNSName)
	}
}

// Deregistered targets drain, and come back when they are registered again.
func TestDraining(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	group := w.group("web")
	w.listener(w.lb("shop"), 80, forward(group))
	w.register(group, "10.0.1.1", "10.0.1.2", "10.0.1.3")
	away := &elb.DeregisterTargetsInput{TargetGroupArn: &group, Targets: targets("10.0.1.1", "10.0.1.2")}
	must(w, w.elb.DeregisterTargets, away)
	w.clock.Advance(299 * time.Second)
	w.register(group, "10.0.1.2")
	want := map[string]string{"10.0.1.1": "draining", "10.0.1.2": "healthy", "10.0.1.3": "healthy"}
	if diff := cmp.Diff(want, w.states(group)); diff != "" {
		t.Errorf("just before the delay is over (-want +is):\n%s", diff)
	}
	w.clock.Advance(time.Second)
	delete(want, "10.0.1.1")
	if diff := cmp.Diff(want, w.states(group)); diff != "" {
		t.Errorf("after the delay (-want +is):\n%s", diff)
	}
	asked := must(w, w.elb.DescribeTargetHealth, &elb.DescribeTargetHealthInput{TargetGroupArn: &group, Targets: targets("10.0.1.1")})
	if h := asked.TargetHealthDescriptions[0].TargetHealth; h.State != "unused" || h.Reason != "Target.NotRegistered" {
		t.Errorf("a target that is gone is %+v", h)
	}
	must(w, w.elb.ModifyTargetGroupAttributes, &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: &group,
		Attributes: []types.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"), Value: aws.String("0")}}})
	must(w, w.elb.DeregisterTargets, &elb.DeregisterTargetsInput{TargetGroupArn: &group, Targets: targets("10.0.1.3")})
	if got := w.states(group); len(got) != 1 {
		t.Errorf("with a delay of 0 there are still %v", got)
	}
}

// The SDK's own waiters and paginators work.
func TestWaitersAndPaginators(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	group := w.group("web")
	lb := w.lb("shop")
	listener := w.listener(lb, 80, forward(group))
	w.register(group, "10.0.1.1")
	named := &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{*lb.LoadBalancerArn}}
	if err := elb.NewLoadBalancerAvailableWaiter(w.elb).Wait(t.Context(), named, time.Second); err != nil {
		t.Errorf("available: %v", err)
	}
	if err := elb.NewTargetInServiceWaiter(w.elb).Wait(t.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: &group}, time.Second); err != nil {
		t.Errorf("in service: %v", err)
	}
	for i := range 25 {
		w.rule(listener, int32(i+1), path(fmt.Sprintf("/%d", i)), forward(group))
		w.group(fmt.Sprintf("more-%d", i))
	}
	pages, groups := elb.NewDescribeTargetGroupsPaginator(w.elb, &elb.DescribeTargetGroupsInput{PageSize: aws.Int32(10)}), 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		groups += len(page.TargetGroups)
	}
	rules := elb.NewDescribeRulesPaginator(w.elb, &elb.DescribeRulesInput{ListenerArn: &listener, PageSize: aws.Int32(26)})
	first, err := rules.NextPage(t.Context())
	if err != nil || groups != 26 || len(first.Rules) != 26 || rules.HasMorePages() {
		t.Errorf("%d groups, %d rules in the first page, more=%v: %v", groups, len(first.Rules), rules.HasMorePages(), err)
	}
	if got := code(w, w.elb.DescribeTargetGroups, &elb.DescribeTargetGroupsInput{PageSize: aws.Int32(401)}); got != "ValidationError" {
		t.Errorf("a page of 401: %q", got)
	}
	must(w, w.elb.DeleteLoadBalancer, &elb.DeleteLoadBalancerInput{LoadBalancerArn: lb.LoadBalancerArn})
	if err := elb.NewLoadBalancersDeletedWaiter(w.elb).Wait(t.Context(), named, time.Second); err != nil {
		t.Errorf("deleted: %v", err)
	}
}

// Priorities may be permuted in one call, and collide with nothing else.
func TestSetRulePriorities(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	group := w.group("web")
	listener := w.listener(w.lb("shop"), 80, notFound())
	a, b, c := w.rule(listener, 1, path("/a"), forward(group)), w.rule(listener, 2, path("/b"), forward(group)), w.rule(listener, 3, path("/c"), forward(group))
	set := func(pairs ...any) *elb.SetRulePrioritiesInput {
		in := &elb.SetRulePrioritiesInput{}
		for i := 0; i < len(pairs); i += 2 {
			in.RulePriorities = append(in.RulePriorities, types.RulePriorityPair{RuleArn: aws.String(pairs[i].(string)), Priority: aws.Int32(int32(pairs[i+1].(int)))})
		}
		return in
	}
	must(w, w.elb.SetRulePriorities, set(a, 2, b, 1))
	if got := code(w, w.elb.SetRulePriorities, set(a, 3)); got != "PriorityInUse" {
		t.Errorf("a priority of another rule: %q", got)
	}
	if got := code(w, w.elb.SetRulePriorities, set(a, 9, b, 9)); got != "ValidationError" {
		t.Errorf("one priority for two: %q", got)
	}
	rules := must(w, w.elb.DescribeRules, &elb.DescribeRulesInput{ListenerArn: &listener}).Rules
	if *rules[0].RuleArn != b || *rules[1].RuleArn != a || *rules[2].RuleArn != c {
		t.Error("rules are not in their new order")
	}
	if got := code(w, w.elb.DeleteRule, &elb.DeleteRuleInput{RuleArn: rules[3].RuleArn}); got != "OperationNotPermitted" {
		t.Errorf("the default rule can be deleted: %q", got)
	}
}
