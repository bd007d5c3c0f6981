package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/fake/awsapi"
	emulated "gatehouse.dev/fake/awsapi/elb"
	"gatehouse.dev/lbmodel"
)

// still are scenarios in which nothing is to be changed.
func still() []scenario {
	out := []scenario{
		{name: "(c) restart, 10 gateways of 5 routes", peer: "191 calls, 0 writes", run: func(l *lab) (result, tally) { return restart(l, 0) }, check: unchanged},
		{name: "(c) restart, 40 gateways of 10 routes", large: true, peer: "not measured", run: largeRestart, check: unchanged},
		{name: "(c) restart, beside 1000 target groups of others", large: true, peer: "39 calls of 10 routes, beside 200", run: func(l *lab) (result, tally) { return restart(l, 1000) }, check: unchanged},
		{name: "(h) rule deleted and target deregistered by hand", peer: "never seen without a touch", run: byHand, check: func(t *testing.T, f figure) {
			if f.took > 8*time.Minute {
				t.Errorf("repaired after %s, want within a scan's interval", f.took)
			}
		}},
		{name: "(j) from in service to programmed", peer: "92 s", times: awsapi.Times{Times: emulated.Times{Initial: initial, Provisioning: provisioning}}, run: provisioned, check: func(t *testing.T, f figure) {
			if f.took > 15*time.Second {
				t.Errorf("programmed %s after it was in service, want one poll", f.took)
			}
		}},
	}
	for _, n := range []int{1, 10, 99} {
		peer := map[int]string{1: "12", 10: "21", 99: "110"}[n]
		out = append(out, scenario{name: fmt.Sprintf("(c) touch, %d routes", n), large: n == 10, peer: peer + " calls, 0 writes", check: silent,
			run: func(l *lab) (result, tally) {
				gw := shop("a", n, n)
				l.bring(gw)
				return l.measure(func() { l.bring(gw) }), tally{}
			}})
	}
	return out
}

func gateways(n, routes int) []lbmodel.Gateway {
	var out []lbmodel.Gateway
	for i := range n {
		out = append(out, shop(fmt.Sprintf("g%d", i), routes, routes))
	}
	return out
}

// restart is a process that begins with everything there.
func restart(l *lab, foreign int) (result, tally) {
	all := gateways(10, 5)
	l.bring(all...)
	l.addForeign(foreign)
	return l.measure(func() {
		l.start()
		l.bring(all...)
	}), nil
}

// largeRestart is one in an account whose groups take longer to be read than most
// providers' calls may: with the limit that AWS's accounts are given it is done at once.
func largeRestart(l *lab) (result, tally) {
	all := gateways(40, 10)
	l.bring(all...)
	out := l.measure(func() {
		l.start()
		l.bring(all...)
	})
	if n := l.account.Calls()["Observe"]; n != 1 {
		l.Errorf("it took %d looks, want one", n)
	}
	return out, nil
}

// addForeign makes target groups of somebody else, in a time that does not count.
func (l *lab) addForeign(n int) {
	client := elb.New(elb.Options{Region: "us-east-1", HTTPClient: l.client(), BaseEndpoint: aws.String("http://aws.test"),
		Credentials: credentials.NewStaticCredentialsProvider("AKIDOTHERS", "secret", "")})
	for i := range n {
		time.Sleep(time.Second)
		if _, err := client.CreateTargetGroup(l.Context(), &elb.CreateTargetGroupInput{Name: aws.String(fmt.Sprintf("theirs-%d", i)),
			Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80), VpcId: aws.String("vpc-0a1b2c3d4e5f60718"), TargetType: types.TargetTypeEnumIp}); err != nil {
			l.Fatal(err)
		}
	}
}

// byHand undoes a rule and a target, and waits for the next scan of drift.
func byHand(l *lab) (result, tally) {
	gw := shop("a", 5, 5)
	l.bring(gw)
	if _, err := l.account.Drift(l.Context()); err != nil {
		l.Fatal(err)
	}
	client := elb.New(elb.Options{Region: "us-east-1", HTTPClient: l.client(), BaseEndpoint: aws.String("http://aws.test"),
		Credentials: credentials.NewStaticCredentialsProvider("AKIDOTHERS", "secret", "")})
	l.undo(client)
	broken := l.holds()
	out := l.measure(func() {
		for range 100 {
			scan, err := l.account.Drift(l.Context())
			if err != nil {
				l.Fatal(err)
			}
			if len(scan.Changed) > 0 {
				l.bring(gw)
				return
			}
			time.Sleep(time.Until(scan.Next))
		}
		l.Fatal("it was never seen")
	})
	if whole := l.holds(); whole.rules != broken.rules+1 || whole.targets != broken.targets+1 {
		l.Errorf("%+v became %+v, want a rule and a target more", broken, whole)
	}
	return out, nil
}

// undo deletes the first rule, and deregisters the first target of some group.
func (l *lab) undo(client *elb.Client) {
	ctx := l.Context()
	balancers, err := client.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{})
	l.must(err)
	listeners, err := client.DescribeListeners(ctx, &elb.DescribeListenersInput{LoadBalancerArn: balancers.LoadBalancers[0].LoadBalancerArn})
	l.must(err)
	rules, err := client.DescribeRules(ctx, &elb.DescribeRulesInput{ListenerArn: listeners.Listeners[0].ListenerArn})
	l.must(err)
	_, err = client.DeleteRule(ctx, &elb.DeleteRuleInput{RuleArn: rules.Rules[0].RuleArn})
	l.must(err)
	groups, err := client.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{})
	l.must(err)
	arn := groups.TargetGroups[len(groups.TargetGroups)-1].TargetGroupArn
	health, err := client.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: arn})
	l.must(err)
	_, err = client.DeregisterTargets(ctx, &elb.DeregisterTargetsInput{TargetGroupArn: arn, Targets: []types.TargetDescription{*health.TargetHealthDescriptions[0].Target}})
	l.must(err)
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// content counts what an account serves.
type content struct{ balancers, groups, rules, targets int }

func (l *lab) holds() (c content) {
	now := l.api.Serving()
	c.balancers, c.groups = len(now.LoadBalancers), len(now.TargetGroups)
	for _, lb := range now.LoadBalancers {
		for _, listener := range lb.Listeners {
			c.rules += len(listener.Rules)
		}
	}
	for _, g := range now.TargetGroups {
		for _, target := range g.Targets {
			if target.State == "" {
				c.targets++
			}
		}
	}
	return c
}

const provisioning = 150 * time.Second

// provisioned measures what comes after a load balancer is in service.
func provisioned(l *lab) (result, tally) {
	out := l.measure(func() { l.bring(shop("a", 10, 10)) })
	var made time.Time
	for _, c := range l.api.Calls() {
		if c.Action == "CreateLoadBalancer" {
			made = c.At
		}
	}
	out.took = time.Since(made) - provisioning
	if strings.Contains(l.api.Dump(), `"provisioning"`) {
		l.Error("it is not in service")
	}
	return out, nil
}
