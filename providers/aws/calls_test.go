package aws

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"gatehouse.dev/fake/awsapi"
	emulated "gatehouse.dev/fake/awsapi/account"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// shop is an emulated account with a controller on it, and counts calls.
type shop struct {
	*testing.T
	*accountWorld
	clock    *emulated.Manual
	account  *providers.Account
	patience providers.Patience
}

func newShop(t *testing.T, config awsapi.Config) *shop {
	t.Helper()
	s := &shop{T: t, clock: emulated.NewManual(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))}
	config.Clock, config.Region = s.clock, testRegion
	s.accountWorld = &accountWorld{Server: awsapi.New(config), now: s.clock.Now}
	s.restart()
	return s
}

// restart is another process, which knows nothing.
func (s *shop) restart() {
	s.account = providers.NewAccount(providers.Config{
		Provider: s.client(s.accountWorld), Cluster: "c1", Name: "test",
		Clock: providers.Clock{Now: s.clock.Now, After: s.after},
		Rand:  func() float64 { return 0.5 }, Patience: s.patience,
	})
}

// after moves the clock to when the wait is over, once what goes on at the same time has
// had a moment: those who wait together wait once.
func (s *shop) after(d time.Duration) <-chan time.Time {
	until, done := s.clock.Now().Add(d), make(chan time.Time, 1)
	time.AfterFunc(time.Millisecond, func() { done <- s.clock.Advance(until.Sub(s.clock.Now())) })
	return done
}

// bring makes gateways what they should be; the calls are those of one pass.
func (s *shop) bring(gateways ...lbmodel.Gateway) map[string]int {
	s.Helper()
	s.Forget()
	var owners []lbmodel.Owner
	for _, gw := range gateways {
		s.account.Want(gw)
		owners = append(owners, gw.Owner)
	}
	s.pass(owners...)
	return s.calls()
}

func (s *shop) pass(owners ...lbmodel.Owner) providers.Plan {
	s.Helper()
	plan := must2(s.account.Plan(s.Context(), owners))(s)
	if err := s.account.Apply(s.Context(), plan, nil).Err(); err != nil {
		s.Fatal(err)
	}
	return plan
}

// calls are the calls since the log was emptied.
func (s *shop) calls() map[string]int { return s.Count(awsapi.ByAction) }

// expect compares calls, and says what each figure is for.
func (s *shop) expect(what string, got, want map[string]int) {
	s.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s: calls (-want +got)\n%s", what, diff)
	}
}

// shopGateway has so many routes to so many Services, with so many pods each.
func shopGateway(name string, routes, services, pods int) lbmodel.Gateway {
	gw := lbmodel.Gateway{
		Owner:    lbmodel.Owner{Cluster: "c1", Kind: "Gateway", Namespace: "shop", Name: name, UID: "uid-" + name},
		Settings: json.RawMessage(`{"region":"us-east-1"}`),
		Listeners: []lbmodel.Listener{{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP,
			Source: lbmodel.Source{Kind: "Gateway", Namespace: "shop", Name: name, Section: "http"}}},
	}
	for i := range services {
		gw.Pools = append(gw.Pools, shopPool(i, 0, pods))
	}
	for i := range routes {
		gw.Listeners[0].Rules = append(gw.Listeners[0].Rules, shopRule(fmt.Sprintf("/route%03d", i), fmt.Sprint("svc", i%services)))
	}
	return gw
}

// shopPool has pods from a number on.
func shopPool(service, from, pods int) lbmodel.Pool {
	name := fmt.Sprint("svc", service)
	p := lbmodel.Pool{Name: name, Group: "shop/" + name + ":80", Protocol: lbmodel.PoolHTTP1, Source: lbmodel.Source{Kind: "Service", Namespace: "shop", Name: name}}
	for i := range pods {
		n := from + i
		p.Endpoints = append(p.Endpoints, lbmodel.Endpoint{Address: fmt.Sprintf("10.0.%d.%d", 48+n/200%16, 1+n%200), Port: int32(8000 + service), Ready: true, Serving: true})
	}
	return p
}

