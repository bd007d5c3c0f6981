package gcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"cloud.google.com/go/auth"

	"gatehouse.dev/internal/gcpcalls"
	"gatehouse.dev/lbmodel"
)

var noID lbmodel.ID

// codeError is an error of a request or of an operation about a resource, with the code
// that the engine acts on, and what to do where a person must. One that has a code
// already is left as it is.
//
// What is missing decides what it means that something is: the resource itself is gone,
// but something that it needs was there a moment ago and is not seen yet by the part of
// Google Cloud that was asked. That is Pending; should it be gone for good, the next
// observation says so.
func codeError(op string, id lbmodel.ID, err error) error {
	if err == nil {
		return nil
	}
	if _, done := errors.AsType[*lbmodel.Error](err); done {
		return err
	}
	out := &lbmodel.Error{Code: codeOf(err), Op: op, ID: id, Err: err, Outdated: isOutdated(err)}
	if out.Code == lbmodel.CodeNotFound && id != noID && !isGone(err) {
		out.Code = lbmodel.CodePending
	}
	if advice := adviceOn(native(err)); advice != "" {
		out.Err = fmt.Errorf("%w: %s", err, advice)
	}
	return out
}

// native is Google's own error; its zero value is what is none.
func native(err error) *gcpcalls.Error {
	if e, ok := errors.AsType[*gcpcalls.Error](err); ok {
		return e
	}
	return &gcpcalls.Error{}
}

// reasonOf is Google's own word, as the tables have it: RESOURCE_NOT_READY of an operation
// and resourceNotReady of a request are one. An ErrorInfo says more than the status
// beside it.
func reasonOf(e *gcpcalls.Error) string {
	if e.Status == http.StatusForbidden && strings.Contains(e.Message, "or it is disabled") {
		return "accessNotConfigured" // in the words of whichever API
	}
	if info := camel(e.Info["reason"]); codes[info] != lbmodel.CodeOK {
		return info
	}
	return camel(e.Reason)
}

