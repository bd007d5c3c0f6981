package kubeca

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gatehouse.dev/lbmodel"
)

// nameOf names a request after its content, so that the same one is found again, and
// no other is mistaken for it: it holds a key that nobody else knows.
func nameOf(csr []byte) string {
	sum := sha256.Sum256(csr)
	return "gatehouse-" + hex.EncodeToString(sum[:12])
}

func encode(csr []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr})
}

// look is how soon to look at an open request again.
const look = 5 * time.Second

// pending is a request that is open.
func pending(op, format string, args ...any) error {
	e := lbmodel.Errorf(lbmodel.CodePending, op, lbmodel.ID{}, format, args...)
	e.RetryAfter = look
	return e
}

func denied(op, format string, args ...any) error {
	return lbmodel.Errorf(lbmodel.CodeDenied, op, lbmodel.ID{}, format, args...)
}

// failed is an error of the API server with its code.
func failed(op string, err error) error {
	e := &lbmodel.Error{Code: codeOf(err), Op: op, Err: err}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

func codeOf(err error) lbmodel.Code {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return lbmodel.CodeDenied
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return lbmodel.CodeInvalid
	case apierrors.IsNotFound(err): // the namespace, or the kind
		return lbmodel.CodeUnresolved
	case apierrors.IsTooManyRequests(err):
		return lbmodel.CodeThrottled
	default:
		return lbmodel.CodeUnavailable
	}
}
