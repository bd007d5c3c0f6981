package controller

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/lbmodel"
)

// TestDelayOf asks for delays. Why this table: what only a person can help with is
// tried ever more rarely, what passes by itself soon, and what time does not change
// never.
func TestDelayOf(t *testing.T) {
	failed := func(code lbmodel.Code) error { return lbmodel.Errorf(code, "CreateRule", lbmodel.ID{}, "no") }
	route := schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "httproutes"}
	tests := []struct {
		name  string
		errs  []error
		tries int
		want  time.Duration // within a tenth
	}{
		{"nothing", nil, 1, 0},
		{"denied once", []error{failed(lbmodel.CodeDenied)}, 1, time.Minute},
		{"denied again and again", []error{failed(lbmodel.CodeDenied)}, 9, 30 * time.Minute},
		{"denied, and there to be seen", []error{&lbmodel.Error{Code: lbmodel.CodeDenied, RetryAfter: time.Minute}}, 9, time.Minute},
		{"pending", []error{failed(lbmodel.CodePending)}, 1, 2 * time.Second},
		{"invalid", []error{failed(lbmodel.CodeInvalid)}, 1, 0},
		{"the soonest counts", []error{failed(lbmodel.CodeDenied), failed(lbmodel.CodePending)}, 1, 2 * time.Second},
		{"the cloud says when", []error{&lbmodel.Error{Code: lbmodel.CodeThrottled, RetryAfter: 40 * time.Second}}, 1, 40 * time.Second},
		{"the API server's conflict", []error{fmt.Errorf("status: %w", apierrors.NewConflict(route, "r", errors.New("changed")))}, 1, time.Second},
		{"the API server forbids", []error{apierrors.NewForbidden(route, "r", errors.New("no"))}, 1, time.Minute},
		{"the API server is not there", []error{apierrors.NewServiceUnavailable("starting")}, 1, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := delayOf(tt.errs, tt.tries)
			if got < tt.want-tt.want/10 || got > tt.want+tt.want/10 {
				t.Errorf("delay is %s, want about %s", got, tt.want)
			}
		})
	}
}
