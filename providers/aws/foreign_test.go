package aws

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
	"gatehouse.dev/providers/providertest"
)

// foreign is what an account holds that is not our cluster's, as text.
func (s *shop) foreign() string {
	var out []string
	for _, o := range (&accountWorld{Server: s.Server}).Dump() {
		if strings.Contains(o.Text, `"`+tagCluster+`":"c1"`) || strings.Contains(o.Name, "Interfaces") {
			continue
		}
		out = append(out, o.Text)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// Why: a load balancer of somebody else's is held by its ARN, or by that of a listener.
// What is in it of ours is managed, and the rest is left alone byte for byte: the load
// balancer itself, its other listeners, and rules of others', whose priorities are taken
// wherever they stand.
func TestHeldByARN(t *testing.T) {
	for _, c := range []struct {
		name, held string
		port       int32
		listeners  int // of ours
	}{
		{"a load balancer", `{"kind":"LoadBalancer","arn":%q}`, 8080, 1},
		{"a listener", `{"kind":"Listener","arn":%q,"port":80}`, 80, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShop(t, awsapi.Config{})
			w := &accountWorld{Server: s.Server, now: s.now}
			w.addForeign(t)
			before, foreign := s.Server.Dump(), s.foreign()
			arn := w.held
			if c.listeners > 0 {
				arn = arn[:strings.LastIndexByte(arn, '/')]
				arn = strings.Replace(arn, ":listener/", ":loadbalancer/", 1)
			}
			gw := shopGateway("edge", 4, 2, 2)
			gw.Settings = fmt.Appendf(nil, `{"region":%q,"held":[`+c.held+`]}`, testRegion, arn)
			gw.Listeners[0].Port = c.port
			s.account.Want(gw)
			s.converge(gw.Owner)
			theirs := s.addRule(gw.Owner, w.held, c.listeners > 0)
			gw.Listeners[0].Rules = append(gw.Listeners[0].Rules, shopRule("/more", "svc1"), shopRule("/and-more", "svc1"))
			s.account.Want(gw)
			s.converge(gw.Owner)
			kinds := map[string]int{}
			for id, r := range s.account.Observed(gw.Owner) {
				if r.Hold == lbmodel.Own {
					kinds[id.Kind]++
				}
			}
			if kinds[KindLoadBalancer] > 0 || kinds[KindListener] != c.listeners || kinds[KindRule] != 6 {
				t.Errorf("ours are %v, want no load balancer, %d listeners and 6 rules", kinds, c.listeners)
			}
			s.account.Drop(gw.Owner)
			for range 3 { // a listener that holds a rule of somebody else's stays, and nothing else
				plan := must2(s.account.Plan(t.Context(), []lbmodel.Owner{gw.Owner}))(t)
				_ = s.account.Apply(t.Context(), plan, nil)
				s.clock.Advance(time.Minute)
			}
			if left := len(s.account.Observed(gw.Owner)); left != c.listeners {
				t.Errorf("%d resources are left beside the rule of somebody else's, want %d", left, c.listeners)
			}
			must2(s.client(s.accountWorld).calls.elb.DeleteRule(t.Context(), &elb.DeleteRuleInput{RuleArn: &theirs}))(t) // it was still there
			if got := s.foreign(); got != foreign {
				t.Errorf("what is others' changed from\n%s\nto\n%s", foreign, got)
			}
			s.account.Invalidate(gw.Owner)
			s.gone(gw.Owner, before)
		})
	}
}

// addRule is a rule of somebody else's, at the number that the next one of ours would
// take.
func (s *shop) addRule(owner lbmodel.Owner, listener string, ours bool) string {
	s.Helper()
	if ours {
		listener = s.handle(owner, KindListener)
	}
	var last int32
	for _, r := range s.account.Observed(owner) {
		if rule, ok := r.Spec.(*Rule); ok {
			last = max(last, rule.Priority)
		}
	}
	step := int32(256)
	out := must2(s.client(s.accountWorld).calls.elb.CreateRule(s.Context(), &elb.CreateRuleInput{ListenerArn: &listener, Priority: aws.Int32(last + step),
		Conditions: sdkConditions([]Condition{{Field: fieldPath, Values: []string{"/by-hand"}}}),
		Actions:    must2(sdkActions(&Action{Fixed: &Fixed{Status: 418}}, nil))(s)}))(s)
	s.clock.Advance(time.Minute)
	s.account.Invalidate(owner)
	return aws.ToString(out.Rules[0].RuleArn)
}

// Why: a process may end after it has written a bundle of roots, and before the trust
// store whose tags would say where it lies; and the gateway may be gone when the next one
// starts. Whoever knows the class's settings finds it.
func TestABundleWithoutAStoreIsFound(t *testing.T) {
	s, v := newLifeShop(t, awsapi.Config{})
	empty, gw := s.Server.Dump(), liveGateway(t, "testdata/https-verified/gateway.yaml", v)
	s.Hook(&diesAfter{name: "PutObject"})
	s.account.Want(gw)
	plan := must2(s.account.Plan(t.Context(), []lbmodel.Owner{gw.Owner}))(t)
	_ = s.account.Apply(t.Context(), plan, nil) // what it says is lost with the process
	s.Hook(nil)
	s.restart()
	class := s.client(s.accountWorld)
	s.account = providers.NewAccount(providers.Config{Provider: class, Cluster: "c1", Clock: providers.Clock{Now: s.clock.Now, After: s.after}})
	if _, findings := class.Offers(gw.Settings); len(findings) > 0 { // as for the class's supported features
		t.Fatal(findings)
	}
	s.gone(gw.Owner, empty)
}

// diesAfter is a process that ends when a call of a name has had its effect.
type diesAfter struct {
	name string
	dead bool
}

// Before implements providertest.Hook.
func (d *diesAfter) Before(providertest.Call) providertest.Fault {
	if d.dead {
		return providertest.Fault{Kind: providertest.Refuse, Code: lbmodel.CodeDenied}
	}
	return providertest.Fault{}
}

// After implements providertest.Hook.
func (d *diesAfter) After(c providertest.Call) { d.dead = d.dead || c.Name == d.name }

// Why: a bucket of one class's that must not be listed is no reason to see nothing of
// all other classes'.
func TestABucketThatMustNotBeListed(t *testing.T) {
	s := newShop(t, awsapi.Config{Permit: func(_, _, action string) bool { return !strings.HasPrefix(action, "ListObject") }})
	p := s.client(s.accountWorld)
	p.Offers(json.RawMessage(`{"region":"us-east-1","trust":{"bucket":"their-roots"}}`))
	if _, err := p.Observe(t.Context(), lbmodel.Owner{Cluster: "c1"}, nil); err != nil {
		t.Error(err)
	}
}

// Why: endpoints that are registered as instances are reported as those; whoever waits
// for a pod knows its address.
func TestHealthOfInstances(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	gw := shopGateway("edge", 1, 1, 2)
	gw.Settings = json.RawMessage(`{"region":"us-east-1","targetType":"instance"}`)
	for i := range gw.Pools[0].Endpoints {
		gw.Pools[0].Endpoints[i].Instance = "aws:///us-east-1a/" + s.instance()
	}
	s.bring(gw)
	must2(s.account.ReadHealth(t.Context()))(t)
	got := s.account.Health(providers.PoolChange{Owner: gw.Owner, Settings: gw.Settings, Pool: gw.Pools[0]})
	for _, e := range gw.Pools[0].Endpoints {
		if state := got.Targets[e.Target()]; state != lbmodel.HealthHealthy {
			t.Errorf("%s is %q, want healthy: %v", e.Target(), state, got.Targets)
		}
	}
}

// instance is the ID of a machine of the account.
func (s *shop) instance() string { return "i-00000000000000001" }
