package demo

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

// day is the lifetime of everything a demo issues; it is thrown away with the
// process. century is for the example's files, which must never be the reason
// that an example fails.
const (
	day     = 24 * time.Hour
	century = 100 * 365 * day
)

// leafKey is a certificate with its key.
type leafKey = tls.Certificate

// authority is a CA: the one of the shop's public site, or of the example's mesh.
type authority struct {
	name     string
	lifetime time.Duration // of the root and of its leaves
	cert     *x509.Certificate
	key      *ecdsa.PrivateKey
}

func newAuthority(name string, lifetime time.Duration) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("CA %s: %w", name, err)
	}
	template, err := unsigned(pkix.Name{CommonName: name, Organization: []string{"Gatehouse demo"}}, lifetime)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("CA %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{name: name, lifetime: lifetime, cert: cert, key: key}, err
}

func unsigned(subject pkix.Name, lifetime time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: now.Add(-time.Minute), NotAfter: now.Add(lifetime)}, nil
}

// leaf is an issued certificate with its key, and the PEM of both.
type leaf struct {
	tls.Certificate
	certPEM, keyPEM []byte
}

// issue makes a leaf that is good on both sides of a handshake, as meshes do.
func (a *authority) issue(spiffeID string, dnsNames ...string) (*leaf, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("leaf of %s: %w", a.name, err)
	}
	template, err := unsigned(pkix.Name{}, a.lifetime)
	if err != nil {
		return nil, err
	}
	template.DNSNames = dnsNames
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	if spiffeID != "" {
		id, err := url.Parse(spiffeID)
		if err != nil {
			return nil, fmt.Errorf("leaf of %s: %w", a.name, err)
		}
		template.URIs = []*url.URL{id}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("leaf of %s: %w", a.name, err)
	}
	return encode(der, key)
}

func encode(der []byte, key *ecdsa.PrivateKey) (*leaf, error) {
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	l := &leaf{
		certPEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		keyPEM:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}),
	}
	l.Certificate, err = tls.X509KeyPair(l.certPEM, l.keyPEM)
	return l, err
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func pool(roots ...*authority) *x509.CertPool {
	p := x509.NewCertPool()
	for _, a := range roots {
		p.AddCert(a.cert)
	}
	return p
}
