package roots

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestBlamesUs: an agent that knows no entry for us, or a Consul that wants a token, says
// so again until somebody changes something; one that starts does not.
func TestBlamesUs(t *testing.T) {
	for code, want := range map[codes.Code]bool{
		codes.PermissionDenied: true, codes.Unauthenticated: true, codes.Unimplemented: true, codes.InvalidArgument: true, codes.NotFound: true,
		codes.Unavailable: false, codes.Internal: false, codes.ResourceExhausted: false, codes.DeadlineExceeded: false, codes.Aborted: false,
	} {
		if got := blamesUs(fmt.Errorf("asked: %w", status.Error(code, "said"))); got != want {
			t.Errorf("%s is told at once: %t, want %t", code, got, want)
		}
	}
	if blamesUs(errors.New("broken")) || blamesUs(nil) {
		t.Error("what gRPC does not tell blames us")
	}
}
