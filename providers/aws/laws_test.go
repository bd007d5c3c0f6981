package aws

import (
	"encoding/json"
	"flag"
	"fmt"
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

// Why: AWS is a provider like any other, and keeps the same laws.
func TestLaws(t *testing.T) {
	h := harness("Application")
	h.First = firstCall(t)
	providertest.Run(t, h)
}

// Why: with two load balancers for a gateway there are more ways to lose requests, and
// things to leave behind. What depends on neither is not tried again.
func TestLawsBehindNetwork(t *testing.T) {
	h := harness("ApplicationBehindNetwork")
	h.Adopt, h.Every, h.First = nil, 3**every, firstCall(t)
	for _, number := range []int{3, 4, 5, 7} {
		law := providertest.Laws()[number-1]
		t.Run(law.Name, func(t *testing.T) { law.Check(t, h) })
	}
}

// every is of how many calls at which a process may end one is tried. All of them, -args
// -every=1, are two hundred thousand requests and take minutes. seed says which ones: each
// run tries others.
var (
	every = flag.Int("every", 80, "try the laws at one of so many `calls`")
	seed  = flag.Uint64("seed", uint64(time.Now().UnixNano()), "chooses the calls at which the laws are tried")
)

// firstCall is the first of the calls that are tried, and tells how to try them again.
func firstCall(tb testing.TB) int {
	tb.Helper()
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("again: -args -every=%d -seed=%d", *every, *seed)
		}
	})
	return int(*seed % uint64(max(1, *every)))
}

func harness(flavour string) providertest.Harness {
	return providertest.Harness{
		New: func(tb testing.TB, env providertest.Env) providertest.World { return newAccountWorld(tb, env) },
		Settings: func(region string) json.RawMessage {
			return json.RawMessage(fmt.Sprintf(`{"region":%q,"flavour":%q}`, region, flavour))
		},
		Locations: []string{testRegion},
		Adopt: func(w providertest.World, gw lbmodel.Gateway) lbmodel.Gateway {
			gw.Settings = json.RawMessage(fmt.Sprintf(`{"region":%q,"held":[{"kind":"Listener","arn":%q,"port":80}]}`, testRegion, w.(*accountWorld).held))
			for i := range gw.Listeners { // who may come in is not ours to say there
				gw.Listeners[i].SourceRanges = nil
			}
			return gw
		},
		Fit: fit, Every: *every,
	}
}

// fit makes what AWS refuses into what it serves: no backend is verified, none has
// HTTP/2 for listeners without TLS, and a change between two of them stays a change.
func fit(gw lbmodel.Gateway) lbmodel.Gateway {
	for i := range gw.Pools {
		p := &gw.Pools[i]
		h2c := p.Protocol == lbmodel.PoolH2C || p.Protocol == lbmodel.PoolHTTP2
		if encrypted := p.TLS != nil; encrypted == h2c { // two ways to HTTP, two to HTTPS
			p.TLS = nil
		} else if p.TLS = (&lbmodel.BackendTLS{Source: p.Source, Floor: lbmodel.TLSUnverified}); encrypted {
			p.TLS.Floor = lbmodel.TLSUnverified
		}
		p.Protocol = lbmodel.PoolHTTP1
	}
	gw.Trust = nil
	return gw
}

func newAccountWorld(tb testing.TB, env providertest.Env) *accountWorld {
	w := &accountWorld{Server: awsapi.New(awsapi.Config{Clock: clockOf(env.Now), Region: testRegion, Permit: permits(tb)}), keys: env.Keyring, now: env.Now}
	w.addForeign(tb)
	return w
}

// addForeign fills the account with what is nearly ours: a load balancer with a
// listener that we might hold, and a rule with a priority that we would choose; a
// target group with a name like ours; a security group and tags of another cluster.
func (w *accountWorld) addForeign(tb testing.TB) {
	p := w.client(w)
	ctx := tb.Context()
	lb := must2(p.calls.elb.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{
		Name: aws.String("theirs"), Subnets: []string{"subnet-00000000000000001", "subnet-00000000000000002"},
	}))(tb).LoadBalancers[0]
	l := must2(p.calls.elb.CreateListener(ctx, &elb.CreateListenerInput{
		LoadBalancerArn: lb.LoadBalancerArn, Port: aws.Int32(80), Protocol: types.ProtocolEnumHttp,
		DefaultActions: must2(sdkActions(&Action{Fixed: &Fixed{Status: 404}}, nil))(tb),
	}))(tb).Listeners[0]
	w.held = aws.ToString(l.ListenerArn)
	must2(p.calls.elb.CreateRule(ctx, &elb.CreateRuleInput{
		ListenerArn: l.ListenerArn, Priority: aws.Int32(256), Conditions: sdkConditions([]Condition{{Field: fieldPath, Values: []string{"/theirs"}}}),
		Actions: must2(sdkActions(&Action{Fixed: &Fixed{Status: 418}}, nil))(tb), Tags: tags{"team": "theirs"}.elb(),
	}))(tb)
	must2(p.calls.elb.CreateTargetGroup(ctx, sdkGroup(nameOf("theirs", "theirs"), "vpc-0a1b2c3d4e5f60718",
		&TargetGroup{Protocol: "HTTP", Version: versionHTTP1, TargetType: targetIP, Family: familyIPv4, Port: 80, Health: defaultHealth(&lbmodel.Pool{})}, tags{})))(tb)
	must2(p.calls.ec2.CreateGroup(ctx, ec2calls.Group{Name: "theirs", Description: "theirs", VPC: "vpc-0a1b2c3d4e5f60718", Tags: tags{tagCluster: "other", tagID: "theirs"}}))(tb)
	w.addCluster(tb)
}

// addCluster applies another cluster's gateway of the same name as ours.
func (w *accountWorld) addCluster(tb testing.TB) {
	gw := lbmodel.Gateway{
		Owner:    lbmodel.Owner{Cluster: "other", Kind: "Gateway", Namespace: "apps", Name: "gw0", UID: "uid-other"},
		Settings: json.RawMessage(fmt.Sprintf(`{"region":%q}`, testRegion)),
		Pools: []lbmodel.Pool{{Name: "p0", Group: "apps/a:80", Protocol: lbmodel.PoolHTTP1, Source: lbmodel.Source{Kind: "Service", Name: "a"},
			Endpoints: []lbmodel.Endpoint{{Address: "10.0.9.9", Port: 80, Ready: true}}}},
		Listeners: []lbmodel.Listener{{Name: "http", Port: 80, Protocol: lbmodel.ProtocolHTTP, Rules: []lbmodel.Rule{{
			Source: lbmodel.Source{Kind: "HTTPRoute", Name: "r"}, Action: lbmodel.Action{Forward: &lbmodel.Forward{Backends: []lbmodel.Backend{{Pool: "p0", Weight: 1}}}},
		}}}},
	}
	account := providers.NewAccount(providers.Config{Provider: w.client(w), Cluster: gw.Owner.Cluster, Parallel: 1, Clock: providers.Clock{Now: w.now}})
	account.Want(gw)
	plan := must2(account.Plan(tb.Context(), []lbmodel.Owner{gw.Owner}))(tb)
	if err := account.Apply(tb.Context(), plan, nil).Err(); err != nil {
		tb.Fatal(err)
	}
}

// must2 is a call whose error ends the test.
func must2[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T { return must(tb, v, err) }
}
