// Package pkitest makes certificates for tests: authorities and leaves as load balancers
// take them, which a test may bend before they are signed.
//
// It is for tests only and keeps nothing. Start with [New].
package pkitest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// Pair is a certificate with its key, and what signed it above.
type Pair struct {
	Cert  *x509.Certificate
	Key   crypto.Signer
	Above []*x509.Certificate // intermediates, from the signer on; no root
}

var serial atomic.Int64

// window is when the certificates are valid: an hour around real time, since sockets know
// no other.
func window() (from, to time.Time) {
	return time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
}

// New is a root.
func New(t testing.TB, name string, bend ...func(*x509.Certificate)) *Pair {
	t.Helper()
	return sign(t, authority(name), nil, nil, bend)
}

// Authority is an intermediate below p.
func (p *Pair) Authority(t testing.TB, name string, bend ...func(*x509.Certificate)) *Pair {
	t.Helper()
	return sign(t, authority(name), nil, p, bend)
}

// Leaf is for server and client, with DNS names and, where they have a scheme, URIs.
func (p *Pair) Leaf(t testing.TB, names []string, bend ...func(*x509.Certificate)) *Pair {
	t.Helper()
	return p.LeafWith(t, nil, names, bend...)
}

// LeafWith is Leaf with a key of the test's own; nil is a new P-256 key.
func (p *Pair) LeafWith(t testing.TB, key crypto.Signer, names []string, bend ...func(*x509.Certificate)) *Pair {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "leaf"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range names {
		if u, err := url.Parse(name); err == nil && u.Scheme != "" {
			template.URIs = append(template.URIs, u)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return sign(t, template, key, p, bend)
}

func authority(name string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true}
}

func sign(t testing.TB, template *x509.Certificate, key crypto.Signer, by *Pair, bend []func(*x509.Certificate)) *Pair {
	t.Helper()
	if key == nil {
		key = Key(t, elliptic.P256())
	}
	template.SerialNumber = big.NewInt(serial.Add(1))
	template.NotBefore, template.NotAfter = window()
	for _, f := range bend {
		f(template)
	}
	signer, parent := key, template
	if by != nil {
		signer, parent = by.Key, by.Cert
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	out := &Pair{Cert: cert, Key: key}
	if by != nil && by.Cert.CheckSignatureFrom(by.Cert) != nil {
		out.Above = append([]*x509.Certificate{by.Cert}, by.Above...)
	}
	return out
}

// Key is a new key of a curve.
func Key(t testing.TB, curve elliptic.Curve) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Chain is the certificate and what is above it, without the root.
func (p *Pair) Chain() []*x509.Certificate { return append([]*x509.Certificate{p.Cert}, p.Above...) }

// PEM is the chain as text.
func (p *Pair) PEM() string {
	var out []byte
	for _, c := range p.Chain() {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return string(out)
}

// KeyPEM is the key in PKCS #8.
func (p *Pair) KeyPEM(t testing.TB) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// TLS is the pair as TLS uses it.
func (p *Pair) TLS() tls.Certificate {
	out := tls.Certificate{PrivateKey: p.Key, Leaf: p.Cert}
	for _, c := range p.Chain() {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out
}