// camel makes resourceNotReady of RESOURCE_NOT_READY.
func camel(reason string) string {
	if reason == "" || reason != strings.ToUpper(reason) {
		return reason
	}
	words := strings.Split(strings.ToLower(reason), "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// codeOf is the code of an error by the table.
func codeOf(err error) lbmodel.Code {
	e := native(err)
	switch code, known := codes[reasonOf(e)]; {
	case errors.Is(err, gcpcalls.ErrRunning):
		return lbmodel.CodePending
	case e.Reason == gcpcalls.ReasonNoAnswer || e.Method == "" && e.Reason == "":
		return localCode(err)
	case e.Status == http.StatusNotFound && projectOnly(e.Message):
		return lbmodel.CodeDenied
	case e.Status == http.StatusBadRequest && strings.Contains(e.Message, "in-use and would result in a conflict"):
		return lbmodel.CodeConflict
	case known:
		return code
	}
	return statusCode(e.Status)
}

// statusCode is the code of an answer of which the table has no word.
func statusCode(status int) lbmodel.Code {
	switch {
	case status >= http.StatusInternalServerError:
		return lbmodel.CodeUnavailable
	case status == http.StatusNotFound:
		return lbmodel.CodeNotFound
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return lbmodel.CodeDenied
	case status == http.StatusTooManyRequests:
		return lbmodel.CodeThrottled
	case status == http.StatusConflict, status == http.StatusPreconditionFailed:
		return lbmodel.CodeConflict
	case status == http.StatusBadRequest:
		return lbmodel.CodeInvalid
	default:
		return lbmodel.CodeUnknown
	}
}

// localCode is the code of what went wrong without an answer of Google Cloud's: who has
// no token may not ask; everything else is the way there or back.
func localCode(err error) lbmodel.Code {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return lbmodel.CodeUnavailable
	}
	if refused, is := errors.AsType[noToken](err); is {
		if answer, told := errors.AsType[*auth.Error](refused.err); !told || !answer.Temporary() {
			return lbmodel.CodeDenied
		}
	}
	return lbmodel.CodeUnavailable
}

// isMissing says whether what a request was about, or what it needed, is not there. A
// delete is then done.
func isMissing(err error) bool {
	return err != nil && codeOf(err) == lbmodel.CodeNotFound
}

// isGone says whether it is the thing itself that is missing, and not something that it
// is to refer to: the message names which.
func isGone(err error) bool {
	e := native(err)
	_, verb, _ := strings.Cut(e.Method, ".")
	switch verb {
	case "insert":
		return false
	case "get", "delete", "list", "getHealth", "listNetworkEndpoints":
		return true
	}
	found := quoted.FindStringSubmatch(e.Message)
	return found == nil || strings.HasSuffix(found[1], e.Path[strings.LastIndexByte(e.Path, '/')+1:])
}

// quoted is what a message is about.
var quoted = regexp.MustCompile(`'([^']+)'`)

// projectOnly says whether it is the project that is not there, or not to be seen.
func projectOnly(message string) bool {
	found := quoted.FindStringSubmatch(message)
	return found != nil && strings.HasPrefix(found[1], "projects/") && strings.Count(found[1], "/") == 1
}

// isDisabled says whether the project has not enabled the API.
func isDisabled(err error) bool {
	reason := reasonOf(native(err))
	return reason == "accessNotConfigured" || reason == "serviceDisabled"
}

// isOutdated says whether a change was made from what is not so any more: its fingerprint or
// its etag is another one's.
func isOutdated(err error) bool {
	e := native(err)
	return e.Status == http.StatusPreconditionFailed || reasonOf(e) == "conditionNotMet" || reasonOf(e) == "aborted"
}

// isTaken says whether something of that name is there already.
func isTaken(err error) bool {
	reason := reasonOf(native(err))
	return reason == "alreadyExists" || reason == "resourceAlreadyExists"
}

// isInUse says whether something cannot go, since others use it.
func isInUse(err error) bool {
	reason := reasonOf(native(err))
	return reason == "resourceInUseByAnotherResource" || reason == "resourceInUse" || reason == "failedPrecondition"
}

// codes are Google's words, of requests and of operations, in the form that Compute's
// requests have. What is not in it is judged by the status of HTTP.
var codes = map[string]lbmodel.Code{
	// Too many requests: nothing was done.
	"rateLimitExceeded":                 lbmodel.CodeThrottled,
	"userRateLimitExceeded":             lbmodel.CodeThrottled,
	"concurrentOperationsQuotaExceeded": lbmodel.CodeThrottled,
	"operationRateExceeded":             lbmodel.CodeThrottled,

	// Google Cloud is not well.
	"backendError":              lbmodel.CodeUnavailable,
	"internalError":             lbmodel.CodeUnavailable,
	"internal":                  lbmodel.CodeUnavailable,
	"unavailable":               lbmodel.CodeUnavailable,
	"deadlineExceeded":          lbmodel.CodeUnavailable,
	"unknown":                   lbmodel.CodeUnavailable,
	"cancelled":                 lbmodel.CodeUnavailable,
	"operationCanceledByUser":   lbmodel.CodeUnavailable,
	"zoneResourcePoolExhausted": lbmodel.CodeUnavailable,

	// Something else must be over first.
	"resourceNotReady":               lbmodel.CodePending,
	"resourceInUseByAnotherResource": lbmodel.CodePending,
	"failedPrecondition":             lbmodel.CodePending, // in use, in the words of google.rpc
	"operationInProgress":            lbmodel.CodePending,
	"resourceOperationRateExceeded":  lbmodel.CodePending, // one resource is changed too often

	// Taken, or changed by another.
	"alreadyExists":                lbmodel.CodeConflict,
	"resourceAlreadyExists":        lbmodel.CodeConflict,
	"conditionNotMet":              lbmodel.CodeConflict,
	"aborted":                      lbmodel.CodeConflict,
	"fingerprintMismatch":          lbmodel.CodeConflict,
	"ipInUseByAnotherResource":     lbmodel.CodeConflict,
	"ipAddressInUse":               lbmodel.CodeConflict,
	"resourceInUse":                lbmodel.CodeConflict,
	"networkEndpointAlreadyExists": lbmodel.CodeConflict,

	// A person must let us.
	"forbidden":                    lbmodel.CodeDenied,
	"permissionDenied":             lbmodel.CodeDenied,
	"permissionsError":             lbmodel.CodeDenied,
	"iamPermissionDenied":          lbmodel.CodeDenied,
	"accessNotConfigured":          lbmodel.CodeDenied,
	"serviceDisabled":              lbmodel.CodeDenied,
	"authError":                    lbmodel.CodeDenied,
	"required login":               lbmodel.CodeDenied,
	"unauthenticated":              lbmodel.CodeDenied,
	"insufficientPermissions":      lbmodel.CodeDenied,
	"accessTokenScopeInsufficient": lbmodel.CodeDenied,
	"billingNotEnabled":            lbmodel.CodeDenied,
	"billingDisabled":              lbmodel.CodeDenied,
	"userProjectDenied":            lbmodel.CodeDenied,
	"consumerInvalid":              lbmodel.CodeDenied,
	"orgPolicyConstraintFailed":    lbmodel.CodeDenied,
	"conditionNotMetByOrgPolicy":   lbmodel.CodeDenied,

	// A limit is reached.
	"quotaExceeded":              lbmodel.CodeQuota,
	"limitExceeded":              lbmodel.CodeQuota,
	"resourceExhausted":          lbmodel.CodeQuota, // with RATE_LIMIT_EXCEEDED beside it, Throttled
	"sizeLimitExceeded":          lbmodel.CodeQuota,
	"ipSpaceExhausted":           lbmodel.CodeQuota,
	"ipSpaceExhaustedWithDetail": lbmodel.CodeQuota,

	// What is asked for is wrong.
	"invalid":                    lbmodel.CodeInvalid,
	"invalidArgument":            lbmodel.CodeInvalid,
	"invalidParameter":           lbmodel.CodeInvalid,
	"invalidUsage":               lbmodel.CodeInvalid,
	"invalidFieldValue":          lbmodel.CodeInvalid,
	"badRequest":                 lbmodel.CodeInvalid,
	"required":                   lbmodel.CodeInvalid,
	"outOfRange":                 lbmodel.CodeInvalid,
	"sslCertificateKeyMismatch":  lbmodel.CodeInvalid,
	"unsupportedOperation":       lbmodel.CodeUnsupported,
	"resourceNotFoundOrNotReady": lbmodel.CodePending,

	"notFound":         lbmodel.CodeNotFound,
	"resourceNotFound": lbmodel.CodeNotFound,

	// Our requests are malformed.
	"parseError":             lbmodel.CodeInternal,
	"notImplemented":         lbmodel.CodeInternal,
	"unimplemented":          lbmodel.CodeInternal,
	gcpcalls.ReasonNoMethod:  lbmodel.CodeInternal,
	gcpcalls.ReasonMalformed: lbmodel.CodeInternal,
}
