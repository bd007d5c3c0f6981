package aws

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/lbmodel"
)

// TestInput04: AWS does not verify backends. Who asks for that is told what is missing,
// and gets nothing weaker; who asks for encryption only, gets that.
func TestInput04(t *testing.T) {
	for _, c := range []struct {
		name   string
		tls    lbmodel.BackendTLS
		groups int
	}{
		{"verified", lbmodel.BackendTLS{SNI: "a.test", Trust: "ca"}, 0},
		{"encrypted", lbmodel.BackendTLS{Floor: lbmodel.TLSUnverified}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShop(t, awsapi.Config{})
			gw := shopGateway("edge", 1, 1, 2)
			policy := lbmodel.Source{Kind: "BackendTLSPolicy", Namespace: "shop", Name: "verify"}
			root := newVault(s.clock.Now).root("ca.test")
			gw.Trust = []lbmodel.Trust{{Name: "ca", Source: policy, Roots: []lbmodel.Root{root}}}
			c.tls.Source = policy
			gw.Pools[0].TLS = &c.tls
			findings := s.account.Want(gw)
			if told := slices.ContainsFunc(findings, func(f lbmodel.Finding) bool { return f.About == policy }); told != (c.groups == 0) {
				t.Errorf("what is said of the policy: %v", findings)
			}
			s.converge(gw.Owner)
			encrypted := 0
			for _, r := range s.account.Observed(gw.Owner) {
				if g, ok := r.Spec.(*TargetGroup); ok && g.Protocol == "HTTPS" {
					encrypted++
				} else if ok {
					t.Error("a target group without TLS was made")
				}
			}
			if encrypted != c.groups {
				t.Errorf("%d target groups with TLS, want %d", encrypted, c.groups)
			}
		})
	}
}

// TestInput12: a Service port that goes and comes again has its targets again.
func TestInput12(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	gw, less := shopGateway("edge", 2, 2, 2), shopGateway("edge", 1, 1, 2)
	s.bring(gw)
	s.bring(less)
	s.expect("the port is there again", s.bring(gw), map[string]int{"CreateTargetGroup": 1, "RegisterTargets": 1, "CreateRule": 1})
	s.restart()
	s.account.Want(gw)
	s.quiet("another process sees its targets", gw.Owner)
}

// TestInput13: what somebody deletes by hand, a whole load balancer, is made anew after
// the next look.
func TestInput13(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	gw := shopGateway("edge", 2, 1, 2)
	s.bring(gw)
	lb := s.handle(gw.Owner, KindLoadBalancer)
	must2(s.client(s.accountWorld).calls.elb.DeleteLoadBalancer(t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerArn: &lb}))(t)
	must2(s.account.Drift(t.Context()))(t)
	s.clock.Advance(7 * time.Minute)
	if scan := must2(s.account.Drift(t.Context()))(t); !slices.Equal(scan.Changed, []lbmodel.Owner{gw.Owner}) {
		t.Fatalf("changed: %v", scan.Changed)
	}
	s.account.Want(gw)
	s.converge(gw.Owner)
	if again := s.handle(gw.Owner, KindLoadBalancer); again == lb {
		t.Error("it was not made anew")
	}
	s.quiet("then", gw.Owner)
}

// TestInput15: somebody else who takes our targets away again and again is seen by each
// scan and put right once for each: nobody runs in circles.
func TestInput15(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	gw := shopGateway("edge", 1, 1, 2)
	s.bring(gw)
	group := s.handle(gw.Owner, KindTargetGroup)
	must2(s.account.Drift(t.Context()))(t)
	s.Forget()
	scans, told := 0, 0
	for range 60 { // minutes
		must2(s.client(s.accountWorld).calls.elb.DeregisterTargets(t.Context(), &elb.DeregisterTargetsInput{TargetGroupArn: &group,
			Targets: []types.TargetDescription{{Id: aws.String("10.0.48.1"), Port: aws.Int32(8000)}}}))(t)
		before := s.account.Calls()["Observe"]
		scan := must2(s.account.Drift(t.Context()))(t)
		scans += s.account.Calls()["Observe"] - before
		if len(scan.Changed) > 0 {
			told++
			s.pass(gw.Owner)
		}
		s.clock.Advance(time.Minute)
	}
	if n := s.calls()["RegisterTargets"]; n > told || told < 5 || scans > 25 {
		t.Errorf("in an hour: %d scans, which told of it %d times, and %d registrations", scans, told, n)
	}
}

// TestInput18: another scheme is another load balancer. The new one is in service before
// the old one goes, and an old one that is protected stays, with its protection.
func TestInput18(t *testing.T) {
	for _, protected := range []string{"false", "true"} {
		t.Run("protected "+protected, func(t *testing.T) {
			config := awsapi.Config{}
			config.Times.Provisioning = 2 * time.Minute
			s := newShop(t, config)
			gw := shopGateway("edge", 1, 1, 2)
			s.account.Want(gw)
			s.converge(gw.Owner)
			old := s.handle(gw.Owner, KindLoadBalancer)
			must2(s.client(s.accountWorld).calls.elb.ModifyLoadBalancerAttributes(t.Context(), &elb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: &old,
				Attributes: []types.LoadBalancerAttribute{{Key: aws.String("deletion_protection.enabled"), Value: &protected}}}))(t)
			s.Forget()
			gw.Settings = json.RawMessage(`{"region":"us-east-1","scheme":"internet-facing"}`)
			s.account.Want(gw)
			for range 4 {
				plan := must2(s.account.Plan(t.Context(), []lbmodel.Owner{gw.Owner}))(t)
				_ = s.account.Apply(t.Context(), plan, nil) // denied, of one that is protected
				s.clock.Advance(time.Minute)
			}
			s.checkReplacement(old, protected == "true")
		})
	}
}

