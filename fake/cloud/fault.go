package cloud

import (
	"fmt"
	"time"
)

// FaultCode is this cloud's own classification of a refused call. [Provider] has
// the table that maps it to lbmodel's.
type FaultCode string

// The codes that calls fail with.
const (
	InvalidArgument   FaultCode = "InvalidArgument"
	UnknownLocation   FaultCode = "UnknownLocation"
	NotFound          FaultCode = "NotFound"
	ReferenceNotFound FaultCode = "ReferenceNotFound"
	AlreadyExists     FaultCode = "AlreadyExists"
	SlotTaken         FaultCode = "SlotTaken"
	InUse             FaultCode = "InUse"
	Immutable         FaultCode = "Immutable"
	VersionMismatch   FaultCode = "VersionMismatch"
	KeyMismatch       FaultCode = "KeyMismatch"
	LimitExceeded     FaultCode = "LimitExceeded"
	Throttled         FaultCode = "Throttled"
	AccessDenied      FaultCode = "AccessDenied"
	NotReady          FaultCode = "NotReady"
	ServiceDown       FaultCode = "ServiceUnavailable"
	Unexplained       FaultCode = "UnexplainedError" // a code that no client knows
)

// CallError is why a call failed.
type CallError struct {
	Code       FaultCode
	Message    string
	RetryAfter time.Duration // set with Throttled
	Err        error         // what is behind it, if anything is
}

// Error implements error.
func (e *CallError) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap implements errors.Unwrap.
func (e *CallError) Unwrap() error { return e.Err }

func refuse(code FaultCode, format string, args ...any) *CallError {
	err := fmt.Errorf(format, args...)
	return &CallError{Code: code, Message: err.Error(), Err: err}
}
