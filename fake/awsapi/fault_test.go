package awsapi_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"gatehouse.dev/fake/awsapi"
	sub "gatehouse.dev/fake/awsapi/elb"
)

func (w *world) rulesOf(listener string) int {
	w.Helper()
	return len(must(w, w.elb.DescribeRules, &elb.DescribeRulesInput{ListenerArn: &listener}).Rules)
}

// Every kind of fault: what the caller sees, and whether the call took effect.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name, why string
		fault     awsapi.Fault
		want      string // a part of the error
		effect    int
	}{
		{"throttle", "AWS's own words", awsapi.Fault{Kind: awsapi.Throttle}, "ThrottlingException", 0},
		{"unavailable", "5xx", awsapi.Fault{Kind: awsapi.Refuse}, "ServiceUnavailable", 0},
		{"refuse", "any error", awsapi.Fault{Kind: awsapi.Refuse, Status: 429, Code: "PriorRequestNotComplete"}, "PriorRequestNotComplete", 0},
		{"cut before", "nothing happened", awsapi.Fault{Kind: awsapi.CutBefore}, "EOF", 0},
		{"lost reply", "it happened, and the caller does not know", awsapi.Fault{Kind: awsapi.CutAfter}, "EOF", 1},
		{"slow", "it happens", awsapi.Fault{Kind: awsapi.Slow, Delay: time.Millisecond}, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, awsapi.Config{})
			group := w.group("web")
			listener := w.listener(w.lb("shop"), 80, notFound())
			c.fault.Action, c.fault.Times = "CreateRule", 1
			w.SetFaults(c.fault)
			in := &elb.CreateRuleInput{ListenerArn: &listener, Priority: aws.Int32(1), Conditions: path("/a"), Actions: forward(group)}
			_, err := w.elb.CreateRule(t.Context(), in)
			if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", c.why, err, c.want)
			}
			if got := w.rulesOf(listener) - 1; got != c.effect {
				t.Errorf("%s: %d rules were made, want %d", c.why, got, c.effect)
			}
			in.Priority = aws.Int32(2)
			if got := code(w, w.elb.CreateRule, in); got != "" {
				t.Errorf("the fault spoils a second call: %s", got)
			}
		})
	}
}

// A fault can wait for the n-th call, and mean one caller only.
func TestFaultsChooseCalls(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	w.SetFaults(awsapi.Fault{Action: "DescribeLoadBalancers", Skip: 1, Times: 1, Kind: awsapi.Throttle}, awsapi.Fault{Caller: "AKIDOTHER", Kind: awsapi.Refuse})
	var got []string
	for range 3 {
		got = append(got, code(w, w.elb.DescribeLoadBalancers, &elb.DescribeLoadBalancersInput{}))
	}
	if strings.Join(got, ",") != ",ThrottlingException," {
		t.Errorf("three calls: %q", got)
	}
	other := elb.NewFromConfig(w.config("AKIDOTHER"))
	if got := code(w, other.DescribeLoadBalancers, &elb.DescribeLoadBalancersInput{}); got != "ServiceUnavailable" {
		t.Errorf("the other caller's call: %q", got)
	}
}

// A stale read answers from before the last change, one that lags from before its lag.
func TestReadsFromThePast(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	w.lb("one")
	w.lb("two")
	count := func(w *world) int {
		return len(must(w, w.elb.DescribeLoadBalancers, &elb.DescribeLoadBalancersInput{}).LoadBalancers)
	}
	w.SetFaults(awsapi.Fault{Action: "DescribeLoadBalancers", Times: 1, Kind: awsapi.Stale})
	if stale, fresh := count(w), count(w); stale != 1 || fresh != 2 {
		t.Errorf("a stale read sees %d, the next one %d, want 1 and 2", stale, fresh)
	}
	slow := newWorld(t, awsapi.Config{Times: awsapi.Times{Read: 500 * time.Millisecond, Times: sub.Times{Reference: 2 * time.Second}}})
	lb := slow.lb("one")
	if got := count(slow); got != 0 {
		t.Errorf("just made, and %d are described", got)
	}
	listener := slow.listener(lb, 80, notFound())
	slow.clock.Advance(time.Second)
	if got := count(slow); got != 1 {
		t.Errorf("after the lag %d are described", got)
	}
	in := &elb.CreateRuleInput{ListenerArn: &listener, Priority: aws.Int32(1), Conditions: path("/a"), Actions: notFound()}
	if got := code(slow, slow.elb.CreateRule, in); got != "ListenerNotFound" {
		t.Errorf("a rule on a listener a second old: %q", got)
	}
	slow.clock.Advance(time.Second)
	if got := code(slow, slow.elb.CreateRule, in); got != "" {
		t.Errorf("a rule on a listener two seconds old: %q", got)
	}
}

