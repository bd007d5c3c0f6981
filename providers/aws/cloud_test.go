package aws

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/internal/ec2calls"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// handle is the handle of the first resource of a kind, by ID.
func (s *shop) handle(owner lbmodel.Owner, kind string) string {
	all := s.account.Observed(owner)
	for _, id := range sortedIDs(all) {
		if id.Kind == kind {
			return string(all[id].Handle)
		}
	}
	s.Fatalf("there is no %s", kind)
	return ""
}

func sortedIDs(g lbmodel.Graph) []lbmodel.ID {
	return slices.SortedFunc(maps.Keys(g), lbmodel.ID.Compare)
}

// Why: listeners and whoever else knows a certificate or a trust store know its ARN:
// a renewal and a rotation keep it, and cost what they change.
func TestRenewalsKeepARNs(t *testing.T) {
	s, v := newLifeShop(t, awsapi.Config{})
	gw := liveGateway(t, "testdata/https-verified/gateway.yaml", v)
	s.account.Want(gw)
	s.converge(gw.Owner)
	before := map[lbmodel.ID]lbmodel.Handle{}
	for id, r := range s.account.Observed(gw.Owner) {
		before[id] = r.Handle
	}
	issued := v.issued
	_, gw.Identities[0].Leaf = v.pair("shop.test")
	s.expect("a renewed Secret", s.bring(gw), map[string]int{"ImportCertificate": 1})
	gw.Trust[0].Roots = append(slices.Clone(gw.Trust[0].Roots), v.root("two.test"))
	slices.SortFunc(gw.Trust[0].Roots, func(a, b lbmodel.Root) int { return strings.Compare(a.SHA256, b.SHA256) })
	s.expect("one more root", s.bring(gw), map[string]int{"PutObject": 1, "ModifyTrustStore": 1})
	for id, r := range s.account.Observed(gw.Owner) {
		if was, known := before[id]; known && was != r.Handle {
			t.Errorf("%s was %s and is %s", id, was, r.Handle)
		}
	}
	s.restart()
	s.account.Want(gw)
	s.quiet("after a restart", gw.Owner)
	if v.issued != issued {
		t.Errorf("%d certificates were issued for nothing", v.issued-issued)
	}
}

// Why: 20 pods that are replaced at once must not leave the group with nobody who is
// known to work; and it may take two calls, not one for each.
func TestTargetsLeaveWhenOthersAreHealthy(t *testing.T) {
	config := awsapi.Config{}
	config.Times.Initial = 10 * time.Second
	s := newShop(t, config)
	gw := shopGateway("edge", 1, 1, 20)
	s.bring(gw)
	s.clock.Advance(time.Minute)
	watch := &groupWatch{s: s, group: s.handle(gw.Owner, KindTargetGroup), least: 1000}
	s.Hook(watch)
	change := providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: shopPool(0, 20, 20)}
	s.Forget()
	if out, err := s.account.Endpoints(t.Context(), change); err != nil || !out.Settled() {
		t.Fatal(err, out.Err())
	}
	s.Hook(nil)
	if watch.least < 20 {
		t.Errorf("%d healthy targets are all that is left at one time, want 20", watch.least)
	}
	if calls := s.calls(); calls["RegisterTargets"] != 1 || calls["DeregisterTargets"] != 1 {
		t.Errorf("%v", calls)
	}
}

// groupWatch counts the healthy targets of a group after every call.
type groupWatch struct {
	s     *shop
	group string
	least int
	calls int // of others
}

// Before implements providertest.Hook.
func (w *groupWatch) Before(providertest.Call) providertest.Fault {
	w.calls++
	return providertest.Fault{}
}

// After implements providertest.Hook.
func (w *groupWatch) After(c providertest.Call) {
	if !c.Write {
		return // only who is deregistered is lost
	}
	out, err := w.s.client(emulator{w.s.Server}).calls.elb.DescribeTargetHealth(w.s.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: &w.group})
	if err != nil {
		w.s.Error(err)
		return
	}
	n := 0
	for _, d := range out.TargetHealthDescriptions {
		if d.TargetHealth.State == types.TargetHealthStateEnumHealthy {
			n++
		}
	}
	w.least = min(w.least, n)
}

// Why: AWS lets a create succeed whose thing is there already. Somebody else's of that
// name must not become ours.
func TestNamesOfOthersAreNotTaken(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	gw := shopGateway("edge", 1, 1, 2)
	own, _, _ := Compiler{}.Compile(gw)
	for id, r := range own {
		if g, ok := r.Spec.(*TargetGroup); ok {
			must2(s.client(s.accountWorld).calls.elb.CreateTargetGroup(t.Context(), sdkGroup(id.Name, "vpc-0a1b2c3d4e5f60718", g, tags{"team": "other"})))(t)
		}
	}
	s.account.Want(gw)
	plan := must2(s.account.Plan(t.Context(), []lbmodel.Owner{gw.Owner}))(t)
	out := s.account.Apply(t.Context(), plan, nil)
	if code := lbmodel.CodeOf(out.Err()); code != lbmodel.CodeConflict {
		t.Errorf("%v: want a conflict", out.Err())
	}
	if n := s.calls()["RegisterTargets"]; n != 0 {
		t.Error("targets were registered in somebody else's group")
	}
}

