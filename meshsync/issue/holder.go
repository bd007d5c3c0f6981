package issue

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"

	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// Holder is a meshsync.Issuer that makes the keys itself and takes no request for
// another: the SPIFFE Workload API does. It is asked in place of Issue, with the same
// quota and deadline, and what it holds is verified like everything else.
type Holder interface {
	meshsync.Issuer
	// Hold returns the certificate that it has for an identity now, with its key.
	Hold(context.Context, meshsync.Request) (tls.Certificate, error)
}

func (k *keyring) fetch(ctx context.Context, holder Holder, r meshsync.Request) (*candidate, error) {
	ctx, cancel := context.WithTimeout(ctx, k.config.Timeout)
	defer cancel()
	pair, err := holder.Hold(ctx, r)
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, refusal(lbmodel.CodeUnsupported, "%s holds another key than an %s one", r.Identity.Issuer, KeyType)
	}
	var chain []*x509.Certificate
	for _, der := range pair.Certificate {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, refusal(lbmodel.CodeDenied, "%s holds a certificate that cannot be parsed", r.Identity.Issuer)
		}
		chain = append(chain, c)
	}
	return newCandidate(key, trim(chain, k.config.Roots(r.Identity.Issuer))), nil
}
