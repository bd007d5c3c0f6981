package pki_test

import (
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	"gatehouse.dev/fake/gcpapi/pki"
	"gatehouse.dev/fake/gcpapi/pki/pkitest"
)

func storeOf(anchors ...*pkitest.Pair) pki.Store {
	var s pki.Store
	for _, a := range anchors {
		s.Anchors = append(s.Anchors, a.Cert)
	}
	return s
}

// rsaKey is one of the given size.
func rsaKey(t *testing.T, bits int) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Why: a leaf is taken or refused by the documented rules, with the documented name.
func TestLeaves(t *testing.T) {
	root := pkitest.New(t, "root")
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	eku := func(list ...x509.ExtKeyUsage) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.ExtKeyUsage = list }
	}
	expired := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
	for _, c := range []struct {
		name    string
		key     crypto.Signer
		bend    func(*x509.Certificate)
		usage   pki.Usage
		relaxed pki.Relaxation
		want    pki.Failure
	}{
		{name: "P-256", usage: pki.Server},
		{name: "P-384", key: pkitest.Key(t, elliptic.P384()), usage: pki.Server},
		{name: "P-521", key: pkitest.Key(t, elliptic.P521()), usage: pki.Server, want: pki.Curve},
		{name: "Ed25519", key: edKey, usage: pki.Server, want: pki.KeyAlgorithm},
		{name: "RSA 2048", key: rsaKey(t, 2048), usage: pki.Server},
		{name: "RSA 1024", key: rsaKey(t, 1024), usage: pki.Server, want: pki.RSAKeySize},
		{name: "no serverAuth", bend: eku(x509.ExtKeyUsageClientAuth), usage: pki.Server, want: pki.InvalidEKU},
		{name: "client", bend: eku(x509.ExtKeyUsageClientAuth), usage: pki.Client},
		{name: "codeSigning too", bend: eku(x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageCodeSigning), usage: pki.Server, want: pki.InvalidEKU},
		{name: "no usage", bend: eku(), usage: pki.Client, want: pki.InvalidEKU},
		{name: "no usage relaxed", bend: eku(), usage: pki.Client, relaxed: pki.AllowMissingEKU},
		{name: "expired", bend: expired, usage: pki.Client, want: pki.NotValid},
		{name: "expired relaxed", bend: expired, usage: pki.Client, relaxed: pki.AllowExpiredLeaf},
		{name: "not yet", bend: func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }, usage: pki.Server, want: pki.NotValid},
		{name: "a CA", bend: func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }, usage: pki.Server, want: pki.NotValid},
	} {
		t.Run(c.name, func(t *testing.T) {
			bend := c.bend
			if bend == nil {
				bend = func(*x509.Certificate) {}
			}
			leaf := root.LeafWith(t, c.key, []string{"a"}, bend)
			s := storeOf(root)
			if got := s.Verify(leaf.Chain(), c.usage, time.Now(), c.relaxed); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// deep is a leaf below n intermediates.
func deep(t *testing.T, root *pkitest.Pair, n int) *pkitest.Pair {
	t.Helper()
	for i := range n {
		root = root.Authority(t, fmt.Sprint("between ", i))
	}
	return root.Leaf(t, []string{"a"})
}

// Why: what chains are built from, and how far.
func TestChains(t *testing.T) {
	root, other := pkitest.New(t, "root"), pkitest.New(t, "other")
	twin := pkitest.New(t, "root") // the same name with another key
	between := root.Authority(t, "between")
	leaf := between.Leaf(t, []string{"a"})
	usage := root.Authority(t, "narrow", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
	constrained := root.Authority(t, "constrained", func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"b"} })
	many := root.Authority(t, "many", func(c *x509.Certificate) {
		for i := range 11 {
			c.PermittedDNSDomains = append(c.PermittedDNSDomains, fmt.Sprint("d", i))
		}
	})
	expired := root.Authority(t, "expired", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	weak := root.Authority(t, "no CA", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature })
	with := func(s pki.Store, between ...*x509.Certificate) pki.Store {
		s.Intermediates = between
		return s
	}
	for _, c := range []struct {
		name  string
		store pki.Store
		chain []*x509.Certificate
		want  pki.Failure
	}{
		{"sent", storeOf(root), leaf.Chain(), ""},
		{"with the root", storeOf(root), append(leaf.Chain(), root.Cert), ""},
		{"not sent", storeOf(root), leaf.Chain()[:1], pki.NotValid},
		{"from the store", with(storeOf(root), between.Cert), leaf.Chain()[:1], ""},
		{"anchored between", storeOf(between), leaf.Chain()[:1], ""},
		{"other root", storeOf(other), leaf.Chain(), pki.NotValid},
		{"same name, other key", storeOf(twin), leaf.Chain(), pki.NotValid},
		{"both", storeOf(twin, root), leaf.Chain(), ""},
		{"no anchors", pki.Store{}, leaf.Chain(), pki.NotValid},
		{"nothing sent", storeOf(root), nil, pki.NotProvided},
		{"allowed", pki.Store{Allowed: []*x509.Certificate{leaf.Cert}}, leaf.Chain(), ""},
		{"ten deep", storeOf(root), deep(t, root, 8).Chain(), ""},
		{"eleven deep", storeOf(root), deep(t, root, 9).Chain(), pki.NotValid},
		{"eleven sent", storeOf(root), deep(t, root, 10).Chain(), pki.TooManyInChain},
		{"narrow authority", storeOf(root), usage.Leaf(t, []string{"a"}).Chain(), pki.InvalidEKU},
		{"constrained", storeOf(root), constrained.Leaf(t, []string{"a"}).Chain(), pki.NotValid},
		{"many constraints", storeOf(root), many.Leaf(t, []string{"d1"}).Chain(), pki.TooManyConstraint},
		{"expired authority", storeOf(root), expired.Leaf(t, []string{"a"}).Chain(), pki.NotValid},
		{"authority without keyCertSign", storeOf(root), weak.Leaf(t, []string{"a"}).Chain(), pki.NotValid},
		{"authorities need a usage", pki.Store{Anchors: []*x509.Certificate{root.Cert}, AuthoritiesNeedEKU: true}, leaf.Chain(), pki.InvalidEKU},
		{"public", pki.Store{Public: pool(root)}, leaf.Chain(), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.store.Verify(c.chain, pki.Server, time.Now()); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func pool(of *pkitest.Pair) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(of.Cert)
	return p
}

// Why: chains are by AKID and SKID as well as by name.
func TestKeyIdentifiers(t *testing.T) {
	root := pkitest.New(t, "root", func(c *x509.Certificate) { c.SubjectKeyId = []byte{1} })
	leaf := root.Leaf(t, []string{"a"})
	s := storeOf(root)
	if got := s.Verify(leaf.Chain(), pki.Server, time.Now()); got != "" {
		t.Errorf("%q with key identifiers", got)
	}
	bare := *root.Cert
	bare.SubjectKeyId = []byte{2}
	s.Anchors = []*x509.Certificate{&bare}
	if got := s.Verify(leaf.Chain(), pki.Server, time.Now()); got != pki.NotValid {
		t.Errorf("%q with another key identifier, want %q", got, pki.NotValid)
	}
}

// Why: what is not PEM, or is too much of it, is refused before anybody trusts it.
func TestPEM(t *testing.T) {
	root := pkitest.New(t, "root")
	leaf := root.Authority(t, "between").Leaf(t, []string{"a"})
	if chain, err := pki.Chain(leaf.PEM()); err != nil || len(chain) != 2 || !pki.Ordered(chain) {
		t.Errorf("chain of %d, %v", len(chain), err)
	}
	for name, text := range map[string]string{"empty": "", "no PEM": "x", "trailing": root.PEM() + "x", "a key": leaf.KeyPEM(t), "broken": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if _, err := pki.Chain(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := pki.One(leaf.PEM()); err == nil {
		t.Error("two certificates are one")
	}
	key, err := pki.PrivateKey(leaf.KeyPEM(t))
	if err != nil || !pki.Fits(key, leaf.Cert) || pki.Fits(key, root.Cert) {
		t.Errorf("key: %v", err)
	}
	if _, err := pki.PrivateKey(root.PEM()); err == nil {
		t.Error("a certificate is a key")
	}
}
