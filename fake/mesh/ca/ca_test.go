package ca

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"testing"
	"time"
)

// clock is a time that tests move.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

var start = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

const cart = "spiffe://cluster.local/ns/apps/sa/cart"

func made(t *testing.T, c Config) (*CA, *clock) {
	t.Helper()
	now := &clock{start}
	c.Now = now.now
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m, now
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func issued(t *testing.T, m *CA, r Request) tls.Certificate {
	t.Helper()
	leaf, err := m.Issue(r)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// verifies says whether a leaf chains to the bundle by the CA's clock.
func verifies(m *CA, leaf tls.Certificate) error {
	between := x509.NewCertPool()
	for _, der := range leaf.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		between.AddCert(c)
	}
	_, err := leaf.Leaf.Verify(x509.VerifyOptions{
		Roots: Pool(m.Roots()...), Intermediates: between, CurrentTime: m.Now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

// TestRotation walks from root a to root b: what each step does to leaves of both.
func TestRotation(t *testing.T) {
	m, _ := made(t, Config{})
	ofA := issued(t, m, Request{URIs: []string{cart}})
	must(t, verifies(m, ofA))

	changed := m.Changed()
	must(t, m.Add(Root{Name: "b"}))
	select {
	case <-changed:
	default:
		t.Error("nobody was told of the new root")
	}
	if again := issued(t, m, Request{URIs: []string{cart}}); string(again.Leaf.AuthorityKeyId) != string(ofA.Leaf.AuthorityKeyId) {
		t.Error("a root signs that was only added")
	}
	must(t, m.SignBy("b"))
	ofB := issued(t, m, Request{URIs: []string{cart}})
	must(t, verifies(m, ofA), verifies(m, ofB))
	must(t, m.Drop("a"), verifies(m, ofB))
	if verifies(m, ofA) == nil {
		t.Error("a leaf of a root that was dropped verifies")
	}
	for name, err := range map[string]error{"Drop": m.Drop("a"), "SignBy": m.SignBy("a"), "Resign": m.Resign("a"), "Repeat": m.Repeat("a"), "Intermediate": m.Intermediate("a", 0)} {
		if !errors.Is(err, errNoRoot) {
			t.Errorf("%s of a root that is gone: %v", name, err)
		}
	}
	if err := m.Add(Root{Name: "b"}); err == nil {
		t.Error("a name was given twice")
	}
}

// TestResign: the same key and subject in a new certificate, as Istio's rotator
// does; leaves of before verify.
func TestResign(t *testing.T) {
	m, now := made(t, Config{})
	leaf, before := issued(t, m, Request{URIs: []string{cart}}), m.Root("a")
	now.at = now.at.Add(time.Hour)
	must(t, m.Resign("a"))
	after := m.Root("a")
	if after.Equal(before) || string(after.RawSubjectPublicKeyInfo) != string(before.RawSubjectPublicKeyInfo) || string(after.RawSubject) != string(before.RawSubject) {
		t.Error("want another certificate with the same key and subject")
	}
	if !after.NotAfter.Equal(before.NotAfter.Add(time.Hour)) {
		t.Errorf("NotAfter is %s, was %s", after.NotAfter, before.NotAfter)
	}
	must(t, verifies(m, leaf))
}

func TestIntermediate(t *testing.T) {
	m, now := made(t, Config{})
	must(t, m.Intermediate("a", time.Hour))
	leaf := issued(t, m, Request{URIs: []string{cart}, Life: 24 * time.Hour})
	if len(leaf.Certificate) != 2 {
		t.Fatalf("a chain of %d, want leaf and intermediate", len(leaf.Certificate))
	}
	must(t, verifies(m, leaf))
	if want := start.Add(time.Hour); !leaf.Leaf.NotAfter.Equal(want) {
		t.Errorf("NotAfter is %s, want its issuer's %s", leaf.Leaf.NotAfter, want)
	}
	if m.Signer().Equal(m.SigningRoot()) {
		t.Error("the root signs itself, want the intermediate")
	}
	now.at = now.at.Add(2 * time.Hour)
	if _, err := m.Issue(Request{URIs: []string{cart}}); !errors.Is(err, ErrExpired) {
		t.Errorf("an issuer that has expired: %v", err)
	}
}

// TestLeaf has the marks that the meshes' own leaves have.
func TestLeaf(t *testing.T) {
	m, _ := made(t, Config{})
	leaf := issued(t, m, Request{URIs: []string{cart}, Life: 7 * 24 * time.Hour}).Leaf
	critical := false
	for _, e := range leaf.Extensions {
		critical = critical || e.Critical && e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 17})
	}
	if !critical || leaf.Subject.String() != "" {
		t.Errorf("subject %q, critical names %v: want an empty subject and critical names", leaf.Subject, critical)
	}
	if !leaf.NotBefore.Equal(start.Add(-2*time.Minute)) || !leaf.NotAfter.Equal(start.Add(7*24*time.Hour)) {
		t.Errorf("valid from %s until %s", leaf.NotBefore, leaf.NotAfter)
	}
	if root := m.Root("a"); len(root.ExtKeyUsage) > 0 || !root.IsCA {
		t.Errorf("roots of meshes have no extended usage: %v", root.ExtKeyUsage)
	}
	old := issued(t, m, Request{URIs: []string{cart}, Life: time.Hour, Age: 2 * time.Hour})
	if verifies(m, old) == nil {
		t.Error("a leaf whose life is over verifies")
	}
	for _, k := range []KeyType{ECDSA, P384, RSA, Ed25519} {
		must(t, verifies(m, issued(t, m, Request{DNSNames: []string{"a.example"}, CommonName: "a.example", Key: k})))
	}
	if _, err := m.Issue(Request{Key: "DSA"}); err == nil {
		t.Error("a key type that is none was made")
	}
	if _, err := m.Issue(Request{URIs: []string{"%"}}); err == nil {
		t.Error("a URI that is none was signed")
	}
}

// TestRepeat: operators' bundles hold roots twice.
func TestRepeat(t *testing.T) {
	m, _ := made(t, Config{RootKey: RSA})
	must(t, m.Repeat("a"))
	roots := m.Roots()
	if len(roots) != 2 || !roots[0].Equal(roots[1]) {
		t.Errorf("%d roots", len(roots))
	}
	if m.Root("z") != nil {
		t.Error("a root that is none")
	}
}