func shopRule(path, pool string) lbmodel.Rule {
	source := lbmodel.Source{Kind: "HTTPRoute", Namespace: "shop", Name: path[1:]}
	return lbmodel.Rule{Source: source, Match: lbmodel.Match{Path: lbmodel.PathMatch{Kind: lbmodel.MatchPrefix, Value: path}},
		Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Source: source, Pool: pool, Weight: 1}}}}}
}

// lists are the reads of a process that starts in an account without anything of ours.
func lists() map[string]int {
	return map[string]int{"DescribeLoadBalancers": 1, "DescribeTargetGroups": 1, "DescribeTrustStores": 1, "DescribeSecurityGroups": 1, "ListCertificates": 1, "GetResources": 1}
}

func plus(counts ...map[string]int) map[string]int {
	out := map[string]int{}
	for _, c := range counts {
		for action, n := range c {
			out[action] += n
		}
	}
	return out
}

// front is what one load balancer takes.
func frontCalls() map[string]int {
	return map[string]int{"DescribeSubnets": 1, "DescribeRouteTables": 1, "DescribeVpcs": 1, "CreateSecurityGroup": 1, "AuthorizeSecurityGroupIngress": 1,
		"CreateLoadBalancer": 1, "ModifyLoadBalancerAttributes": 1, "CreateListener": 1, "DescribeLoadBalancers": 1}
}

// Why (figure a): calls are time, three a second. A gateway costs its parts, each once:
// a target group is a Service's, not a route's.
func TestCallsOfAFreshGateway(t *testing.T) {
	for _, c := range []struct{ routes, services int }{{1, 1}, {10, 10}, {99, 1}} {
		t.Run(fmt.Sprintf("%d routes to %d Services", c.routes, c.services), func(t *testing.T) {
			s := newShop(t, awsapi.Config{})
			gw := shopGateway("edge", c.routes, c.services, 2)
			s.expect("a fresh gateway", s.bring(gw), plus(lists(), frontCalls(),
				map[string]int{"CreateTargetGroup": c.services, "RegisterTargets": c.services, "CreateRule": c.routes}))
			s.expect("the same again", s.bring(gw), map[string]int{})
		})
	}
}

// Why (figure b): one more route costs the calls of one, wherever it stands.
func TestCallsOfOneMoreRoute(t *testing.T) {
	for _, c := range []struct {
		name string
		at   int
	}{{"first", 0}, {"in the middle", 15}, {"last", 30}} {
		t.Run(c.name, func(t *testing.T) {
			s := newShop(t, awsapi.Config{})
			gw := shopGateway("edge", 30, 1, 2)
			s.bring(gw)
			gw.Pools = append(gw.Pools, shopPool(1, 0, 2))
			gw.Listeners[0].Rules = slices.Insert(gw.Listeners[0].Rules, c.at, shopRule("/another", "svc1"))
			s.expect("one more route", s.bring(gw), map[string]int{"CreateTargetGroup": 1, "RegisterTargets": 1, "CreateRule": 1})
		})
	}
}

// Why (figure c): a process that starts reads each thing once and writes nothing,
// however many things of others' there are.
func TestCallsOfARestart(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	p := s.client(s.accountWorld)
	for i := range 360 {
		name := fmt.Sprint("theirs-", i)
		must2(p.calls.elb.CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{Name: &name, Protocol: types.ProtocolEnumHttp, Port: aws.Int32(80),
			VpcId: aws.String("vpc-0a1b2c3d4e5f60718"), TargetType: types.TargetTypeEnumIp}))(t)
	}
	var gateways []lbmodel.Gateway
	for i := range 10 {
		gateways = append(gateways, shopGateway(fmt.Sprint("gw", i), 5, 5, 2))
	}
	s.bring(gateways...)
	s.restart()
	want := plus(lists(), map[string]int{"DescribeTargetGroups": 1, // and lists has one: two pages of 400
		"DescribeTags":      3 + 1 + 3, // 60 load balancers and groups, 10 listeners, 50 rules
		"DescribeListeners": 10, "DescribeLoadBalancerAttributes": 10, "DescribeRules": 10, "DescribeTargetHealth": 50})
	s.expect("a restart", s.bring(gateways...), want)
	s.expect("nothing to do", s.bring(gateways...), map[string]int{})
	must2(s.account.Drift(t.Context()))(t) // which says when the first one is due
	s.clock.Advance(10 * time.Minute)
	s.Forget()
	must2(s.account.Drift(t.Context()))(t)
	delete(want, "DescribeTags")
	delete(want, "GetResources")
	delete(want, "DescribeTargetGroupAttributes")
	calls := s.calls()
	if n := calls["DescribeTargetGroupAttributes"]; n < 5 || n > 30 {
		t.Errorf("the attributes of %d of 50 groups were read after a third of the time in which all are", n)
	}
	delete(calls, "DescribeTargetGroupAttributes")
	s.expect("a look for drift", calls, want)
}

