package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"gatehouse.dev/lbmodel"
)

// Error is what came of a call named op as an lbmodel.Error; nil stays nil. What
// the server said is cut short, and cleaned of the token that it was shown.
func Error(op string, err error, token string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*lbmodel.Error](err); ok {
		return err
	}
	s, ok := status.FromError(err)
	if !ok {
		s = status.FromContextError(err)
	}
	out := lbmodel.Errorf(CodeOf(s.Code()), op, lbmodel.ID{}, "%s: %s", s.Code(), said(s.Message(), token))
	switch s.Code() { // callers ask for these by errors.Is
	case codes.DeadlineExceeded:
		out.Err = fmt.Errorf("%w: %w", out.Err, context.DeadlineExceeded)
	case codes.Canceled:
		out.Err = fmt.Errorf("%w: %w", out.Err, context.Canceled)
	}
	for _, detail := range s.Details() {
		if retry, ok := detail.(*errdetails.RetryInfo); ok {
			out.RetryAfter = max(retry.GetRetryDelay().AsDuration(), 0)
		}
	}
	return out
}

// CodeOf is the code of a gRPC status (https://grpc.io/docs/guides/status-codes/).
// FailedPrecondition is Denied: it is how Linkerd refuses tokens and names.
func CodeOf(c codes.Code) lbmodel.Code {
	switch c {
	case codes.OK:
		return lbmodel.CodeOK
	case codes.Unauthenticated, codes.PermissionDenied, codes.FailedPrecondition:
		return lbmodel.CodeDenied
	case codes.InvalidArgument, codes.OutOfRange:
		return lbmodel.CodeInvalid
	case codes.ResourceExhausted:
		return lbmodel.CodeThrottled
	case codes.Unimplemented:
		return lbmodel.CodeUnsupported
	case codes.NotFound:
		return lbmodel.CodeUnresolved
	case codes.AlreadyExists:
		return lbmodel.CodeConflict
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted, codes.Internal, codes.DataLoss:
		return lbmodel.CodeUnavailable
	default:
		return lbmodel.CodeUnknown
	}
}

const maxSaid = 300 // bytes of a server's words

func said(text, token string) string {
	if token != "" {
		text = strings.ReplaceAll(text, token, "(token)")
	}
	if len(text) > maxSaid {
		text = text[:maxSaid] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
