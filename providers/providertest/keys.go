package providertest

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// keys is the keyring of a test: it counts what it issues and knows what must
// never be seen.
type keys struct {
	tb  testing.TB
	now func() time.Time

	mu       sync.Mutex
	issued   int
	given    map[string]tls.Certificate // what Secrets hold now, by identity
	versions map[string]tls.Certificate // all that they ever held
	roots    map[int]lbmodel.Root
	secrets  []string
}

func newKeys(tb testing.TB, now func() time.Time) *keys {
	return &keys{tb: tb, now: now, given: map[string]tls.Certificate{}, versions: map[string]tls.Certificate{}, roots: map[int]lbmodel.Root{}}
}

// ring is the providers.Keyring.
func (k *keys) ring(_ context.Context, identity lbmodel.Identity) (tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if identity.Issuer == lbmodel.IssuerSecret {
		return k.given[identity.Name], nil
	}
	k.issued++
	return k.make(identity.Name)
}

// count is how many certificates were issued so far.
func (k *keys) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.issued
}

// identity is one that is issued at Apply.
func (k *keys) identity(name string, source lbmodel.Source) lbmodel.Identity {
	return lbmodel.Identity{
		Name: name, Source: source, SPIFFEID: "spiffe://laws.test/" + source.Name, Issuer: "Mesh",
		Renew: lbmodel.RenewRule{Lifetime: lbmodel.Duration(24 * time.Hour), Before: lbmodel.Duration(8 * time.Hour)},
	}
}

// certificate is one that somebody keeps in a Secret, renewed so many times; from
// now on the Secret holds that one.
func (k *keys) certificate(name string, renewed int, source lbmodel.Source) lbmodel.Identity {
	k.mu.Lock()
	defer k.mu.Unlock()
	version := fmt.Sprintf("%s/%d", name, renewed)
	pair, ok := k.versions[version]
	if !ok {
		var err error
		if pair, err = k.make(name); err != nil {
			k.tb.Fatalf("making a certificate: %v", err)
		}
		k.versions[version] = pair
	}
	k.given[name] = pair
	leaf := pair.Leaf
	return lbmodel.Identity{
		Name: name, Source: source, DNSNames: leaf.DNSNames, Issuer: lbmodel.IssuerSecret,
		Leaf: &lbmodel.Leaf{
			SHA256: digest(leaf.Raw), NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter,
			DNSNames: leaf.DNSNames, Issuer: leaf.Issuer.String(),
		},
	}
}

// root is the CA root of a number.
func (k *keys) root(n int) lbmodel.Root {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, ok := k.roots[n]; ok {
		return r
	}
	pair, err := k.make(fmt.Sprintf("root-%d", n))
	if err != nil {
		k.tb.Fatalf("making a root: %v", err)
	}
	leaf := pair.Leaf
	k.roots[n] = lbmodel.Root{
		SHA256: digest(leaf.Raw), SPKI: digest(leaf.RawSubjectPublicKeyInfo), Subject: leaf.Subject.String(),
		NotAfter: leaf.NotAfter,
		PEM:      string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})),
	}
	return k.roots[n]
}

// make makes a self-signed pair and remembers its secret in every form that it
// could leak in.
func (k *keys) make(name string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(k.now().UnixNano()), Subject: pkix.Name{CommonName: name},
		DNSNames: []string{name + ".test"}, NotBefore: k.now().Add(-time.Hour), NotAfter: k.now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, k.remember(key)
}

func (k *keys) remember(key *ecdsa.PrivateKey) error {
	scalar, err := key.Bytes()
	if err != nil {
		return err
	}
	k.secrets = append(k.secrets, hex.EncodeToString(scalar), new(big.Int).SetBytes(scalar).String(), string(scalar))
	for _, encode := range []func() ([]byte, error){
		func() ([]byte, error) { return x509.MarshalECPrivateKey(key) },
		func() ([]byte, error) { return x509.MarshalPKCS8PrivateKey(key) },
	} {
		der, err := encode()
		if err != nil {
			return err
		}
		// The middle holds the scalar; whole lines of PEM are found by their base64.
		k.secrets = append(k.secrets, string(der), hex.EncodeToString(der), base64.StdEncoding.EncodeToString(der)[:60])
	}
	return nil
}

// leaked says whether a text holds a key.
func (k *keys) leaked(text string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	lower := strings.ToLower(text)
	for _, secret := range k.secrets {
		if strings.Contains(text, secret) || strings.Contains(lower, strings.ToLower(secret)) {
			return true
		}
	}
	return strings.Contains(text, "PRIVATE KEY")
}

func digest(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

func compareStrings(a, b string) int { return cmp.Compare(a, b) }
