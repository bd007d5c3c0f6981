package live_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/ec2"
	"gatehouse.dev/fake/awsapi/live"
)

// What is made with calls serves: a rule reaches a target, the target's health is
// what the checks say, and with the load balancer the listener is gone.
func TestCallsBecomeTraffic(t *testing.T) {
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "pod "+r.URL.Path) }))
	t.Cleanup(pod.Close)
	at := netip.MustParseAddrPort(pod.Listener.Addr().String())
	world := ec2.Small("us-east-1")
	world.Groups = []ec2.Group{{ID: "sg-open", Name: "open", VPC: world.VPCs[0].ID, Ingress: []ec2.Rule{{Protocol: "tcp", From: 80, To: 80, CIDR: "127.0.0.0/8"}}}}
	l := live.Start(t.Context(), live.Config{API: awsapi.Config{World: world, Reach: func(netip.Addr, int) netip.AddrPort { return at }}})
	t.Cleanup(func() { _ = l.Close(t.Context()) })
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	client := elb.NewFromConfig(aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")})

	lb, err := client.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{Name: aws.String("shop"), Subnets: []string{"subnet-00000000000000001", "subnet-00000000000000002"},
		SecurityGroups: []string{"sg-open"}, Scheme: types.LoadBalancerSchemeEnumInternal})
	if err != nil {
		t.Fatal(err)
	}
	arn := lb.LoadBalancers[0].LoadBalancerArn
	group, err := client.CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{Name: aws.String("web"), Protocol: types.ProtocolEnumHttp, Port: aws.Int32(8080),
		VpcId: aws.String("vpc-0a1b2c3d4e5f60718"), TargetType: types.TargetTypeEnumIp, HealthCheckIntervalSeconds: aws.Int32(5), HealthCheckTimeoutSeconds: aws.Int32(2)})
	if err != nil {
		t.Fatal(err)
	}
	web := group.TargetGroups[0].TargetGroupArn
	if _, err := client.RegisterTargets(t.Context(), &elb.RegisterTargetsInput{TargetGroupArn: web, Targets: []types.TargetDescription{{Id: aws.String("10.0.1.1")}}}); err != nil {
		t.Fatal(err)
	}
	listener, err := client.CreateListener(t.Context(), &elb.CreateListenerInput{LoadBalancerArn: arn, Port: aws.Int32(80), Protocol: types.ProtocolEnumHttp,
		DefaultActions: []types.Action{{Type: types.ActionTypeEnumFixedResponse, FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: aws.String("404")}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateRule(t.Context(), &elb.CreateRuleInput{ListenerArn: listener.Listeners[0].ListenerArn, Priority: aws.Int32(1),
		Conditions: []types.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/a*"}}}, Actions: []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: web}}}); err != nil {
		t.Fatal(err)
	}
	bound := l.Listeners()
	if len(bound) != 1 || bound[0].LoadBalancer != *arn || bound[0].Port != 80 {
		t.Fatalf("bound is %+v", bound)
	}
	base := "http://" + bound[0].Addr.String()
	if got := get(t, base+"/abc"); got != "200 pod /abc" {
		t.Errorf("the rule's path: %s", got)
	}
	if got := get(t, base+"/b"); !strings.HasPrefix(got, "404") {
		t.Errorf("another path: %s", got)
	}
	waiter := elb.NewTargetInServiceWaiter(client, func(o *elb.TargetInServiceWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, 100*time.Millisecond
	})
	if err := waiter.Wait(t.Context(), &elb.DescribeTargetHealthInput{TargetGroupArn: web}, 10*time.Second); err != nil {
		t.Errorf("the target does not come into service: %v", err)
	}
	if _, err := client.DeleteLoadBalancer(t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerArn: arn}); err != nil {
		t.Fatal(err)
	}
	if got := l.Listeners(); len(got) != 0 {
		t.Errorf("still bound is %+v", got)
	}
}

// An Application Load Balancer behind a Network Load Balancer is reached through it.
func TestChains(t *testing.T) {
	world := ec2.Small("us-east-1")
	world.Groups = []ec2.Group{{ID: "sg-open", Name: "open", VPC: world.VPCs[0].ID, Ingress: []ec2.Rule{{Protocol: "-1", CIDR: "127.0.0.0/8"}}}}
	l := live.Start(t.Context(), live.Config{API: awsapi.Config{World: world}, Every: 10 * time.Millisecond})
	t.Cleanup(func() { _ = l.Close(t.Context()) })
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	client := elb.NewFromConfig(aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")})
	create := func(name string, kind types.LoadBalancerTypeEnum) *string {
		out, err := client.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{Name: &name, Type: kind, SecurityGroups: []string{"sg-open"},
			Subnets: []string{"subnet-00000000000000001", "subnet-00000000000000002"}})
		if err != nil {
			t.Fatal(err)
		}
		return out.LoadBalancers[0].LoadBalancerArn
	}
	listen := func(lb *string, protocol types.ProtocolEnum, action types.Action) {
		if _, err := client.CreateListener(t.Context(), &elb.CreateListenerInput{LoadBalancerArn: lb, Port: aws.Int32(80), Protocol: protocol, DefaultActions: []types.Action{action}}); err != nil {
			t.Fatal(err)
		}
	}
	inner, outer := create("inner", types.LoadBalancerTypeEnumApplication), create("outer", types.LoadBalancerTypeEnumNetwork)
	listen(inner, types.ProtocolEnumHttp, types.Action{Type: types.ActionTypeEnumFixedResponse, FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: aws.String("200"), MessageBody: aws.String("inner"), ContentType: aws.String("text/plain")}})
	group, err := client.CreateTargetGroup(t.Context(), &elb.CreateTargetGroupInput{Name: aws.String("chain"), Protocol: types.ProtocolEnumTcp, Port: aws.Int32(80), VpcId: &world.VPCs[0].ID, TargetType: types.TargetTypeEnumAlb})
	if err != nil {
		t.Fatal(err)
	}
	arn := group.TargetGroups[0].TargetGroupArn
	if _, err := client.RegisterTargets(t.Context(), &elb.RegisterTargetsInput{TargetGroupArn: arn, Targets: []types.TargetDescription{{Id: inner}}}); err != nil {
		t.Fatal(err)
	}
	listen(outer, types.ProtocolEnumTcp, types.Action{Type: types.ActionTypeEnumForward, TargetGroupArn: arn})
	for _, b := range l.Listeners() {
		if b.LoadBalancer == *outer {
			if got := get(t, "http://"+b.Addr.String()); got != "200 inner" {
				t.Errorf("through both: %s", got)
			}
			return
		}
	}
	t.Errorf("the outer one is not bound: %+v", l.Listeners())
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Status[:3] + " " + string(body)
}
