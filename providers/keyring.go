package providers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"

	"gatehouse.dev/lbmodel"
)

var errNoLeaf = errors.New("it has no certificate")

// Pair is what an identity's certificate is sent with: the key of the leaf that the
// identity asks for, or of one that is issued now, and that leaf. An answer that is not
// to be used is an error of the step about it: Conflict where the identity has another
// leaf by now, and Denied where the issuer signs under an authority that the mesh does
// not publish, which is not tried again at once, since each try is a certificate.
func (k Keyring) Pair(ctx context.Context, about lbmodel.ID, identity lbmodel.Identity) (tls.Certificate, *lbmodel.Leaf, error) {
	if k == nil {
		return tls.Certificate{}, nil, lbmodel.Errorf(lbmodel.CodeInternal, "Apply", about, "this client has no keyring")
	}
	pair, err := k(ctx, identity)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	leaf, err := LeafOf(pair)
	switch {
	case err != nil:
		return pair, nil, lbmodel.Errorf(lbmodel.CodeInvalid, "Apply", about, "identity %s: %w", identity.Name, err)
	case identity.Leaf != nil && identity.Leaf.SHA256 != leaf.SHA256:
		return pair, nil, lbmodel.Errorf(lbmodel.CodeConflict, "Apply", about, "identity %s has leaf %s now, not %s: plan again", identity.Name, leaf.SHA256, identity.Leaf.SHA256)
	case identity.Leaf == nil && !identity.Renew.Accepts(*leaf):
		return pair, nil, lbmodel.Errorf(lbmodel.CodeDenied, "Apply", about,
			"the issuer of identity %s signs under authority %s, which its mesh does not publish; the live certificate stays", identity.Name, leaf.Authority)
	}
	return pair, leaf, nil
}

// LeafOf is the leaf of a certificate with its key.
func LeafOf(pair tls.Certificate) (*lbmodel.Leaf, error) {
	var chain []*x509.Certificate
	for _, der := range pair.Certificate {
		one, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		chain = append(chain, one)
	}
	if len(chain) == 0 {
		return nil, errNoLeaf
	}
	leaf := lbmodel.LeafOf(chain)
	return &leaf, nil
}
