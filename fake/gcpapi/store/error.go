package store

import (
	"fmt"
	"net/http"
	"strings"
)

// Error is a refusal, before an API has put it into its own words.
type Error struct {
	Status  int    // of HTTP
	Reason  string // as compute has it in errors[].reason: resourceInUseByAnotherResource
	Message string
	Details []any // google.rpc details, if there are any
}

// Error implements error.
func (e *Error) Error() string { return e.Reason + ": " + e.Message }

// Code is the reason as operations write it: RESOURCE_IN_USE_BY_ANOTHER_RESOURCE.
func (e *Error) Code() string {
	var out strings.Builder
	for _, r := range e.Reason {
		if r >= 'A' && r <= 'Z' {
			out.WriteByte('_')
		}
		out.WriteRune(r)
	}
	return strings.ToUpper(out.String())
}

// The reasons of compute (gcp.md 2.4); an API with google.rpc codes maps them.
const (
	NotFound       = "notFound"
	AlreadyExists  = "alreadyExists"
	Invalid        = "invalid"
	Required       = "required"
	NotReady       = "resourceNotReady"
	InUse          = "resourceInUseByAnotherResource"
	ConditionUnmet = "conditionNotMet"
	QuotaExceeded  = "quotaExceeded"
	RateExceeded   = "rateLimitExceeded"
	Forbidden      = "forbidden"
	BackendError   = "backendError"
	Unimplemented  = "notImplemented"
)

func refuse(status int, reason, format string, args ...any) *Error {
	return &Error{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Bad refuses a request that can't be right.
func Bad(format string, args ...any) *Error {
	return refuse(http.StatusBadRequest, Invalid, format, args...)
}

// BadField refuses the value of a field of the resource.
func BadField(field string, value any, format string, args ...any) *Error {
	return Bad("Invalid value for field 'resource.%s': '%s'. %s", field, show(value), fmt.Sprintf(format, args...))
}

// Missing says that a resource is not there.
func Missing(n Name) *Error {
	return refuse(http.StatusNotFound, NotFound, "The resource '%s' was not found", n.Path())
}

// Unready says that an operation on a resource has not ended.
func Unready(n Name) *Error {
	return refuse(http.StatusBadRequest, NotReady, "The resource '%s' is not ready", n.Path())
}
