package awsapi_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/fake/awsapi/account"
)

// The ids of the small world.
const (
	vpc      = "vpc-0a1b2c3d4e5f60718"
	publicA  = "subnet-00000000000000001"
	publicB  = "subnet-00000000000000002"
	publicC  = "subnet-00000000000000003"
	defaultG = "sg-0a1b2c3d4e5f60718"
)

// world is an account, and AWS's own clients of it.
type world struct {
	*testing.T
	*awsapi.Server
	clock *account.Manual
	url   string
	kept  map[string]string // of a test
	elb   *elb.Client
	acm   *acm.Client
	s3    *s3.Client
}

func newWorld(t *testing.T, config awsapi.Config) *world {
	t.Helper()
	w := &world{T: t, clock: account.NewManual(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))}
	config.Clock = w.clock
	w.Server = awsapi.New(config)
	server := httptest.NewServer(w.Server)
	t.Cleanup(server.Close)
	w.url = server.URL
	cfg := w.config("AKIDTEST")
	w.elb, w.acm = elb.NewFromConfig(cfg), acm.NewFromConfig(cfg)
	w.s3 = s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	return w
}

// config is a caller's, without retries: a test wants to see every answer.
func (w *world) config(key string) aws.Config {
	return aws.Config{Region: "us-east-1", BaseEndpoint: aws.String(w.url), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: credentials.NewStaticCredentialsProvider(key, "secret", "")}
}

// must is a call that succeeds.
func must[I, O any](w *world, call func(context.Context, *I, ...func(*elb.Options)) (*O, error), in *I) *O {
	w.Helper()
	out, err := call(w.Context(), in)
	if err != nil {
		w.Fatalf("%T: %v", in, err)
	}
	return out
}

// code is what a call is refused with; "" if it succeeds.
func code[I, O any](w *world, call func(context.Context, *I, ...func(*elb.Options)) (*O, error), in *I) string {
	w.Helper()
	_, err := call(w.Context(), in)
	return codeOf(err)
}

func codeOf(err error) string {
	var refused smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused):
		return refused.ErrorCode()
	}
	return err.Error()
}

func (w *world) lb(name string, change ...func(*elb.CreateLoadBalancerInput)) types.LoadBalancer {
	w.Helper()
	in := &elb.CreateLoadBalancerInput{Name: &name, Subnets: []string{publicA, publicB}}
	for _, c := range change {
		c(in)
	}
	return must(w, w.elb.CreateLoadBalancer, in).LoadBalancers[0]
}

func nlb(in *elb.CreateLoadBalancerInput) { in.Type = types.LoadBalancerTypeEnumNetwork }

func (w *world) group(name string, change ...func(*elb.CreateTargetGroupInput)) string {
	w.Helper()
	in := &elb.CreateTargetGroupInput{Name: &name, Protocol: types.ProtocolEnumHttp, Port: aws.Int32(8080), VpcId: aws.String(vpc), TargetType: types.TargetTypeEnumIp}
	for _, c := range change {
		c(in)
	}
	return *must(w, w.elb.CreateTargetGroup, in).TargetGroups[0].TargetGroupArn
}

func forward(group string) []types.Action {
	return []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: &group}}
}

func notFound() []types.Action {
	return []types.Action{{Type: types.ActionTypeEnumFixedResponse, FixedResponseConfig: &types.FixedResponseActionConfig{StatusCode: aws.String("404")}}}
}

func (w *world) listener(lb types.LoadBalancer, port int32, actions []types.Action) string {
	w.Helper()
	in := &elb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancerArn, Port: &port, Protocol: types.ProtocolEnumHttp, DefaultActions: actions}
	if lb.Type == types.LoadBalancerTypeEnumNetwork {
		in.Protocol = types.ProtocolEnumTcp
	}
	return *must(w, w.elb.CreateListener, in).Listeners[0].ListenerArn
}

func path(values ...string) []types.RuleCondition {
	return []types.RuleCondition{{Field: aws.String("path-pattern"), PathPatternConfig: &types.PathPatternConditionConfig{Values: values}}}
}

func (w *world) rule(listener string, priority int32, path []types.RuleCondition, actions []types.Action) string {
	w.Helper()
	return *must(w, w.elb.CreateRule, &elb.CreateRuleInput{ListenerArn: &listener, Priority: &priority, Conditions: path, Actions: actions}).Rules[0].RuleArn
}

func (w *world) register(group string, ips ...string) {
	w.Helper()
	must(w, w.elb.RegisterTargets, &elb.RegisterTargetsInput{TargetGroupArn: &group, Targets: targets(ips...)})
}

func targets(ips ...string) []types.TargetDescription {
	var out []types.TargetDescription
	for _, ip := range ips {
		out = append(out, types.TargetDescription{Id: &ip})
	}
	return out
}

// states are a group's targets' states by address.
func (w *world) states(group string) map[string]string {
	w.Helper()
	out := map[string]string{}
	for _, h := range must(w, w.elb.DescribeTargetHealth, &elb.DescribeTargetHealthInput{TargetGroupArn: &group}).TargetHealthDescriptions {
		out[*h.Target.Id] = string(h.TargetHealth.State)
	}
	return out
}
