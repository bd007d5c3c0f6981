package gcp

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/lbmodel"
)

// ca is a certificate with its key.
type ca struct {
	root lbmodel.Root
	cert *x509.Certificate
	key  crypto.Signer
}

func newCA(t *testing.T, name string, parent *ca, key crypto.Signer, change func(*x509.Certificate)) *ca {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: now, NotAfter: now.Add(1000 * time.Hour)}
	if change != nil {
		change(template)
	}
	signer, signs := template, key
	if parent != nil {
		signer, signs = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, key.Public(), signs)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	sum, spki := sha256.Sum256(der), sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return &ca{lbmodel.Root{SHA256: hex.EncodeToString(sum[:]), SPKI: hex.EncodeToString(spki[:]), Subject: cert.Subject.String(),
		PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}, cert, key}
}

func ecKey(t *testing.T, curve elliptic.Curve) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Why: a root that Google Cloud does not take would refuse all of them, so it must be
// known before any call, with the reason; and one that it takes must not be refused.
func TestRootsAreCheckedBefore(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	_, odd, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p256 := ecKey(t, elliptic.P256())
	for _, c := range []struct {
		name   string
		key    crypto.Signer
		change func(*x509.Certificate)
		want   string
	}{
		{"P-256, without an EKU as meshes have it", p256, nil, ""},
		{"P-384", ecKey(t, elliptic.P384()), nil, ""},
		{"P-521", ecKey(t, elliptic.P521()), nil, "P-521"},
		{"Ed25519", odd, nil, "ed25519"},
		{"RSA 1024", small, nil, "1024 bits"},
		{"no CA", p256, func(c *x509.Certificate) { c.IsCA = false }, "no CA"},
		{"may not sign", p256, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature }, "keyUsage"},
		{"many constraints", p256, func(c *x509.Certificate) {
			for i := range 11 {
				c.PermittedDNSDomains = append(c.PermittedDNSDomains, fmt.Sprint("d", i, ".test"))
			}
		}, "11 name constraints"},
		{"too long", p256, func(c *x509.Certificate) {
			c.Subject.Organization = []string{strings.Repeat("long", 1500)}
		}, "bytes as PEM"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := checkRoot(newCA(t, c.name, nil, c.key, c.change).root)
			if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if checkRoot(lbmodel.Root{PEM: "PEM"}) == nil {
		t.Error("what is no certificate is taken")
	}
}

// Why: what another one of the bundle issued is an intermediate, and at least one must
// be an anchor, or nothing leads anywhere; and the limits are those of the two.
func TestRootsAreDivided(t *testing.T) {
	key := ecKey(t, elliptic.P256())
	root := newCA(t, "root", nil, key, nil)
	between := newCA(t, "between", root, ecKey(t, elliptic.P256()), nil)
	lone := newCA(t, "lone", newCA(t, "elsewhere", nil, key, nil), ecKey(t, elliptic.P256()), nil)
	var twins []lbmodel.Root
	twin := ecKey(t, elliptic.P256())
	for range 4 {
		twins = append(twins, newCA(t, "twin", root, twin, nil).root)
	}
	for _, c := range []struct {
		name                   string
		roots                  []lbmodel.Root
		anchors, intermediates int
		wrong                  string
	}{
		{"root and intermediate", []lbmodel.Root{between.root, root.root}, 1, 1, ""},
		{"an intermediate alone", []lbmodel.Root{lone.root}, 1, 0, ""},
		{"none", nil, 0, 0, "none of its certificates"},
		{"twins", append(twins, root.root), 1, 4, "of one name and key"},
		{"many", func() []lbmodel.Root {
			out := make([]lbmodel.Root, maxRoots+1)
			for i := range out {
				out[i] = root.root
			}
			return out
		}(), maxRoots + 1, 0, "201 certificates"},
	} {
		t.Run(c.name, func(t *testing.T) {
			anchors, intermediates := divideRoots(c.roots)
			if len(anchors) != c.anchors || len(intermediates) != c.intermediates {
				t.Errorf("%d and %d, want %d and %d", len(anchors), len(intermediates), c.anchors, c.intermediates)
			}
			if err := checkBundle(c.roots); (c.wrong == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%v, want %q", err, c.wrong)
			}
		})
	}
}
