package controller

import (
	"errors"
	"math/rand/v2"
	"net"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/lbmodel"
)

// delayOf is how long to wait before the try after so many that failed: the shortest
// of what the errors ask for, with jitter. 0 is that time alone never helps.
func delayOf(errs []error, tries int) time.Duration {
	var shortest time.Duration
	for _, err := range errs {
		var asked time.Duration
		if e, ok := errors.AsType[*lbmodel.Error](err); ok {
			asked = e.RetryAfter
		}
		delay := lbmodel.RetryOf(codeOf(err)).Delay(tries, asked)
		if delay > 0 && (shortest == 0 || delay < shortest) {
			shortest = delay
		}
	}
	return time.Duration(float64(shortest) * (0.9 + 0.2*rand.Float64()))
}

// codeOf reads an API server's errors too: they are its bad moments, but for those
// that only a person can help with.
func codeOf(err error) lbmodel.Code {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonUnknown:
		if _, network := errors.AsType[net.Error](err); network {
			return lbmodel.CodeUnavailable
		}
		return lbmodel.CodeOf(err)
	case metav1.StatusReasonForbidden, metav1.StatusReasonUnauthorized:
		return lbmodel.CodeDenied
	case metav1.StatusReasonConflict:
		return lbmodel.CodeConflict
	case metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest:
		return lbmodel.CodeInternal
	default:
		return lbmodel.CodeUnavailable
	}
}
