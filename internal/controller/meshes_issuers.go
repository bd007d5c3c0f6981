package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"gatehouse.dev/internal/member"
	"gatehouse.dev/lbmodel"
)

// certificateRequests are cert-manager's.
var certificateRequests = schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificaterequests"}

// around is what issuers find in a cluster. Most installations have no right to most of
// it (see deploy/issuer-*.yaml): nothing is asked for before a binding wants it.
func (c MeshConfig) around() member.Around {
	out := member.Around{
		Namespace: c.Namespace, Socket: c.Roots.Socket,
		Requests: c.Client.CertificatesV1().CertificateSigningRequests(),
		Secret:   aclToken(consulToken(c.Client, c.Namespace)),
	}
	if c.Dynamic != nil {
		out.Objects = c.Dynamic.Resource(certificateRequests).Namespace(c.Namespace)
	}
	return out
}

// aclToken is a reader of Secrets whose errors have a code. Nobody tells us when one
// comes or changes, so also what is missing is looked at again after a while.
func aclToken(read func(context.Context, string) (string, error)) func(context.Context, string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		token, err := read(ctx, name)
		if err == nil {
			return token, nil
		}
		code := lbmodel.CodeUnavailable
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			code = lbmodel.CodeDenied
		}
		return "", &lbmodel.Error{Code: code, Op: "ReadSecret", Err: fmt.Errorf("identity.tokenSecret: Secret %s: %w", name, err)}
	}
}