// Why: what somebody turns by hand is put right, but for what is theirs to turn; and a
// load balancer that is protected is not deleted.
func TestWhatIsTurnedByHand(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	gw := shopGateway("edge", 2, 1, 2)
	s.bring(gw)
	p, lb := s.client(s.accountWorld), s.handle(gw.Owner, KindLoadBalancer)
	must2(p.calls.elb.ModifyLoadBalancerAttributes(t.Context(), &elb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: &lb, Attributes: []types.LoadBalancerAttribute{
		{Key: aws.String("idle_timeout.timeout_seconds"), Value: aws.String("7")}, {Key: aws.String("deletion_protection.enabled"), Value: aws.String("true")}}}))(t)
	rule := s.handle(gw.Owner, KindRule)
	must2(p.calls.elb.ModifyRule(t.Context(), &elb.ModifyRuleInput{RuleArn: &rule, Conditions: sdkConditions([]Condition{{Field: fieldPath, Values: []string{"/else"}}})}))(t)
	group := s.handle(gw.Owner, KindSecurityGroup)
	if err := p.calls.ec2.Authorize(t.Context(), group, []ec2calls.Permission{{Protocol: "tcp", From: 1, To: 9000, CIDR: "0.0.0.0/0"}, {Protocol: "udp", From: 53, To: 53, Group: group}}); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Minute)
	s.account.Invalidate(gw.Owner)
	calls := s.bring(gw)
	for action := range calls {
		if strings.HasPrefix(action, "Describe") || strings.HasPrefix(action, "List") || strings.HasPrefix(action, "Get") {
			delete(calls, action)
		}
	}
	s.expect("the repair", calls, map[string]int{"ModifyLoadBalancerAttributes": 1, "ModifyRule": 1, "RevokeSecurityGroupIngress": 1})
	s.account.Drop(gw.Owner)
	plan := must2(s.account.Plan(t.Context(), []lbmodel.Owner{gw.Owner}))(t)
	if err := s.account.Apply(t.Context(), plan, nil).Err(); lbmodel.CodeOf(err) != lbmodel.CodeDenied {
		t.Errorf("deleting what is protected: %v", err)
	}
	if must2(s.account.Gone(t.Context(), gw.Owner))(t) {
		t.Error("the gateway is gone although its load balancer is protected")
	}
}

// Why: whatever goes wrong with one call, in whatever way, the next passes finish.
func TestEveryCallFails(t *testing.T) {
	gw := shopGateway("edge", 3, 2, 2)
	faults := []providertest.Fault{{Kind: providertest.Refuse, Code: lbmodel.CodeThrottled}, {Kind: providertest.Refuse, Code: lbmodel.CodeUnavailable},
		{Kind: providertest.LoseReply, Code: lbmodel.CodeUnavailable}, {Kind: providertest.Stale}}
	step := max(1, *every/16)
	for i, fault := range faults {
		t.Run(fmt.Sprint(fault.Kind, fault.Code), func(t *testing.T) {
			reached := true
			for n := (firstCall(t) + i) % step; reached; n += step {
				s := newShop(t, awsapi.Config{})
				once := &faultAt{n: n, fault: fault}
				s.Hook(once)
				s.account.Want(gw)
				s.converge(gw.Owner)
				s.gone(gw.Owner, awsapi.Empty())
				s.Hook(nil)
				reached = once.calls > n
				if t.Failed() {
					t.Fatalf("at call %d", n)
				}
			}
		})
	}
}

// faultAt spoils one call.
type faultAt struct {
	n, calls int
	fault    providertest.Fault
}

// Before implements providertest.Hook.
func (f *faultAt) Before(c providertest.Call) providertest.Fault {
	f.calls++
	if f.calls-1 != f.n || f.fault.Kind == providertest.Stale && c.Write {
		return providertest.Fault{}
	}
	return f.fault
}

// After implements providertest.Hook.
func (*faultAt) After(providertest.Call) {}

// Why: a rule in a listener of somebody else's is ours to take away, also when nobody
// says any more that the listener was held.
func TestStraysAreFound(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	w := &accountWorld{Server: s.Server, now: s.now}
	w.addForeign(t)
	gw := shopGateway("edge", 1, 1, 2)
	gw.Settings = fmt.Appendf(nil, `{"region":%q,"held":[{"kind":"Listener","arn":%q,"port":80}]}`, testRegion, w.held)
	gw.Pools, gw.Listeners[0].Rules[0].Action = nil, lbmodel.Action{Fixed: &lbmodel.Fixed{Status: 404}}
	before := s.Server.Dump()
	s.account.Want(gw)
	s.converge(gw.Owner)
	s.restart()
	if live := must2(s.account.Live(t.Context()))(t); !slices.Equal(live, []lbmodel.Owner{gw.Owner}) {
		t.Errorf("who lives: %v", live)
	}
	s.gone(gw.Owner, before)
}

// Why: targets' health costs a call a group, so groups that have nothing to tell are
// asked once a minute.
func TestHealthIsReadWhereItMayChange(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	gw := shopGateway("edge", 5, 5, 2)
	s.bring(gw)
	must2(s.account.ReadHealth(t.Context()))(t)
	s.Forget()
	must2(s.account.ReadHealth(t.Context()))(t)
	s.expect("nothing may change", s.calls(), map[string]int{})
	s.clock.Advance(2 * time.Minute)
	s.Forget()
	must2(s.account.ReadHealth(t.Context()))(t)
	s.expect("a minute later", s.calls(), map[string]int{"DescribeTargetHealth": 5})
}
