package aws

import (
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/lbmodel"
)

// TestRetries counts how often a request reaches the account.
func TestRetries(t *testing.T) {
	read := func(t *testing.T, p *Provider) error {
		_, err := p.calls.elb.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{})
		return err
	}
	write := func(t *testing.T, p *Provider) error {
		_, err := p.calls.acm.ImportCertificate(t.Context(), &acm.ImportCertificateInput{Certificate: []byte("x"), PrivateKey: []byte("y")})
		return err
	}
	cases := []struct {
		name, why string
		do        func(*testing.T, *Provider) error
		fault     awsapi.Fault
		calls     int
		code      lbmodel.Code
	}{
		{"a read is throttled", "nothing was done", read, awsapi.Fault{Kind: awsapi.Throttle, Times: 3}, 4, lbmodel.CodeOK},
		{"a read loses its reply", "reading twice harms nobody", read, awsapi.Fault{Kind: awsapi.CutAfter, Times: 2}, 3, lbmodel.CodeOK},
		{"a read fails for ever", "there is an end", read, awsapi.Fault{Kind: awsapi.Refuse}, maxAttempts, lbmodel.CodeUnavailable},
		{"a write is throttled", "nothing was done", write, awsapi.Fault{Kind: awsapi.Throttle}, maxAttempts, lbmodel.CodeThrottled},
		{"a write loses its reply", "a second certificate would be imported", write, awsapi.Fault{Kind: awsapi.CutBefore}, 1, lbmodel.CodeUnavailable},
		{"a write meets a server's fault", "it may have been done", write, awsapi.Fault{Kind: awsapi.Refuse, Status: 500, Code: "InternalFailure"}, 1, lbmodel.CodeUnavailable},
		{"a quota of ACM's", "the SDK would take it for throttling", write, awsapi.Fault{Kind: awsapi.Refuse, Status: 400, Code: "LimitExceededException"}, 1, lbmodel.CodeQuota},
		{"forbidden", "only a person can help", read, awsapi.Fault{Kind: awsapi.Refuse, Status: 403, Code: "AccessDenied"}, 1, lbmodel.CodeDenied},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newEmulator(t, awsapi.Config{})
				w.api.SetFaults(tc.fault)
				err := codeError("Any", noID, tc.do(t, w.provider(nil)))
				if got := len(w.api.Calls()); got != tc.calls || lbmodel.CodeOf(err) != tc.code {
					t.Errorf("%d calls and %v, want %d and %s: %s", got, err, tc.calls, tc.code, tc.why)
				}
			})
		})
	}
}

// TestUnsureIsTold: what may have been done can be told from what was not.
func TestUnsureIsTold(t *testing.T) {
	w := newEmulator(t, awsapi.Config{})
	p := w.provider(nil)
	w.api.SetFaults(awsapi.Fault{Kind: awsapi.CutAfter})
	_, err := p.calls.elb.DeleteLoadBalancer(t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerArn: aws.String("arn:x")})
	if !isUnsure(codeError("DeleteLoadBalancer", noID, err)) {
		t.Errorf("a lost reply to a write is not unsure: %v", err)
	}
	w.api.SetFaults(awsapi.Fault{Kind: awsapi.Refuse, Status: 400, Code: "ValidationError"})
	_, err = p.calls.elb.DeleteLoadBalancer(t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerArn: aws.String("arn:x")})
	if err == nil || isUnsure(codeError("DeleteLoadBalancer", noID, err)) {
		t.Errorf("a refusal is unsure: %v", err)
	}
}