// With AWS's buckets a burst of 20 writes goes through, and then three a second; the
// account's bucket is everybody's.
func TestThrottling(t *testing.T) {
	w := newWorld(t, awsapi.Config{Buckets: awsapi.Buckets()})
	listener := w.listener(w.lb("shop"), 80, notFound()) // one mutating call
	made := func() int {
		n := 0
		for i := range 30 {
			in := &elb.CreateRuleInput{ListenerArn: &listener, Priority: aws.Int32(int32(100*w.clock.Now().Second() + i + 1)), Conditions: path("/a"), Actions: notFound()}
			_, err := w.elb.CreateRule(t.Context(), in)
			if err == nil {
				n++
				continue
			}
			var response *awshttp.ResponseError
			if !errors.As(err, &response) || response.HTTPStatusCode() != http.StatusBadRequest || codeOf(err) != "ThrottlingException" {
				t.Fatal(err)
			}
		}
		return n
	}
	if first := made(); first != 19 {
		t.Errorf("%d of 30 calls go through at once, want 19", first)
	}
	w.clock.Advance(2 * time.Second)
	if second := made(); second != 6 {
		t.Errorf("%d go through after two seconds, want 6", second)
	}
	w.Drain(sub.BucketAccount)
	if got := code(w, w.elb.DescribeLoadBalancers, &elb.DescribeLoadBalancersInput{}); got != "ThrottlingException" {
		t.Errorf("a read in an exhausted account: %q", got)
	}
	w.clock.Advance(time.Second)
	if got := w.Tokens(sub.BucketAccount); got != 10 {
		t.Errorf("the account has %v tokens after a second, want 10", got)
	}
}

// The log tells who called what; equal requests have equal digests, and no request
// can be read in it.
func TestCallLog(t *testing.T) {
	w := newWorld(t, awsapi.Config{})
	peer := w.config("AKIDPEER")
	peer.AppID = "peer"
	other := elb.NewFromConfig(peer)
	for range 2 {
		must(w, w.elb.DescribeLoadBalancers, &elb.DescribeLoadBalancersInput{Names: nil})
	}
	if _, err := other.DescribeTargetGroups(t.Context(), &elb.DescribeTargetGroupsInput{Names: []string{"none"}}); codeOf(err) != "TargetGroupNotFound" {
		t.Fatal(err)
	}
	calls := w.Calls()
	if len(calls) != 3 || calls[0].Digest != calls[1].Digest || calls[0].Digest == calls[2].Digest {
		t.Fatalf("calls are %+v", calls)
	}
	last := calls[2]
	if last.Code != "TargetGroupNotFound" || last.About != "none" || last.Bucket != sub.BucketDescribe || last.Key != "AKIDPEER" || !strings.Contains(last.Caller, "app/peer") || !last.Done {
		t.Errorf("the last call is %+v", last)
	}
	if got := w.Count(awsapi.ByAction); got["DescribeLoadBalancers"] != 2 || got["DescribeTargetGroups"] != 1 {
		t.Errorf("by action: %v", got)
	}
	if got := len(w.Callers()); got != 2 {
		t.Errorf("%d callers", got)
	}
	w.Forget()
	if len(w.Calls()) != 0 {
		t.Error("the log can't be emptied")
	}
}

// A caller may do what it is permitted, and is told what it may not.
func TestPermissions(t *testing.T) {
	w := newWorld(t, awsapi.Config{Permit: func(_, service, action string) bool {
		return service == awsapi.ELB && action == "DescribeLoadBalancers"
	}})
	must(w, w.elb.DescribeLoadBalancers, &elb.DescribeLoadBalancersInput{})
	_, err := w.elb.DescribeTargetGroups(t.Context(), &elb.DescribeTargetGroupsInput{})
	if codeOf(err) != "AccessDenied" || !strings.Contains(err.Error(), "elasticloadbalancing:DescribeTargetGroups") {
		t.Errorf("without a permission: %v", err)
	}
	if _, err := w.acm.ListCertificates(t.Context(), &acm.ListCertificatesInput{}); codeOf(err) != "AccessDeniedException" {
		t.Errorf("another service: %v", err)
	}
}

// Callers without a key that is known are not let in.
func TestKeys(t *testing.T) {
	w := newWorld(t, awsapi.Config{Keys: []string{"AKIDTEST"}})
	must(w, w.elb.DescribeLoadBalancers, &elb.DescribeLoadBalancersInput{})
	stranger := elb.NewFromConfig(w.config("AKIDWHO"))
	if got := code(w, stranger.DescribeLoadBalancers, &elb.DescribeLoadBalancersInput{}); got != "InvalidClientTokenId" {
		t.Errorf("a stranger: %q", got)
	}
	away := w.config("AKIDTEST")
	away.Region = "eu-west-1"
	if got := code(w, elb.NewFromConfig(away).DescribeLoadBalancers, &elb.DescribeLoadBalancersInput{}); got != "SignatureDoesNotMatch" {
		t.Errorf("another region: %q", got)
	}
	response, err := http.PostForm(w.url, map[string][]string{"Action": {"DescribeLoadBalancers"}, "Version": {"2015-12-01"}})
	if err != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("without a signature: %v %v", response, err)
	}
}
