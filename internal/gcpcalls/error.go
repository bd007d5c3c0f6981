package gcpcalls

import (
	jsonv2 "encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reasons that are ours.
const (
	ReasonNoMethod  = "noSuchMethod"  // this package does not have it
	ReasonMalformed = "malformedBody" // the body does not fit the API
	ReasonNoAnswer  = "noAnswer"      // nobody knows what became of the request
)

// Error is how a request or an operation ended.
type Error struct {
	Method string // backendServices.insert
	Path   string
	Status int    // of HTTP; 0 is no answer
	Reason string // as the API says it: resourceInUseByAnotherResource, RESOURCE_NOT_READY, ABORTED
	// Message is the API's.
	Message string
	// Info are the facts beside it, such as quota_metric, permission or service.
	Info map[string]string
	// Operation is the name of the operation that ended so; "" is a request that was
	// refused.
	Operation string
	Err       error // as the client had it
}

// Error implements error. It has no more of the request than the path.
func (e *Error) Error() string {
	out := e.Method + " " + e.Path + ": "
	if e.Status != 0 {
		out += fmt.Sprint(e.Status, " ")
	}
	if e.Reason != "" {
		out += e.Reason
	}
	switch {
	case e.Message != "":
		out += ": " + e.Message
	case e.Err != nil:
		out += ": " + e.Err.Error()
	}
	return out
}

// Unwrap implements errors.Unwrap.
func (e *Error) Unwrap() error { return e.Err }

// nativeError reads what Google's clients return.
func nativeError(method, path string, err error) error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	out := &Error{Method: method, Path: path, Err: err}
	if answer, ok := errors.AsType[*googleapi.Error](err); ok {
		out.read(answer)
		return out
	}
	if s, ok := status.FromError(err); ok {
		out.readStatus(s)
		return out
	}
	out.Reason = ReasonNoAnswer
	for { // http.Client says twice, of two clients, which address it was
		wrapped, is := errors.AsType[*url.Error](out.Err)
		if !is {
			return out
		}
		out.Err = wrapped.Err
	}
}

// answered is the body of a refusal.
type answered struct {
	Error struct {
		Message string `json:"message"`
		Status  string `json:"status"`
		Errors  []struct {
			Reason string `json:"reason"`
		} `json:"errors"`
		Details []detail `json:"details"`
	} `json:"error"`
}

// detail is a google.rpc.ErrorInfo, or something else.
type detail struct {
	Reason   string            `json:"reason"`
	Metadata map[string]string `json:"metadata"`
}

func (e *Error) read(answer *googleapi.Error) {
	e.Status, e.Message = answer.Code, answer.Message
	if len(answer.Errors) > 0 {
		e.Reason = answer.Errors[0].Reason
	}
	var body answered
	if jsonv2.Unmarshal([]byte(answer.Body), &body) != nil {
		return // no JSON: a proxy's answer
	}
	if e.Message == "" {
		e.Message = body.Error.Message
	}
	for _, item := range body.Error.Errors {
		if e.Reason == "" {
			e.Reason = item.Reason
		}
	}
	for _, d := range body.Error.Details {
		if d.Reason != "" {
			e.Info = merged(d)
		}
	}
	if e.Reason == "" {
		e.Reason = body.Error.Status
	}
}

// merged are the facts of a detail, with its own reason.
func merged(d detail) map[string]string {
	out := map[string]string{"reason": d.Reason}
	for key, value := range d.Metadata {
		out[key] = value
	}
	return out
}

// readStatus reads what an operation of a location ended with.
func (e *Error) readStatus(s *status.Status) {
	e.Message, e.Reason, e.Status = s.Message(), upper(s.Code().String()), httpStatus(s.Code())
	for _, d := range s.Details() {
		if info, ok := d.(interface {
			GetReason() string
			GetMetadata() map[string]string
		}); ok {
			e.Info = merged(detail{info.GetReason(), info.GetMetadata()})
		}
	}
}

// upper makes FAILED_PRECONDITION of FailedPrecondition.
func upper(name string) string { return strings.TrimPrefix(strings.ToUpper(snake(name)), "_") }

// httpStatus is the one that google.rpc.Code names for a code.
func httpStatus(c codes.Code) int {
	switch c {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.NotFound:
		return http.StatusNotFound
	case codes.AlreadyExists, codes.Aborted:
		return http.StatusConflict
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}

// operationError is how an operation of Compute ended; nil is well.
func operationError(method, path string, op *computepb.Operation) error {
	failures := op.GetError().GetErrors()
	if len(failures) == 0 && op.GetHttpErrorStatusCode() < http.StatusBadRequest {
		return nil
	}
	out := &Error{Method: method, Path: path, Status: int(op.GetHttpErrorStatusCode()), Message: op.GetHttpErrorMessage(), Operation: op.GetName()}
	if len(failures) == 0 {
		return out
	}
	first := failures[0]
	out.Reason, out.Message = first.GetCode(), first.GetMessage()
	for _, d := range first.GetErrorDetails() {
		if info := d.GetErrorInfo(); info != nil {
			out.Info = merged(detail{info.GetReason(), info.GetMetadatas()})
		}
	}
	return out
}
