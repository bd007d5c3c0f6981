package issue

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/ca"
	"gatehouse.dev/lbmodel"
	"gatehouse.dev/meshsync"
)

// authority is a CA that signs whatever it is told, with an intermediate.
type authority struct {
	root, middle, other, short *x509.Certificate
	rootKey, middleKey         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	var err error
	if a.rootKey, err = newKey(); err != nil {
		t.Fatal(err)
	}
	if a.middleKey, err = newKey(); err != nil {
		t.Fatal(err)
	}
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{
			Subject: pkix.Name{CommonName: name}, NotBefore: noon.Add(-time.Hour), NotAfter: noon.Add(1000 * time.Hour),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}
	}
	a.root = certify(t, template("root"), nil, a.rootKey.Public(), a.rootKey)
	a.other = certify(t, template("other"), nil, a.middleKey.Public(), a.middleKey)
	a.middle = certify(t, template("middle"), a.root, a.middleKey.Public(), a.rootKey)
	short := template("middle")
	short.NotAfter = noon.Add(5 * time.Minute)
	a.short = certify(t, short, a.root, a.middleKey.Public(), a.rootKey)
	return a
}

func certify(t *testing.T, template, by *x509.Certificate, key crypto.PublicKey, signer *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	if by == nil {
		by = template
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	der, err := x509.CreateCertificate(rand.Reader, template, by, key, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func (a *authority) roots(t *testing.T) []lbmodel.Root {
	t.Helper()
	roots, err := lbmodel.ParseRoots(ca.PEM(a.root))
	if err != nil {
		t.Fatal(err)
	}
	return roots
}

func parsed(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// otherName is a subjectAltName of the identity's URI and one of a kind that Go does
// not parse.
func otherName(t *testing.T, id lbmodel.Identity) pkix.Extension {
	t.Helper()
	value, err := asn1.Marshal([]asn1.RawValue{
		{Class: asn1.ClassContextSpecific, Tag: 6, Bytes: []byte(id.SPIFFEID)},
		{Class: asn1.ClassContextSpecific, Tag: 8, Bytes: []byte{0x2a, 3}}, // registeredID
	})
	if err != nil {
		t.Fatal(err)
	}
	return pkix.Extension{Id: oidNames, Value: value}
}

// TestVerify: nothing is handed out that is not exactly what was asked for.
func TestVerify(t *testing.T) {
	id := identity("g")
	type leaf = x509.Certificate
	cases := []struct {
		name, why, says string
		change          func(*testing.T, *leaf)
		chain           func(*authority, *leaf) []*x509.Certificate
		want            lbmodel.Code // zero is taken
	}{
		{name: "right", why: "leaf and intermediate"},
		{name: "subject", why: "no mesh goes by the common name", change: func(_ *testing.T, c *leaf) { c.Subject.CommonName = "x" }},
		{name: "another name", why: "it would be somebody else", says: "and not for", want: lbmodel.CodeDenied,
			change: func(t *testing.T, c *leaf) { c.URIs = []*url.URL{parsed(t, id.SPIFFEID+"2")} }},
		{name: "one name more", why: "it would be somebody else too", says: "evil.test", want: lbmodel.CodeDenied,
			change: func(_ *testing.T, c *leaf) { c.DNSNames = []string{"evil.test"} }},
		{name: "twice", why: "SPIFFE has exactly one", says: "2 names", want: lbmodel.CodeDenied, change: func(_ *testing.T, c *leaf) { c.URIs = append(c.URIs, c.URIs[0]) }},
		{name: "address", why: "names of every kind count", says: "2 names", want: lbmodel.CodeDenied,
			change: func(_ *testing.T, c *leaf) { c.IPAddresses = []net.IP{net.IPv4(10, 0, 0, 1)} }},
		{name: "odd kind", why: "also those that Go does not parse", says: "2 names", want: lbmodel.CodeDenied,
			change: func(t *testing.T, c *leaf) {
				c.ExtraExtensions, c.URIs = []pkix.Extension{otherName(t, id)}, nil
			}},
		{name: "no name", why: "it would be nobody", says: "0 names", want: lbmodel.CodeDenied, change: func(_ *testing.T, c *leaf) { c.URIs = nil }},
		{name: "server only", why: "backends refuse it", says: "client authentication", want: lbmodel.CodeDenied,
			change: func(_ *testing.T, c *leaf) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }},
		{name: "no signing", why: "TLS 1.3 signs", says: "may not sign", want: lbmodel.CodeDenied, change: func(_ *testing.T, c *leaf) { c.KeyUsage = x509.KeyUsageKeyEncipherment }},
		{name: "CA", why: "whoever has the gateway could sign", says: "is a CA", want: lbmodel.CodeDenied,
			change: func(_ *testing.T, c *leaf) { c.IsCA = true }},
		{name: "over", why: "backends refuse it", says: "it ended at", want: lbmodel.CodeDenied, change: func(_ *testing.T, c *leaf) { c.NotAfter = noon }},
		{name: "short", why: "it is over before it is in use", says: "less than 10m", want: lbmodel.CodeDenied, change: func(_ *testing.T, c *leaf) { c.NotAfter = noon.Add(9 * time.Minute) }},
		{name: "the intermediate is short", why: "a chain ends with the first of it", says: "less than 10m", want: lbmodel.CodeDenied,
			chain: func(a *authority, c *leaf) []*x509.Certificate { return []*x509.Certificate{c, a.short} }},
		{name: "within the skew", why: "clocks differ", change: func(_ *testing.T, c *leaf) { c.NotBefore = noon.Add(50 * time.Second) }},
		{name: "a clock is ten minutes off", why: "it waits until it is valid", says: "valid from", want: lbmodel.CodePending,
			change: func(_ *testing.T, c *leaf) { c.NotBefore = noon.Add(10 * time.Minute) }},
		{name: "a clock is hours off", why: "somebody must correct it", says: "clocks is wrong", want: lbmodel.CodeDenied,
			change: func(_ *testing.T, c *leaf) { c.NotBefore = noon.Add(2 * time.Hour) }},
		{name: "no intermediate", why: "backends have roots only", says: "does not verify", want: lbmodel.CodeDenied,
			chain: func(_ *authority, c *leaf) []*x509.Certificate { return []*x509.Certificate{c} }},
		{name: "with the root", why: "a root is never uploaded",
			chain: func(a *authority, c *leaf) []*x509.Certificate { return []*x509.Certificate{c, a.middle, a.root} }},
		{name: "with a stranger's root", why: "nor is any other",
			chain: func(a *authority, c *leaf) []*x509.Certificate { return []*x509.Certificate{c, a.middle, a.other} }},
		{name: "wrong order", why: "clouds refuse it", says: "did not sign", want: lbmodel.CodeDenied,
			chain: func(a *authority, c *leaf) []*x509.Certificate { return []*x509.Certificate{a.middle, c} }},
		{name: "twice the same", why: "clouds refuse it", says: "did not sign", want: lbmodel.CodeDenied,
			chain: func(a *authority, c *leaf) []*x509.Certificate { return []*x509.Certificate{c, a.middle, a.middle} }},
		{name: "nothing", why: "an answer without a certificate", says: "no certificate", want: lbmodel.CodeDenied,
			chain: func(*authority, *leaf) []*x509.Certificate { return nil }},
		{name: "a hole", why: "an issuer that breaks its law", says: "no certificate", want: lbmodel.CodeDenied,
			chain: func(_ *authority, c *leaf) []*x509.Certificate { return []*x509.Certificate{c, nil} }},
		{name: "endless", why: "an answer is bounded", says: "the most is", want: lbmodel.CodeDenied,
			chain: func(a *authority, c *leaf) []*x509.Certificate {
				return slices.Repeat([]*x509.Certificate{c}, 9)
			}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			w, a := newWorld(t), newAuthority(t)
			w.ring.config.Roots = func(string) []lbmodel.Root { return a.roots(t) }
			w.answer = func(_ context.Context, r meshsync.Request) (meshsync.Issued, error) {
				csr, err := x509.ParseCertificateRequest(r.CSR)
				w.do(err)
				template := &x509.Certificate{
					URIs: csr.URIs, NotBefore: noon.Add(-time.Minute), NotAfter: noon.Add(24 * time.Hour), BasicConstraintsValid: true,
					ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
				}
				if tc.change != nil {
					tc.change(t, template)
				}
				chain := []*x509.Certificate{certify(t, template, a.middle, csr.PublicKey, a.middleKey), a.middle}
				if tc.chain != nil {
					chain = tc.chain(a, chain[0])
				}
				return meshsync.Issued{Chain: chain}, nil
			}
			if tc.want == lbmodel.CodeOK {
				if pair := w.get(id); len(pair.Certificate) != 2 {
					t.Errorf("%d certificates, want leaf and intermediate: %s", len(pair.Certificate), tc.why)
				}
				return
			}
			if e := w.refused(id, tc.want); !strings.Contains(e.Error(), tc.says) {
				t.Errorf("%v, want %q: %s", e, tc.says, tc.why)
			}
		})
	}
}

// TestWaitsForItsTime: a certificate of a clock that is ahead is kept, and given when
// its time comes.
func TestWaitsForItsTime(t *testing.T) {
	w := newWorld(t)
	w.answer = func(ctx context.Context, r meshsync.Request) (meshsync.Issued, error) {
		w.pass(10 * time.Minute)
		defer w.pass(-10 * time.Minute)
		return w.sign(ctx, r)
	}
	// The CA dates back by two minutes, and the skew is one: seven are left.
	if e := w.refused(identity("g"), lbmodel.CodePending); e.RetryAfter != 5*time.Minute {
		t.Errorf("come again in %s, want the longest wait", e.RetryAfter)
	}
	w.pass(5 * time.Minute)
	if e := w.refused(identity("g"), lbmodel.CodePending); e.RetryAfter != 2*time.Minute {
		t.Errorf("come again in %s, want two minutes", e.RetryAfter)
	}
	w.pass(2 * time.Minute)
	w.get(identity("g"))
	if w.calls() != 1 {
		t.Errorf("%d certificates for one", w.calls())
	}
}

// TestRootsChange: roots are those of now, also for what is held.
func TestRootsChange(t *testing.T) {
	w := newWorld(t)
	roots := w.ring.config.Roots
	w.ring.config.Roots = func(string) []lbmodel.Root { return nil }
	w.refused(identity("g"), lbmodel.CodeUnresolved)
	if w.calls() != 0 {
		t.Error("a certificate was asked for that cannot be verified")
	}
	w.ring.config.Roots = roots
	old := w.get(identity("g"))
	w.do(w.ca.Drop("a"), w.ca.Add(ca.Root{Name: "b"}))
	if e := w.refused(identity("g"), lbmodel.CodeDenied); !strings.Contains(e.Error(), "does not verify under the 1 roots") {
		t.Error(e)
	}
	w.do(w.ca.SignBy("b"))
	if got := w.get(identity("g")); leafOf(got).SHA256 == leafOf(old).SHA256 {
		t.Error("a held certificate of a root that is gone was given")
	}
}
