package kubeca

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// What our requests say of themselves.
const (
	managedBy = "app.kubernetes.io/managed-by"
	manager   = "gatehouse"
	identity  = "gatehouse.dev/identity" // a label: whose request it is, as a hash
	account   = "gatehouse.dev/account"  // an annotation: the gateway's ServiceAccount
	binding   = "gatehouse.dev/binding"  // an annotation: MeshBinding/<name>
)

// nameOf names a request after its content, so that the same one is found again, and
// no other is mistaken for it: it holds a key that nobody else knows.
func nameOf(csr []byte) string {
	sum := sha256.Sum256(csr)
	return "gatehouse-" + hex.EncodeToString(sum[:12])
}

// identityOf tells the requests of one identity from those of others.
func identityOf(id lbmodel.Identity) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", id.Issuer, id.SPIFFEID, id.DNSNames))
	return hex.EncodeToString(sum[:12])
}

func labelsOf(r meshsync.Request) map[string]string {
	return map[string]string{managedBy: manager, identity: identityOf(r.Identity)}
}

func annotationsOf(r meshsync.Request) map[string]string {
	return map[string]string{account: r.Account.Namespace + "/" + r.Account.Name, binding: r.Identity.Issuer}
}

func encode(csr []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr})
}

const (
	look  = 5 * time.Second // how soon to look at an open request again
	relax = time.Minute     // and at one that was refused: somebody may delete it
)

// pending is a request that is open.
func pending(op, format string, args ...any) error {
	e := lbmodel.Errorf(lbmodel.CodePending, op, lbmodel.ID{}, format, args...)
	e.RetryAfter = look
	return e
}

// denied is a request that was refused, and is there to be looked at: as long as it
// is, no other is made. Each look is one GET, and their pace does not grow
// (lbmodel.NextTry.Delay): who deletes it is promised another.
func denied(op, format string, args ...any) error {
	e := lbmodel.Errorf(lbmodel.CodeDenied, op, lbmodel.ID{}, format, args...)
	e.RetryAfter = relax
	return e
}

// failed is an error of the API server with its code, and what helps.
func failed(op string, err error, rights string) error {
	e := &lbmodel.Error{Code: codeOf(err), Op: op, Err: err}
	if e.Code == lbmodel.CodeDenied {
		e.Err = fmt.Errorf("%w: apply %s, which gives the controller this right", err, rights)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

func codeOf(err error) lbmodel.Code {
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"): // of a ResourceQuota
		return lbmodel.CodeQuota
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return lbmodel.CodeDenied
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return lbmodel.CodeInvalid
	case apierrors.IsTooManyRequests(err):
		return lbmodel.CodeThrottled
	default: // a kind that is not served may be soon, and nobody would tell us
		return lbmodel.CodeUnavailable
	}
}
