package cloud

import (
	"context"
	"errors"

	"gatehouse.dev/lbmodel"
)

// codes maps the service's codes to lbmodel's. What is not in it is Unknown.
var codes = map[FaultCode]lbmodel.Code{
	InvalidArgument:   lbmodel.CodeInvalid,
	UnknownLocation:   lbmodel.CodeInvalid,
	NotFound:          lbmodel.CodeNotFound,
	ReferenceNotFound: lbmodel.CodeNotFound,
	AlreadyExists:     lbmodel.CodeConflict,
	SlotTaken:         lbmodel.CodeConflict,
	InUse:             lbmodel.CodeConflict,
	Immutable:         lbmodel.CodeInternal, // Compile should have hashed it into the name
	VersionMismatch:   lbmodel.CodeConflict,
	KeyMismatch:       lbmodel.CodeConflict,
	LimitExceeded:     lbmodel.CodeQuota,
	Throttled:         lbmodel.CodeThrottled,
	AccessDenied:      lbmodel.CodeDenied,
	NotReady:          lbmodel.CodePending,
	ServiceDown:       lbmodel.CodeUnavailable,
}

// FaultOf is the service's code for one of lbmodel's: the fault that a test injects
// to see how the code is handled.
func FaultOf(code lbmodel.Code) FaultCode {
	for _, native := range []FaultCode{InvalidArgument, NotFound, SlotTaken, Immutable, LimitExceeded,
		Throttled, AccessDenied, NotReady, ServiceDown} {
		if codes[native] == code {
			return native
		}
	}
	return Unexplained
}

// located is an error of a call as the engine wants it: with its code, the call
// and the resource.
func located(op string, id lbmodel.ID, err error) error {
	var call *CallError
	var known *lbmodel.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.As(err, &call):
		code, ok := codes[call.Code]
		if !ok {
			code = lbmodel.CodeUnknown
		}
		return &lbmodel.Error{Code: code, Op: op, ID: id, RetryAfter: call.RetryAfter, Err: err}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &lbmodel.Error{Code: lbmodel.CodeUnavailable, Op: op, ID: id, Err: err}
	default:
		return &lbmodel.Error{Code: lbmodel.CodeUnknown, Op: op, ID: id, Err: err}
	}
}

// failedWith says whether a call failed with a code.
func failedWith(err error, code FaultCode) bool {
	var call *CallError
	return errors.As(err, &call) && call.Code == code
}
