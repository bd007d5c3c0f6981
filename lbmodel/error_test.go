package lbmodel

import (
	"errors"
	"fmt"
	"testing"
)

// TestOutdated finds what is outdated under whatever others have said of it.
func TestOutdated(t *testing.T) {
	old := &Error{Code: CodeConflict, Outdated: true, Err: errors.New("plan again")}
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"nothing", nil, false},
		{"no code", errors.New("plan again"), false},
		{"a conflict", &Error{Code: CodeConflict}, false},
		{"itself", old, true},
		{"within another", &Error{Code: CodeUnavailable, Err: fmt.Errorf("call: %w", old)}, true},
		{"beside another", errors.Join(errors.New("x"), old), true},
		{"within one that is not", &Error{Code: CodeConflict, Err: &Error{Code: CodeDenied}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Outdated(c.err); got != c.want {
				t.Errorf("Outdated is %t, want %t", got, c.want)
			}
		})
	}
}
