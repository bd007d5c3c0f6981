package ca

import (
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

// Request is a leaf to be signed.
type Request struct {
	URIs       []string // SPIFFE IDs
	DNSNames   []string
	CommonName string        // "" leaves the subject empty, which makes the names critical
	Life       time.Duration // from now; zero is a day. It ends with its issuer's life
	Age        time.Duration // how long ago it was issued; above Life it has expired
	Key        KeyType       // of Issue
}

// ErrExpired is an issuer whose own life is over.
var ErrExpired = errors.New("the signing certificate has expired")

// credential is a certificate with its key.
type credential struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// issuer is what signs for a root.
func (r *root) issuer() credential {
	if r.intermediate != nil {
		return *r.intermediate
	}
	return r.signing
}

// chain is what a leaf must bring with it.
func (r *root) chain() []*x509.Certificate {
	if r.intermediate != nil {
		return []*x509.Certificate{r.intermediate.cert}
	}
	return nil
}

// Issue makes a key and a leaf for it. The chain holds intermediates and no root.
func (ca *CA) Issue(r Request) (tls.Certificate, error) {
	key, err := NewKey(r.Key)
	if err != nil {
		return tls.Certificate{}, err
	}
	chain, err := ca.Sign(r, key.Public())
	if err != nil {
		return tls.Certificate{}, err
	}
	out := tls.Certificate{PrivateKey: key, Leaf: chain[0]}
	for _, c := range chain {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out, nil
}

// Sign makes a leaf for somebody else's key and returns it with its intermediates.
func (ca *CA) Sign(r Request, public crypto.PublicKey) ([]*x509.Certificate, error) {
	ca.mu.Lock()
	defer ca.mu.Unlock()
	if r.Life == 0 {
		r.Life = 24 * time.Hour
	}
	at := ca.config.Now().Add(-r.Age)
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: r.CommonName},
		DNSNames:    r.DNSNames,
		NotBefore:   at.Add(-ca.config.Backdate),
		NotAfter:    at.Add(r.Life),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, text := range r.URIs {
		u, err := url.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("a URI name: %w", err)
		}
		template.URIs = append(template.URIs, u)
	}
	leaf, err := ca.certify(template, public, ca.signer.issuer())
	if err != nil {
		return nil, err
	}
	return append([]*x509.Certificate{leaf}, ca.signer.chain()...), nil
}

// certify signs a template, whose life ends with its issuer's.
func (ca *CA) certify(template *x509.Certificate, public crypto.PublicKey, by credential) (*x509.Certificate, error) {
	issuer := by.cert
	switch {
	case issuer == nil:
		issuer = template
	case !ca.config.Now().Before(issuer.NotAfter):
		return nil, fmt.Errorf("%w at %s", ErrExpired, issuer.NotAfter.Format(time.RFC3339))
	case template.NotAfter.After(issuer.NotAfter):
		template.NotAfter = issuer.NotAfter
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, public, by.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func (ca *CA) selfSigned(r Root) (credential, error) {
	key, err := NewKey(r.Key)
	if err != nil {
		return credential{}, err
	}
	cert, err := ca.rootCert(r, key)
	return credential{cert, key}, err
}

// rootCert has no extended key usage: roots of meshes have none.
func (ca *CA) rootCert(r Root, key crypto.Signer) (*x509.Certificate, error) {
	now := ca.config.Now()
	return ca.certify(&x509.Certificate{
		Subject:   pkix.Name{Organization: []string{ca.config.Name}, CommonName: r.Name},
		NotBefore: now.Add(-ca.config.Backdate),
		NotAfter:  now.Add(r.Life),
		IsCA:      true,
		KeyUsage:  x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, key.Public(), credential{nil, key})
}

func (ca *CA) beneath(r *root, life time.Duration) (credential, error) {
	if life == 0 {
		life = r.Life
	}
	key, err := NewKey(r.Key)
	if err != nil {
		return credential{}, err
	}
	now := ca.config.Now()
	cert, err := ca.certify(&x509.Certificate{
		Subject:        pkix.Name{Organization: []string{ca.config.Name}, CommonName: "intermediate of " + r.Name},
		NotBefore:      now.Add(-ca.config.Backdate),
		NotAfter:       now.Add(life),
		IsCA:           true,
		MaxPathLenZero: true,
		KeyUsage:       x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, key.Public(), r.signing)
	return credential{cert, key}, err
}
