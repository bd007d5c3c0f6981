package accounts

import (
	"context"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// tokenLife is as short as the API server allows: a token is shown once, at once.
const tokenLife = 10 * time.Minute

// Token mints a token of an audience for an account; "" is the API server itself, for
// those who ask it whose the token is. Errors are lbmodel.Errors:
// Denied when the API server refuses it to us, else Unavailable. A ServiceAccount that
// is gone is made anew by the next pass.
func (a *Accounts) Token(ctx context.Context, audience string, account meshsync.Account) (string, error) {
	seconds := int64(tokenLife / time.Second)
	request := &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	got, err := a.client.CreateToken(ctx, account.Name, request, metav1.CreateOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) {
			a.forget(account.Name)
		}
		return "", lbmodel.Errorf(codeOf(err), "CreateToken", lbmodel.ID{}, "token of ServiceAccount %s/%s for audience %q: %w", account.Namespace, account.Name, audience, err)
	}
	return got.Status.Token, nil
}

func codeOf(err error) lbmodel.Code {
	switch {
	case apierrors.IsNotFound(err):
		return lbmodel.CodeUnavailable // and soon there again
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return lbmodel.CodeDenied
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return lbmodel.CodeInternal
	default:
		return lbmodel.CodeUnavailable
	}
}