// Why: attributes that nobody has set are not read at a restart, and what somebody turns
// by hand is put right all the same. Those that were set may not have been when the
// process before ended, so they are read.
func TestAttributesAreReadWhereTheyMayDiffer(t *testing.T) {
	for _, c := range []struct {
		name, settings string
		reads          int
	}{
		{"AWS's defaults", `{"region":"us-east-1"}`, 0},
		{"others", `{"region":"us-east-1","targetGroupAttributes":{"deregistration_delay.timeout_seconds":"5"}}`, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShop(t, awsapi.Config{})
			gw := shopGateway("edge", 1, 1, 2)
			gw.Settings = json.RawMessage(c.settings)
			s.bring(gw)
			s.restart()
			if n := s.bring(gw)["DescribeTargetGroupAttributes"]; n != c.reads {
				t.Errorf("attributes were read %d times at a restart, want %d", n, c.reads)
			}
			group := s.handle(gw.Owner, KindTargetGroup)
			must2(s.client(s.accountWorld).calls.elb.ModifyTargetGroupAttributes(t.Context(), &elb.ModifyTargetGroupAttributesInput{TargetGroupArn: &group,
				Attributes: []types.TargetGroupAttribute{{Key: aws.String("slow_start.duration_seconds"), Value: aws.String("300")}}}))(t)
			must2(s.account.Drift(t.Context()))(t) // which says when the first one is due
			for range 6 {
				s.clock.Advance(7 * time.Minute)
				must2(s.account.Drift(t.Context()))(t)
			}
			s.expect("the repair", s.bring(gw), map[string]int{"ModifyTargetGroupAttributes": 1})
		})
	}
}

// Why (figure d): pods come and go by two calls a group, however many routes lead to it,
// and a group is never empty.
func TestCallsOfARollout(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	gw := shopGateway("edge", 50, 1, 20)
	s.bring(gw)
	s.Forget()
	change := providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: shopPool(0, 20, 20)}
	if out, err := s.account.Endpoints(t.Context(), change); err != nil || !out.Settled() {
		t.Fatal(err, out.Err())
	}
	s.expect("20 pods at once", s.calls(), map[string]int{"RegisterTargets": 1, "DescribeTargetHealth": 1, "DeregisterTargets": 1})
	s.Forget()
	for i := range 5 {
		change.Pool = shopPool(0, 21+i, 20)
		if out, err := s.account.Endpoints(t.Context(), change); err != nil || !out.Settled() {
			t.Fatal(err, out.Err())
		}
	}
	s.expect("one by one", s.calls(), map[string]int{"RegisterTargets": 5, "DescribeTargetHealth": 5, "DeregisterTargets": 5})
}

// Why (figure e): what goes with its load balancer costs no call, and nothing is left.
func TestCallsOfADelete(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	gw := shopGateway("edge", 20, 20, 2)
	s.bring(gw)
	s.account.Drop(gw.Owner)
	s.Forget()
	s.pass(gw.Owner)
	s.expect("a delete", s.calls(), map[string]int{"DeleteLoadBalancer": 1, "DeleteTargetGroup": 20, "DeleteSecurityGroup": 1})
	if left := s.Server.Dump(); left != awsapi.Empty() {
		t.Errorf("left: %s", left)
	}
	s.Forget()
	if gone := must2(s.account.Gone(t.Context(), gw.Owner))(t); !gone {
		t.Error("the owner is not gone")
	}
	last := lists()
	delete(last, "GetResources") // a process sweeps once
	s.expect("the last look", s.calls(), last)
}

