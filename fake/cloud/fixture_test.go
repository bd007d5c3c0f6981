package cloud

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// newCloud is a cloud without delays.
func newCloud(t testing.TB, change func(*Options)) *Cloud {
	t.Helper()
	o := Options{AddressDelay: -1, HealthDelay: -1}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// mustCreate makes an object that nobody of ours owns.
func mustCreate(t testing.TB, c *Cloud, kind, name string, body Body) Object {
	t.Helper()
	r := CreateRequest{Kind: kind, Location: "local", Name: name, Body: encode(body)}
	if cert, ok := body.(*Certificate); ok {
		pair := issue(t, cert.Identity)
		cert.Leaf = fingerprint(pair.Certificate[0])
		r.Key, r.Body = &pair, encode(cert)
	}
	o, err := c.Create(t.Context(), r)
	if err != nil {
		t.Fatalf("create %s %s: %v", kind, name, err)
	}
	return o
}

// issue makes a self-signed certificate for an identity.
func issue(t testing.TB, id lbmodel.Identity) tls.Certificate {
	t.Helper()
	pair, err := selfSigned(id, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func selfSigned(id lbmodel.Identity, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	life := max(time.Hour, time.Duration(id.Renew.Lifetime))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: id.Name},
		NotBefore: now, NotAfter: now.Add(life), DNSNames: id.DNSNames, IsCA: true, BasicConstraintsValid: true,
	}
	if id.SPIFFEID != "" {
		u, err := url.Parse(id.SPIFFEID)
		if err != nil {
			return tls.Certificate{}, err
		}
		template.URIs = []*url.URL{u}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// newRoot is a CA root as the model has it.
func newRoot(t testing.TB, name string) lbmodel.Root {
	t.Helper()
	return rootOf(issue(t, lbmodel.Identity{Name: name}).Certificate[0])
}

func rootOf(der []byte) lbmodel.Root {
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return lbmodel.Root{
		SHA256: fingerprint(der), SPKI: fingerprint(cert.RawSubjectPublicKeyInfo), Subject: cert.Subject.String(), NotAfter: cert.NotAfter.UTC(),
		PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
	}
}

// keyring is whoever keeps the keys: it issues, and remembers what it issued.
type keyring struct {
	now func() time.Time

	mu     sync.Mutex
	pairs  map[string]tls.Certificate // by leaf
	issued int
}

func newKeyring() *keyring { return &keyring{now: time.Now, pairs: map[string]tls.Certificate{}} }

// key is a providers.Keyring.
func (k *keyring) key(_ context.Context, id lbmodel.Identity) (tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if id.Leaf != nil {
		pair, ok := k.pairs[id.Leaf.SHA256]
		if !ok {
			return pair, lbmodel.Errorf(lbmodel.CodeUnresolved, "Keyring", lbmodel.ID{}, "no key of leaf %s", id.Leaf.SHA256)
		}
		return pair, nil
	}
	pair, err := selfSigned(id, k.now())
	if err == nil {
		k.issued++
		k.pairs[fingerprint(pair.Certificate[0])] = pair
	}
	return pair, err
}

// give makes a keyring have a certificate that was made elsewhere.
func (k *keyring) give(pair tls.Certificate) *lbmodel.Leaf {
	leaf, err := leafOf(pair)
	if err != nil {
		panic(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pairs[leaf.SHA256] = pair
	return leaf
}
