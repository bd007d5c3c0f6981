package aws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"gatehouse.dev/fake/awsapi"
	"gatehouse.dev/lbmodel"
)

// answered is an error as an SDK client returns it.
func answered(status int, code string) error {
	return &smithy.OperationError{ServiceID: "any", OperationName: "Any", Err: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
		Err:      &smithy.GenericAPIError{Code: code, Message: "as AWS says it"},
	}}
}

// TestCodes has every error that the APIs' models and guides name: whoever adds a
// request looks here what its errors mean.
func TestCodes(t *testing.T) {
	cases := []struct {
		name, why string
		want      lbmodel.Code
		native    []string
	}{
		{"too fast", "time alone heals it, and nothing was done", lbmodel.CodeThrottled, []string{"ThrottlingException", "Throttling",
			"ThrottledException", "RequestLimitExceeded", "SlowDown", "PriorRequestNotComplete"}},
		{"AWS is unwell", "it may have been done", lbmodel.CodeUnavailable, []string{"InternalFailure", "InternalError", "InternalServerException",
			"ServiceUnavailable", "HealthUnavailable", "RequestTimeout"}},
		{"in use", "a wait that nobody should hold a worker for", lbmodel.CodePending, []string{"ResourceInUse", "ResourceInUseException",
			"DependencyViolation", "TrustStoreInUse", "TrustStoreNotReady", "RequestInProgressException"}},
		{"taken", "another has it, or the reply to our own request was lost", lbmodel.CodeConflict, []string{"DuplicateLoadBalancerName",
			"DuplicateTargetGroupName", "DuplicateListener", "DuplicateTrustStoreName", "PriorityInUse", "TargetGroupAssociationLimit",
			"InvalidGroup.Duplicate", "InvalidPermission.Duplicate"}},
		{"limits", "a person must raise it or ask for less", lbmodel.CodeQuota, []string{"TooManyRules", "TooManyUniqueTargetGroupsPerLoadBalancer",
			"TooManyCertificates", "TooManyTargetGroups", "TooManyLoadBalancers", "TooManyTargets", "TooManyTrustStores", "TooManyActions",
			"TooManyListeners", "TooManyTags", "TooManyRegistrationsForTargetId", "TooManyTrustStoreRevocationEntries",
			"LimitExceededException", "RulesPerSecurityGroupLimitExceeded", "SecurityGroupLimitExceeded", "InsufficientCapacity"}},
		{"forbidden", "credentials, policies, protection", lbmodel.CodeDenied, []string{"AccessDenied", "AccessDeniedException",
			"UnauthorizedOperation", "ExpiredToken", "InvalidClientTokenId", "SignatureDoesNotMatch", "OperationNotPermitted", "NoSuchBucket"}},
		{"wrong", "only another wish helps", lbmodel.CodeInvalid, []string{"ValidationError", "ValidationException", "InvalidConfigurationRequest",
			"InvalidLoadBalancerAction", "IncompatibleProtocols", "SSLPolicyNotFound", "InvalidScheme", "InvalidSubnet", "SubnetNotFound",
			"InvalidSecurityGroup", "InvalidTarget", "InvalidCaCertificatesBundle", "AvailabilityZoneNotSupported", "ALPNPolicyNotFound"}},
		{"not offered", "no AWS account can", lbmodel.CodeUnsupported, []string{"UnsupportedProtocol"}},
		{"gone", "look again, or be glad when deleting", lbmodel.CodeNotFound, []string{"LoadBalancerNotFound", "ListenerNotFound", "RuleNotFound",
			"TargetGroupNotFound", "TrustStoreNotFound", "CertificateNotFound", "CaCertificatesBundleNotFound", "InvalidGroup.NotFound",
			"ResourceNotFoundException", "ResourceNotFound", "NoSuchKey", "NotFound"}},
		{"our mistake", "a metric, not a condition for a user to puzzle over", lbmodel.CodeInternal, []string{"MissingParameter", "DuplicateTagKeys", "InvalidAction"}},
		{"news", "AWS adds codes at any time", lbmodel.CodeUnknown, []string{"NeverHeardOf"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			for _, native := range tc.native {
				if got := lbmodel.CodeOf(codeError("Any", noID, answered(http.StatusBadRequest, native))); got != tc.want {
					t.Errorf("%s is %s, want %s: %s", native, got, tc.want, tc.why)
				}
			}
		})
	}
}

