package providertest

import (
	"cmp"
	"context"
	"crypto"
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
	refuses  bool                       // nothing is issued
	given    map[string]tls.Certificate // what Secrets hold now, by identity
	versions map[string]tls.Certificate // all that they ever held
	roots    map[int]lbmodel.Root
	pairs    map[int]tls.Certificate // of the roots
	signer   int                     // the root that signs what is issued; 0 is none, leaves sign themselves
	secrets  []string
}

func newKeys(tb testing.TB, now func() time.Time) *keys {
	return &keys{
		tb: tb, now: now, given: map[string]tls.Certificate{}, versions: map[string]tls.Certificate{},
		roots: map[int]lbmodel.Root{}, pairs: map[int]tls.Certificate{},
	}
}

// ring is the providers.Keyring.
func (k *keys) ring(_ context.Context, identity lbmodel.Identity) (tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if identity.Issuer == lbmodel.IssuerSecret {
		return k.given[identity.Name], nil
	}
	if k.refuses {
		return tls.Certificate{}, lbmodel.Errorf(lbmodel.CodeDenied, "issue", lbmodel.ID{}, "the issuer refuses %s", identity.Name)
	}
	k.issued++
	if k.signer == 0 {
		return k.make(identity.Name, nil)
	}
	root := k.pairs[k.signer]
	return k.make(identity.Name, &root)
}

// sign makes a root of the trusts sign what is issued from now on.
func (k *keys) sign(root int) {
	k.root(root)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.signer = root
}

// refuse says whether the issuer refuses from now on.
func (k *keys) refuse(yes bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refuses = yes
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
		if pair, err = k.make(name, nil); err != nil {
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
	pair, err := k.make(fmt.Sprintf("root-%d", n), nil)
	if err != nil {
		k.tb.Fatalf("making a root: %v", err)
	}
	leaf := pair.Leaf
	k.pairs[n] = pair
	k.roots[n] = lbmodel.Root{
		SHA256: digest(leaf.Raw), SPKI: digest(leaf.RawSubjectPublicKeyInfo), KeyID: hex.EncodeToString(leaf.SubjectKeyId),
		Subject: leaf.Subject.String(), NotAfter: leaf.NotAfter,
		PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})),
	}
	return k.roots[n]
}

// make makes a pair, signed by a root or (nil) by itself, and remembers its secret
// in every form that it could leak in.
func (k *keys) make(name string, root *tls.Certificate) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	ca, life := strings.HasPrefix(name, "root-"), 24*time.Hour
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	if ca {
		life, usage = 365*life, nil
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(k.now().UnixNano()), Subject: pkix.Name{CommonName: name},
		DNSNames: []string{name + ".test"}, NotBefore: k.now().Add(-time.Hour), NotAfter: k.now().Add(life),
		IsCA: ca, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: usage,
	}
	if ca {
		template.KeyUsage |= x509.KeyUsageCertSign
	}
	parent, signer := template, crypto.PrivateKey(key)
	if root != nil {
		parent, signer = root.Leaf, root.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
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
