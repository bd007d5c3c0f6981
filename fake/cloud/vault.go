package cloud

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"gatehouse.dev/lbmodel"
)

// ReadKey reads the private key of an identity from wherever the client keeps it.
// An identity with a Leaf asks for the key of that very certificate: whoever has
// another one, or none, returns an error and issues nothing. It is the same
// function type as providers.Keyring.
type ReadKey = func(context.Context, lbmodel.Identity) (tls.Certificate, error)

// checkKey refuses a key that is not the one of the leaf that the body names, and
// returns the public facts of that leaf. Without a new key the one that the cloud
// has must be right.
func (c *Cloud) checkKey(old *object, body *Certificate, key *tls.Certificate) (*lbmodel.Leaf, error) {
	if key == nil {
		if old == nil || old.Leaf == nil || old.Leaf.SHA256 != body.Leaf {
			return nil, refuse(InvalidArgument, "the key of leaf %s is required", body.Leaf)
		}
		return old.Leaf, nil
	}
	leaf, err := leafOf(*key)
	if err != nil {
		return nil, refuse(InvalidArgument, "%w", err)
	}
	if leaf.SHA256 != body.Leaf {
		return nil, refuse(KeyMismatch, "the certificate sent is %s, but leaf says %s", leaf.SHA256, body.Leaf)
	}
	return leaf, nil
}

// leafOf is the public part of a certificate whose key fits.
func leafOf(pair tls.Certificate) (*lbmodel.Leaf, error) {
	if len(pair.Certificate) == 0 {
		return nil, errors.New("the certificate is empty")
	}
	chain, err := parseChain(pair.Certificate)
	if err != nil {
		return nil, err
	}
	leaf := chain[0]
	if !keyFits(leaf, pair.PrivateKey) {
		return nil, errors.New("the key does not belong to the certificate")
	}
	out := &lbmodel.Leaf{
		SHA256: fingerprint(leaf.Raw), NotBefore: leaf.NotBefore.UTC(), NotAfter: leaf.NotAfter.UTC(),
		DNSNames: leaf.DNSNames, Issuer: leaf.Issuer.String(), Authority: lbmodel.AuthorityOf(chain),
	}
	for _, u := range leaf.URIs {
		out.URIs = append(out.URIs, u.String())
	}
	return out, nil
}

func parseChain(ders [][]byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for i, der := range ders {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("certificate %d of the chain cannot be read: %w", i, err)
		}
		out = append(out, cert)
	}
	return out, nil
}

func keyFits(leaf *x509.Certificate, key crypto.PrivateKey) bool {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return false
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(leaf.PublicKey)
}

// Unlock reads again the keys that the cloud holds certificates for but no key,
// which is all of them after a restart. Nothing is issued, and a key of any other
// certificate than the stored one is not taken: the error names each certificate
// that stays without its key, and is nil when none does.
func (c *Cloud) Unlock(ctx context.Context, read ReadKey) error {
	var errs []error
	for _, o := range c.locked() {
		body := o.body.(*Certificate)
		pair, err := read(ctx, body.wanted(o.Leaf))
		if err == nil {
			err = c.unlock(o, pair)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("certificate of %s (identity %s): %w", o.Tags.Owner, body.Identity.Name, err))
		}
	}
	return errors.Join(errs...)
}

// locked are the certificates without a key.
func (c *Cloud) locked() []*object {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*object
	for _, o := range c.state.order {
		if _, ok := c.vault[o.handle()]; o.Kind == KindCertificate && !ok {
			out = append(out, o)
		}
	}
	return out
}

// unlock puts a key into the vault if it is that of the certificate's leaf.
func (c *Cloud) unlock(o *object, pair tls.Certificate) error {
	leaf, err := leafOf(pair)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.state.objects[o.handle()]
	if now == nil {
		return nil // deleted meanwhile: nobody needs the key
	}
	if leaf.SHA256 != now.Leaf.SHA256 {
		return refuse(KeyMismatch, "the key read is that of leaf %s, but the cloud holds %s; apply again", leaf.SHA256, now.Leaf.SHA256)
	}
	c.vault[o.handle()] = pair
	c.notify()
	return nil
}
