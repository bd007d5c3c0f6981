package aws

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"gatehouse.dev/lbmodel"
)

var noID lbmodel.ID

// codeError is an error of a request about a resource, with the code that the engine
// acts on. One that has a code already is left as it is.
//
// What is missing decides what it means that something is: the resource itself is
// gone, but something that it needs was there a moment ago and is not seen yet by the
// part of AWS that was asked. That is Pending; should it be gone for good, the next
// observation says so.
func codeError(op string, id lbmodel.ID, err error) error {
	if err == nil {
		return nil
	}
	if _, done := errors.AsType[*lbmodel.Error](err); done {
		return err
	}
	code := codeOf(err)
	if kind, known := missing[nativeCode(err)]; known && kind != id.Kind && id != noID {
		code = lbmodel.CodePending
	}
	return &lbmodel.Error{Code: code, Op: op, ID: id, Err: err}
}

// nativeCode is AWS's own code; "" for what is not AWS's answer.
func nativeCode(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// hasCode says whether an error is one of these by AWS's own codes.
func hasCode(err error, native ...string) bool {
	got := nativeCode(err)
	for _, code := range native {
		if got == code {
			return true
		}
	}
	return false
}

// codeOf is the code of an error by the tables.
func codeOf(err error) lbmodel.Code {
	if native := nativeCode(err); native != "" {
		if code, known := codes[native]; known {
			return code
		}
		if status(err) >= http.StatusInternalServerError {
			return lbmodel.CodeUnavailable
		}
		if _, known := missing[native]; known || status(err) == http.StatusNotFound {
			return lbmodel.CodeNotFound
		}
		return lbmodel.CodeUnknown
	}
	return localCode(err)
}

// localCode is the code of what went wrong without an answer of AWS's. A request that
// can't be signed has no credentials; one that was not made as AWS's interface wants
// it is our mistake; everything else is the way there or back.
func localCode(err error) lbmodel.Code {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return lbmodel.CodeUnavailable
	}
	if _, is := errors.AsType[*v4.SigningError](err); is {
		return lbmodel.CodeDenied
	}
	if _, is := errors.AsType[*aws.MissingRegionError](err); is {
		return lbmodel.CodeDenied
	}
	if _, is := errors.AsType[smithy.InvalidParamsError](err); is {
		return lbmodel.CodeInternal
	}
	if _, is := errors.AsType[*smithy.SerializationError](err); is {
		return lbmodel.CodeInternal
	}
	return lbmodel.CodeUnavailable
}

// status is the HTTP status of an answer; 0 is no answer.
func status(err error) int {
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return r.HTTPStatusCode()
	}
	return 0
}

// isMissing says whether what a request was about, or what it needed, is not there. A
// delete is then done.
func isMissing(err error) bool { return codeOf(err) == lbmodel.CodeNotFound }

// isThrottle says whether a request was refused because there were too many.
func isThrottle(err error) bool { return codes[nativeCode(err)] == lbmodel.CodeThrottled }

// mayHaveHappened says whether a request that failed may have had its effect.
func mayHaveHappened(err error) bool { return codeOf(err) == lbmodel.CodeUnavailable }

// missing are the codes that say what is not there, by its kind; "" is various.
var missing = map[string]string{
	"LoadBalancerNotFound":                KindLoadBalancer,
	"ListenerNotFound":                    KindListener,
	"RuleNotFound":                        KindRule,
	"TargetGroupNotFound":                 KindTargetGroup,
	"TrustStoreNotFound":                  KindTrustStore,
	"CertificateNotFound":                 KindCertificate,
	"CaCertificatesBundleNotFound":        KindTrustBundle,
	"InvalidGroup.NotFound":               KindSecurityGroup,
	"InvalidPermission.NotFound":          KindSecurityGroupRule,
	"InvalidSecurityGroupRuleId.NotFound": KindSecurityGroupRule,
	"NoSuchKey":                           KindTrustBundle,
	"NoSuchVersion":                       KindTrustBundle,
}