func (s *shop) checkReplacement(old string, stays bool) {
	s.Helper()
	var made, deleted time.Time
	for _, c := range s.Calls() {
		switch {
		case c.Action == "CreateLoadBalancer":
			made = c.At
		case c.Action == "DeleteLoadBalancer" && deleted.IsZero():
			deleted = c.At
		case c.Action == "ModifyLoadBalancerAttributes" && strings.Contains(c.About, old):
			s.Error("the protected load balancer was changed")
		}
	}
	if made.IsZero() || deleted.Sub(made) < 2*time.Minute {
		s.Errorf("the new one was made at %s, which takes two minutes to come into service, and the old one deleted at %s", made, deleted)
	}
	if there := strings.Contains(s.Server.Dump(), old); there != stays {
		s.Errorf("the old one is there: %t, want %t", there, stays)
	}
}

// TestInput24: a target that drains is not there; who is wanted again is registered
// again, and not believed to be.
func TestInput24(t *testing.T) {
	s := newShop(t, awsapi.Config{})
	gw, other := shopGateway("edge", 1, 1, 2), shopGateway("edge", 1, 1, 2)
	other.Pools[0] = shopPool(0, 10, 2)
	s.bring(gw)
	s.bring(other)
	s.restart() // the first two drain still
	s.account.Want(other)
	s.quiet("those that drain are not there", gw.Owner)
	s.expect("they are wanted again", s.bring(gw), map[string]int{"DescribeVpcs": 1, "RegisterTargets": 1, "DescribeTargetHealth": 1, "DeregisterTargets": 1})
	for _, target := range s.account.Observed(gw.Owner)[targetsID(s.id(gw.Owner, KindTargetGroup))].Spec.(*Targets).Targets {
		if !strings.HasPrefix(target.ID, "10.0.48.") {
			t.Errorf("%s is registered", target.ID)
		}
	}
}

// id is the first resource of a kind.
func (s *shop) id(owner lbmodel.Owner, kind string) lbmodel.ID {
	for _, id := range sortedIDs(s.account.Observed(owner)) {
		if id.Kind == kind {
			return id
		}
	}
	return lbmodel.ID{}
}

// TestC17: where a redirect leads is written down: the scheme's port, the rule's, or the
// listener's own.
func TestC17(t *testing.T) {
	to := func(r lbmodel.Redirect) lbmodel.Action { return lbmodel.Action{Redirect: &r} }
	gw := shopGateway("edge", 3, 1, 0)
	rules := gw.Listeners[0].Rules
	rules[0].Action = to(lbmodel.Redirect{Scheme: "https", Status: 301})
	rules[1].Action = to(lbmodel.Redirect{Scheme: "https", Port: 8443, Status: 302})
	rules[2].Action = to(lbmodel.Redirect{Hostname: "n.test", Status: 302})
	second := gw.Listeners[0]
	second.Name, second.Port = "http8", 8080
	gw.Listeners = append(gw.Listeners, second)
	want := map[string]int{
		`{"status":301,"protocol":"HTTPS","host":"#{host}","port":"443","path":"/#{path}","query":"#{query}"}`:          2,
		`{"status":302,"protocol":"HTTPS","host":"#{host}","port":"8443","path":"/#{path}","query":"#{query}"}`:         2,
		`{"status":302,"protocol":"#{protocol}","host":"n.test","port":"#{port}","path":"/#{path}","query":"#{query}"}`: 2,
	}
	own, _, findings := Compiler{}.Compile(gw)
	for _, r := range own {
		if rule, ok := r.Spec.(*Rule); ok && rule.Action.Redirect != nil {
			want[encode(rule.Action.Redirect)]--
		}
	}
	for text, missing := range want {
		if missing != 0 {
			t.Errorf("%d too few of %s; %v", missing, text, findings)
		}
	}
}

// TestC05: AWS compares the values of headers and of query parameters without regard to
// case, which no route means: both are refused, and not widened.
func TestC05(t *testing.T) {
	for name, match := range map[string]lbmodel.Match{
		"header":          {Headers: []lbmodel.ValueMatch{{Name: "x-ver", Kind: lbmodel.MatchExact, Value: "Beta"}}},
		"query parameter": {Query: []lbmodel.ValueMatch{{Name: "k", Kind: lbmodel.MatchExact, Value: "v1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, awsapi.Config{})
			gw := shopGateway("edge", 2, 1, 2)
			gw.Listeners[0].Rules[1].Match = match
			findings := s.account.Want(gw)
			if !slices.ContainsFunc(findings, func(f lbmodel.Finding) bool { return f.About == gw.Listeners[0].Rules[1].Source }) {
				t.Errorf("nothing is said of it: %v", findings)
			}
			s.converge(gw.Owner)
			for _, r := range s.account.Observed(gw.Owner) {
				if rule, ok := r.Spec.(*Rule); ok && len(rule.Action.Forward) > 0 && !strings.Contains(encode(rule.Conditions), "/route000") {
					t.Errorf("it sends requests on: %s", encode(rule))
				}
			}
		})
	}
}
