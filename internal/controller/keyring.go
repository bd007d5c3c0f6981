package controller

import (
	"context"
	"crypto/tls"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"gatehouse.dev/internal/keypair"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/providers"
)

// Keyring reads the key of an identity from its Secret at the moment it is needed:
// what is cached has no keys. A pair that is not the one which the identity
// describes any more is a conflict; the change is on its way and leads to another
// plan.
func Keyring(client kubernetes.Interface) providers.Keyring {
	return func(ctx context.Context, id lbmodel.Identity) (tls.Certificate, error) {
		about := lbmodel.ID{Kind: "Identity", Name: id.Name}
		if id.Issuer != lbmodel.IssuerSecret {
			return tls.Certificate{}, lbmodel.Errorf(lbmodel.CodeUnsupported, "keyring", about, "nobody is here to issue for %q: use a Secret", id.Issuer)
		}
		secret, err := client.CoreV1().Secrets(id.Source.Namespace).Get(ctx, id.Source.Name, metav1.GetOptions{})
		if err != nil {
			return tls.Certificate{}, lbmodel.Errorf(secretCode(err), "keyring", about, "reading %s: %w", id.Source, err)
		}
		split := keypair.Take(secret)
		if split.Pair == nil {
			return tls.Certificate{}, lbmodel.Errorf(lbmodel.CodeUnresolved, "keyring", about, "%s has no usable key pair: %s", id.Source, split.Public.Problem)
		}
		return keypair.For(*split.Pair, id)
	}
}

func secretCode(err error) lbmodel.Code {
	switch {
	case apierrors.IsNotFound(err):
		return lbmodel.CodeUnresolved
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return lbmodel.CodeDenied
	default:
		return lbmodel.CodeUnavailable
	}
}
