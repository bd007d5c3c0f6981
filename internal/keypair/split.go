package keypair

import (
	"crypto/tls"
	"crypto/x509"

	corev1 "k8s.io/api/core/v1"

	"gatehouse.dev/internal/translate"
	"gatehouse.dev/lbmodel"
)

// Split is a Secret taken apart.
type Split struct {
	Public *translate.Secret
	Pair   *tls.Certificate // nil when it cannot be served; Public.Problem says why
}

// Take takes a Secret apart.
func Take(s *corev1.Secret) Split {
	out := Split{Public: &translate.Secret{
		Namespace: s.Namespace, Name: s.Name, UID: string(s.UID), Type: s.Type,
		CA: string(s.Data[corev1.ServiceAccountRootCAKey]),
	}}
	if err := out.take(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
		out.Public.Problem = err.Error()
	}
	return out
}

func (p *Split) take(crt, private []byte) error {
	chain, err := parseChain(crt)
	if err != nil {
		return err
	}
	p.Public.Leaf = LeafOf(chain[0])
	p.Public.Leaf.Authority = lbmodel.AuthorityOf(chain)
	key, err := parseKey(private)
	if err != nil {
		return err
	}
	if err := matches(chain, key); err != nil {
		return err
	}
	p.Pair = &tls.Certificate{PrivateKey: key, Leaf: chain[0]}
	for _, c := range chain {
		p.Pair.Certificate = append(p.Pair.Certificate, c.Raw)
	}
	return nil
}

// LeafOf is what is to be known of a certificate by itself, without its chain.
func LeafOf(c *x509.Certificate) *lbmodel.Leaf {
	leaf := lbmodel.LeafOf([]*x509.Certificate{c})
	leaf.Authority = "" // its chain says
	return &leaf
}

// For is a pair if it is the one that an identity describes. One that is not any
// more is a conflict: the plan was made from another version of the Secret.
func For(pair tls.Certificate, id lbmodel.Identity) (tls.Certificate, error) {
	if id.Leaf != nil && id.Leaf.SHA256 != LeafOf(pair.Leaf).SHA256 {
		err := lbmodel.Errorf(lbmodel.CodeConflict, "keyring", lbmodel.ID{Kind: "Identity", Name: id.Name},
			"%s holds another certificate than when the plan was made: plan again", id.Source)
		err.Outdated = true
		return tls.Certificate{}, err
	}
	return pair, nil
}
