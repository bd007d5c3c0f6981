package awstraffic

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// pair is a certificate with its key, and what the model says of it.
type pair struct {
	tls.Certificate
	leaf *lbmodel.Leaf
}

// vault keeps the keys of listeners' certificates.
type vault struct {
	mu    sync.Mutex
	pairs map[string]pair // by leaf
}

// key implements providers.Keyring.
func (v *vault) key(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if id.Leaf != nil {
		if p, ok := v.pairs[id.Leaf.SHA256]; ok {
			return p.Certificate, nil
		}
	}
	return tls.Certificate{}, fmt.Errorf("no key of %s", id.Name)
}

// ca signs certificates.
type ca struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	root lbmodel.Root
}

func newCA(t *testing.T, name string) *ca {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(90 * 24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots, err := lbmodel.ParseRoots(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	return &ca{cert, key, roots[0]}
}

// sign makes a certificate for servers and clients.
func (c *ca) sign(t *testing.T, serial int64, names ...string) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(60 * 24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, key.Public(), c.key)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(der)
	return pair{tls.Certificate{Certificate: [][]byte{der, c.cert.Raw}, PrivateKey: key}, &lbmodel.Leaf{SHA256: hex.EncodeToString(sum[:]),
		NotBefore: template.NotBefore.UTC().Truncate(time.Second), NotAfter: template.NotAfter.UTC().Truncate(time.Second), DNSNames: names, Issuer: c.cert.Subject.String(), KeyType: "ECDSA"}}
}

// keep puts a pair into the vault.
func (v *vault) keep(p pair) *lbmodel.Leaf {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pairs[p.leaf.SHA256] = p
	return p.leaf
}
