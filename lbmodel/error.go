package lbmodel

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Code classifies every error that reaches the engine. Programs act upon the
// code, never upon the message.
type Code uint8

// The codes; RetryOf and ConditionOf say what each leads to.
const (
	CodeOK          Code = iota
	CodeInvalid          // the object is wrong
	CodeUnsupported      // this provider can't
	CodeUnresolved       // a reference is missing or not granted
	CodeConflict         // taken or changed by another
	CodeDenied           // credentials, IAM
	CodeQuota            // a limit is reached
	CodeThrottled        // slow down
	CodePending          // accepted, converging
	CodeUnavailable      // network, 5xx, deadline
	CodeNotFound         // the resource is gone: fine when deleting, re-observe otherwise
	CodeInternal         // our bug
	CodeUnknown          // unmapped
)

// String is the code's name.
func (c Code) String() string {
	names := [...]string{"OK", "Invalid", "Unsupported", "Unresolved", "Conflict", "Denied", "Quota",
		"Throttled", "Pending", "Unavailable", "NotFound", "Internal", "Unknown"}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("Code(%d)", uint8(c))
}

// Error is an error with its code, the call that failed and the resource it was
// about. Its text never holds a secret.
type Error struct {
	Code       Code
	Op         string // the call: "CreateRule", "compile"
	ID         ID
	RetryAfter time.Duration // what the cloud asked for; 0 is the code's own rule
	// Elsewhere says that the cloud is not to blame but somebody who was asked for it,
	// such as a mesh's CA: a run does not wait for them, since nothing else of the
	// gateway would move meanwhile. The next run asks again.
	Elsewhere bool
	// Outdated says that what a plan was made from has changed meanwhile and nothing else
	// is wrong: another plan is all that it takes.
	Outdated bool
	Err      error
}

// Error implements error.
func (e *Error) Error() string {
	out := e.Code.String()
	if e.Op != "" {
		out = e.Op + ": " + out
	}
	if e.ID != (ID{}) {
		out += " " + e.ID.String()
	}
	if e.Err != nil {
		out += ": " + e.Err.Error()
	}
	return out
}

// Unwrap implements errors.Unwrap.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error; the format may use %w.
func Errorf(code Code, op string, id ID, format string, args ...any) *Error {
	return &Error{Code: code, Op: op, ID: id, Err: fmt.Errorf(format, args...)}
}

// Outdated says whether some Error in err's chain is Outdated.
func Outdated(err error) bool {
	for {
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Outdated {
			return ok
		}
		err = e.Err
	}
}

// CodeOf is the code of the first Error in err's chain. A deadline or a
// cancelled context without one is Unavailable; anything else is Unknown.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case err == nil:
		return CodeOK
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return CodeUnavailable
	default:
		return CodeUnknown
	}
}
