package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"gatehouse.dev/lbmodel"
)

// TestCodes: every status has a code that the engine acts upon.
func TestCodes(t *testing.T) {
	want := map[codes.Code]lbmodel.Code{
		codes.OK: lbmodel.CodeOK, codes.Canceled: lbmodel.CodeUnavailable, codes.Unknown: lbmodel.CodeUnknown,
		codes.InvalidArgument: lbmodel.CodeInvalid, codes.DeadlineExceeded: lbmodel.CodeUnavailable, codes.NotFound: lbmodel.CodeUnresolved,
		codes.AlreadyExists: lbmodel.CodeConflict, codes.PermissionDenied: lbmodel.CodeDenied, codes.ResourceExhausted: lbmodel.CodeThrottled,
		codes.FailedPrecondition: lbmodel.CodeDenied, codes.Aborted: lbmodel.CodeUnavailable, codes.OutOfRange: lbmodel.CodeInvalid,
		codes.Unimplemented: lbmodel.CodeUnsupported, codes.Internal: lbmodel.CodeUnavailable, codes.Unavailable: lbmodel.CodeUnavailable,
		codes.DataLoss: lbmodel.CodeUnavailable, codes.Unauthenticated: lbmodel.CodeDenied,
	}
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		if got := CodeOf(c); got != want[c] {
			t.Errorf("%s is %s, want %s", c, got, want[c])
		}
	}
}

func TestError(t *testing.T) {
	own := lbmodel.Errorf(lbmodel.CodeQuota, "x", lbmodel.ID{}, "full")
	for _, tc := range []struct {
		name, why, says string
		err             error
		want            lbmodel.Code
		is              error
	}{
		{name: "nil", why: "no error stays none"},
		{name: "ours", why: "it has its code", err: fmt.Errorf("a: %w", own), want: lbmodel.CodeQuota, is: own, says: "a: x"},
		{name: "context", why: "a call that never began", err: context.Canceled, want: lbmodel.CodeUnavailable, is: context.Canceled, says: "Certify"},
		{name: "deadline", why: "by the server's clock", err: status.Error(codes.DeadlineExceeded, "late"), want: lbmodel.CodeUnavailable, is: context.DeadlineExceeded, says: "late"},
		{name: "the token", why: "servers repeat what they are shown", err: status.Error(codes.PermissionDenied, "ey.secret may not"), want: lbmodel.CodeDenied, says: "PermissionDenied: (token) may not"},
		{name: "long", why: "a server's words are bounded", err: status.Error(codes.Unknown, strings.Repeat("ä", 1000)), want: lbmodel.CodeUnknown, says: "ä…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Error("Certify", tc.err, "ey.secret")
			if lbmodel.CodeOf(got) != tc.want || tc.is != nil && !errors.Is(got, tc.is) {
				t.Fatalf("got %v, want %s: %s", got, tc.want, tc.why)
			}
			if text := fmt.Sprint(got); tc.err != nil && (!strings.Contains(text, tc.says) || strings.Contains(text, "secret") || len(text) > 400) {
				t.Errorf("got %q, want %q: %s", text, tc.says, tc.why)
			}
		})
	}
}