// codes are AWS's codes, of all services that are used. What is not in it is NotFound
// by the table above, Unavailable by a status of 5xx, or Unknown.
var codes = map[string]lbmodel.Code{
	// Too many requests: nothing was done, and the SDK tries again.
	"Throttling":                lbmodel.CodeThrottled,
	"ThrottlingException":       lbmodel.CodeThrottled,
	"ThrottledException":        lbmodel.CodeThrottled,
	"RequestThrottled":          lbmodel.CodeThrottled,
	"RequestThrottledException": lbmodel.CodeThrottled,
	"TooManyRequestsException":  lbmodel.CodeThrottled,
	"RequestLimitExceeded":      lbmodel.CodeThrottled,
	"SlowDown":                  lbmodel.CodeThrottled,
	"PriorRequestNotComplete":   lbmodel.CodeThrottled,

	// AWS is not well.
	"HealthUnavailable":               lbmodel.CodeUnavailable,
	"InternalError":                   lbmodel.CodeUnavailable,
	"InternalFailure":                 lbmodel.CodeUnavailable,
	"InternalServerException":         lbmodel.CodeUnavailable,
	"InternalServiceException":        lbmodel.CodeUnavailable,
	"ServiceUnavailable":              lbmodel.CodeUnavailable,
	"Unavailable":                     lbmodel.CodeUnavailable,
	"RequestTimeout":                  lbmodel.CodeUnavailable,
	"RequestTimeoutException":         lbmodel.CodeUnavailable,
	"OperationAborted":                lbmodel.CodeUnavailable,
	"PaginationTokenExpiredException": lbmodel.CodeUnavailable,

	// Something else must be over first.
	"ResourceInUse":              lbmodel.CodePending,
	"ResourceInUseException":     lbmodel.CodePending,
	"TrustStoreInUse":            lbmodel.CodePending,
	"TrustStoreNotReady":         lbmodel.CodePending,
	"DependencyViolation":        lbmodel.CodePending,
	"RequestInProgressException": lbmodel.CodePending,
	"CapacityReservationPending": lbmodel.CodePending,

	// Taken, or changed by another.
	"DuplicateListener":               lbmodel.CodeConflict,
	"DuplicateLoadBalancerName":       lbmodel.CodeConflict,
	"DuplicateTargetGroupName":        lbmodel.CodeConflict,
	"DuplicateTrustStoreName":         lbmodel.CodeConflict,
	"PriorityInUse":                   lbmodel.CodeConflict,
	"TargetGroupAssociationLimit":     lbmodel.CodeConflict, // another load balancer has it
	"InvalidGroup.Duplicate":          lbmodel.CodeConflict,
	"InvalidPermission.Duplicate":     lbmodel.CodeConflict,
	"ConflictException":               lbmodel.CodeConflict,
	"InvalidStateException":           lbmodel.CodeConflict,
	"ConcurrentModificationException": lbmodel.CodeConflict,
	"PreconditionFailed":              lbmodel.CodeConflict,
	"ConditionalRequestConflict":      lbmodel.CodeConflict,

	// A person must let us.
	"AccessDenied":                 lbmodel.CodeDenied,
	"AccessDeniedException":        lbmodel.CodeDenied,
	"UnauthorizedOperation":        lbmodel.CodeDenied,
	"NotAuthorized":                lbmodel.CodeDenied,
	"AuthFailure":                  lbmodel.CodeDenied,
	"OptInRequired":                lbmodel.CodeDenied,
	"ExpiredToken":                 lbmodel.CodeDenied,
	"ExpiredTokenException":        lbmodel.CodeDenied,
	"RequestExpired":               lbmodel.CodeDenied, // the clock of this machine
	"RequestTimeTooSkewed":         lbmodel.CodeDenied,
	"InvalidClientTokenId":         lbmodel.CodeDenied,
	"InvalidAccessKeyId":           lbmodel.CodeDenied,
	"UnrecognizedClientException":  lbmodel.CodeDenied,
	"SignatureDoesNotMatch":        lbmodel.CodeDenied,
	"IncompleteSignature":          lbmodel.CodeDenied,
	"InvalidSignatureException":    lbmodel.CodeDenied,
	"MissingAuthenticationToken":   lbmodel.CodeDenied,
	"InvalidIdentityToken":         lbmodel.CodeDenied,
	"RegionDisabledException":      lbmodel.CodeDenied,
	"TagPolicyException":           lbmodel.CodeDenied,
	"ConstraintViolationException": lbmodel.CodeDenied,
	"OperationNotPermitted":        lbmodel.CodeDenied, // deletion protection
	"CannotDelete":                 lbmodel.CodeDenied,
	"NoSuchBucket":                 lbmodel.CodeDenied, // the operator's to make: asked again, slowly
	"PermanentRedirect":            lbmodel.CodeDenied, // the bucket is in another region

	// A limit is reached.
	"TooManyActions":                           lbmodel.CodeQuota,
	"TooManyCertificates":                      lbmodel.CodeQuota,
	"TooManyListeners":                         lbmodel.CodeQuota,
	"TooManyLoadBalancers":                     lbmodel.CodeQuota,
	"TooManyRegistrationsForTargetId":          lbmodel.CodeQuota,
	"TooManyRules":                             lbmodel.CodeQuota,
	"TooManyTags":                              lbmodel.CodeQuota,
	"TooManyTagsException":                     lbmodel.CodeQuota,
	"TagLimitExceeded":                         lbmodel.CodeQuota,
	"TooManyTargetGroups":                      lbmodel.CodeQuota,
	"TooManyTargets":                           lbmodel.CodeQuota,
	"TooManyTrustStoreRevocationEntries":       lbmodel.CodeQuota,
	"TooManyTrustStores":                       lbmodel.CodeQuota,
	"TooManyUniqueTargetGroupsPerLoadBalancer": lbmodel.CodeQuota,
	"CapacityDecreaseRequestLimitExceeded":     lbmodel.CodeQuota,
	"CapacityUnitsLimitExceeded":               lbmodel.CodeQuota,
	"InsufficientCapacity":                     lbmodel.CodeQuota,
	"LimitExceededException":                   lbmodel.CodeQuota, // ACM's; the SDK takes it for throttling
	"ServiceQuotaExceededException":            lbmodel.CodeQuota,
	"RulesPerSecurityGroupLimitExceeded":       lbmodel.CodeQuota,
	"SecurityGroupLimitExceeded":               lbmodel.CodeQuota,
	"SecurityGroupsPerInterfaceLimitExceeded":  lbmodel.CodeQuota,

	// What is asked for is wrong.
	"ALPNPolicyNotFound":           lbmodel.CodeInvalid,
	"AllocationIdNotFound":         lbmodel.CodeInvalid,
	"AvailabilityZoneNotSupported": lbmodel.CodeInvalid,
	"IncompatibleProtocols":        lbmodel.CodeInvalid,
	"InvalidCaCertificatesBundle":  lbmodel.CodeInvalid,
	"InvalidConfigurationRequest":  lbmodel.CodeInvalid,
	"InvalidLoadBalancerAction":    lbmodel.CodeInvalid,
	"InvalidRevocationContent":     lbmodel.CodeInvalid,
	"InvalidScheme":                lbmodel.CodeInvalid,
	"InvalidSecurityGroup":         lbmodel.CodeInvalid,
	"InvalidSubnet":                lbmodel.CodeInvalid,
	"InvalidTarget":                lbmodel.CodeInvalid,
	"SubnetNotFound":               lbmodel.CodeInvalid,
	"SSLPolicyNotFound":            lbmodel.CodeInvalid,
	"ValidationError":              lbmodel.CodeInvalid,
	"ValidationException":          lbmodel.CodeInvalid,
	"InvalidParameterValue":        lbmodel.CodeInvalid,
	"InvalidParameterException":    lbmodel.CodeInvalid,
	"InvalidArgsException":         lbmodel.CodeInvalid,
	"InvalidTagException":          lbmodel.CodeInvalid,
	"InvalidSubnetID.NotFound":     lbmodel.CodeInvalid,
	"InvalidVpcID.NotFound":        lbmodel.CodeInvalid,
	"InvalidGroupId.Malformed":     lbmodel.CodeInvalid,
	"InvalidRequest":               lbmodel.CodeInvalid,
	"UnsupportedProtocol":          lbmodel.CodeUnsupported,

	"ResourceNotFound":          lbmodel.CodeNotFound,
	"ResourceNotFoundException": lbmodel.CodeNotFound,
	"AssociationNotFound":       lbmodel.CodeNotFound,
	"RevocationContentNotFound": lbmodel.CodeNotFound,
	"RevocationIdNotFound":      lbmodel.CodeNotFound,
	"NotFound":                  lbmodel.CodeNotFound, // S3's answer to a HEAD

	// Our requests are malformed.
	"DuplicateTagKeys":             lbmodel.CodeInternal,
	"DeleteAssociationSameAccount": lbmodel.CodeInternal,
	"InvalidArnException":          lbmodel.CodeInternal,
	"MalformedInput":               lbmodel.CodeInternal,
	"MissingParameter":             lbmodel.CodeInternal,
	"InvalidAction":                lbmodel.CodeInternal,
	"InvalidID":                    lbmodel.CodeInternal,
}