// Why: one route less is one call, beside those of its Service's group.
func TestCallsOfOneRouteLess(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	gw := shopGateway("edge", 10, 10, 2)
	s.bring(gw)
	gw.Pools, gw.Listeners[0].Rules = gw.Pools[:9], gw.Listeners[0].Rules[:9]
	s.expect("one route less", s.bring(gw), map[string]int{"DeleteRule": 1, "DeleteTargetGroup": 1})
}

// Why (figure f): a route that AWS cannot serve costs the others nothing.
func TestOneBadRoute(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	gw := shopGateway("edge", 11, 1, 2)
	bad := &gw.Listeners[0].Rules[5]
	bad.Match.Path.Value = "/" + string(make([]byte, 200))
	findings := s.account.Want(gw)
	if got := s.bring(gw)["CreateRule"]; got != 10 {
		t.Errorf("%d rules, want 10", got)
	}
	if !slices.ContainsFunc(findings, func(f lbmodel.Finding) bool { return f.About == bad.Source }) {
		t.Errorf("nobody is told of the bad one: %+v", findings)
	}
}

// Why (figure h): what somebody did by hand is seen by the next look and put right.
func TestDriftIsRepaired(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	gw := shopGateway("edge", 3, 1, 2)
	s.bring(gw)
	p := s.client(s.accountWorld)
	group, rule := "", ""
	for id, r := range s.account.Observed(gw.Owner) {
		switch id.Kind {
		case KindTargetGroup:
			group = string(r.Handle)
		case KindRule:
			rule = string(r.Handle)
		}
	}
	must2(p.calls.elb.DeregisterTargets(t.Context(), &elb.DeregisterTargetsInput{TargetGroupArn: &group, Targets: []types.TargetDescription{{Id: aws.String("10.0.48.1"), Port: aws.Int32(8000)}}}))(t)
	must2(p.calls.elb.DeleteRule(t.Context(), &elb.DeleteRuleInput{RuleArn: &rule}))(t)
	must2(s.account.Drift(t.Context()))(t)
	s.clock.Advance(7 * time.Minute)
	scan := must2(s.account.Drift(t.Context()))(t)
	if !slices.Equal(scan.Changed, []lbmodel.Owner{gw.Owner}) {
		t.Fatalf("changed: %v", scan.Changed)
	}
	s.expect("the repair", s.bring(gw), map[string]int{"RegisterTargets": 1, "CreateRule": 1})
}

// Why (figure j): everything is made while a load balancer is provisioned, and the
// address is there one poll after it is.
func TestProvisioning(t *testing.T) {
	config := awsapi.Config{}
	config.Times.Provisioning = 90 * time.Second
	s := newShop(t, config)
	gw := shopGateway("edge", 3, 1, 2)
	began := s.clock.Now()
	calls := s.bring(gw)
	if took := s.clock.Now().Sub(began); took < 90*time.Second || took > 106*time.Second {
		t.Errorf("the address is there after %s; the load balancer is after 90 s, and a poll is 15 s at most", took)
	}
	delete(calls, "DescribeLoadBalancers")
	all := plus(lists(), frontCalls(), map[string]int{"CreateTargetGroup": 1, "RegisterTargets": 1, "CreateRule": 3})
	delete(all, "DescribeLoadBalancers")
	s.expect("while it is provisioned", calls, all)
	var addresses []lbmodel.Address
	for _, r := range s.account.Observed(gw.Owner) {
		addresses = append(addresses, r.Facts.Addresses...)
	}
	if len(addresses) != 1 || addresses[0].Type != lbmodel.AddressHostname {
		t.Errorf("addresses: %v", addresses)
	}
	if made := slices.Sorted(maps.Keys(calls)); len(made) == 0 {
		t.Error("no calls")
	}
}