// TestErrorsWithoutACode are told by their status, or by what happened on the way.
func TestErrorsWithoutACode(t *testing.T) {
	cases := []struct {
		name string
		err  error
		want lbmodel.Code
	}{
		{"a status of 5xx with a code of its own", answered(http.StatusServiceUnavailable, "NeverHeardOf"), lbmodel.CodeUnavailable},
		{"a connection that was cut", &smithy.OperationError{Err: fmt.Errorf("request send failed: %w", io.ErrUnexpectedEOF)}, lbmodel.CodeUnavailable},
		{"a reply that is none", &smithy.DeserializationError{Err: io.EOF}, lbmodel.CodeUnavailable},
		{"a deadline", fmt.Errorf("canceled: %w", context.DeadlineExceeded), lbmodel.CodeUnavailable},
		{"a parameter that is missing", smithy.InvalidParamsError{}, lbmodel.CodeInternal},
		{"none", nil, lbmodel.CodeOK},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if got := lbmodel.CodeOf(codeError("Any", noID, tc.err)); got != tc.want {
				t.Errorf("%v is %s, want %s", tc.err, got, tc.want)
			}
		})
	}
}

// TestWhatIsMissingDecides: a rule that is gone is gone; a target group that a rule
// needs, and that was made a moment ago, is not seen yet.
func TestWhatIsMissingDecides(t *testing.T) {
	rule := lbmodel.ID{Kind: KindRule, Location: "eu-west-1", Name: "r"}
	cases := []struct {
		name, native string
		want         lbmodel.Code
	}{
		{"itself", "RuleNotFound", lbmodel.CodeNotFound},
		{"its listener", "ListenerNotFound", lbmodel.CodePending},
		{"its target group", "TargetGroupNotFound", lbmodel.CodePending},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			err := codeError("CreateRule", rule, answered(http.StatusBadRequest, tc.native))
			if got := lbmodel.CodeOf(err); got != tc.want {
				t.Errorf("%v is %s, want %s", err, got, tc.want)
			}
			if !isMissing(err) || !hasCode(err, "Other", tc.native) {
				t.Errorf("%v: its native code is lost", err)
			}
			if again := codeError("Other", noID, err); !errors.Is(again, err) || lbmodel.CodeOf(again) != tc.want {
				t.Errorf("coded twice it is %v", again)
			}
		})
	}
}

// TestRefusalsOverTheWire: codes arrive through the real client, from each kind of
// protocol.
func TestRefusalsOverTheWire(t *testing.T) {
	w := newEmulator(t, awsapi.Config{Permit: func(_, _, action string) bool { return action != "DescribeRules" }})
	p := w.provider(nil)
	_, err := p.calls.elb.DescribeRules(t.Context(), &elb.DescribeRulesInput{})
	if got := lbmodel.CodeOf(codeError("DescribeRules", noID, err)); got != lbmodel.CodeDenied {
		t.Errorf("without permission: %v is %s", err, got)
	}
	_, err = p.calls.elb.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{Names: []string{"nobody"}})
	if !isMissing(err) {
		t.Errorf("a name that nobody has: %v", err)
	}
	w.api.SetFaults(awsapi.Fault{Action: "GetCallerIdentity", Kind: awsapi.Refuse, Status: 403, Code: "ExpiredToken"})
	if _, _, err = p.Account(t.Context()); lbmodel.CodeOf(err) != lbmodel.CodeDenied {
		t.Errorf("old credentials: %v", err)
	}
}
