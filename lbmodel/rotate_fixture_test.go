package lbmodel

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// authority is a root to be made. Its key is the first letter of its name.
type authority struct {
	name, subject string
	begins, until time.Time
	pathLength    int
}

// authorities are keys by letter.
type authorities map[byte]*ecdsa.PrivateKey

func (k authorities) key(t testing.TB, name string) *ecdsa.PrivateKey {
	t.Helper()
	if k[name[0]] == nil {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		k[name[0]] = key
	}
	return k[name[0]]
}

func (k authorities) make(t testing.TB, a authority) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(a.name))), Subject: pkix.Name{CommonName: a.subject}, NotBefore: a.begins, NotAfter: a.until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, MaxPathLen: a.pathLength, MaxPathLenZero: a.pathLength == 0,
	}
	return k.sign(t, template, template, a.name)
}

// leaf is a certificate that a root has signed.
func (k authorities) leaf(t testing.TB, root *x509.Certificate, name string) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(7), NotBefore: root.NotBefore, NotAfter: root.NotAfter, DNSNames: []string{"a.test"}}
	return k.sign(t, template, root, name)
}

func (k authorities) sign(t testing.TB, template, parent *x509.Certificate, name string) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, k.key(t, name).Public(), k.key(t, name))
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// rotationRoots are roots by name.
type rotationRoots map[string]Root

func newRotationRoots(t testing.TB) rotationRoots {
	t.Helper()
	ago, soon := midnight.AddDate(-1, 0, 0), midnight.Add(24*time.Hour)
	year, years := midnight.AddDate(1, 0, 0), midnight.AddDate(2, 0, 0)
	out, keys := rotationRoots{}, authorities{}
	for _, a := range []authority{
		{"A", "ca", ago, year, 0},
		{"A2", "ca", midnight.Add(-time.Hour), years, 0},
		{"A3", "ca", soon, years, 0},                       // not valid yet
		{"A4", "ca", midnight.Add(-time.Hour), soon, 0},    // ends sooner
		{"A5", "ca", midnight.Add(-time.Hour), years, 1},   // another path length
		{"A6", "name", midnight.Add(-time.Hour), years, 0}, // another name
		{"B", "ca", ago, year, 0},
		{"S", "ca", ago, midnight.Add(2 * time.Hour), 0}, // ends soon
		{"X", "ca", ago, midnight.Add(-time.Hour), 0},    // has ended
	} {
		out[a.name] = newRoot(keys.make(t, a))
	}
	return out
}

// set reads "A B@3h": roots by name, and since when one is dropped.
func (r rotationRoots) set(t testing.TB, text string) []Root {
	t.Helper()
	var out []Root
	for _, word := range strings.Fields(text) {
		name, after, dropped := strings.Cut(word, "@")
		root, ok := r[name]
		if !ok {
			t.Fatalf("there is no root %q", name)
		}
		if dropped {
			d, err := time.ParseDuration(after)
			if err != nil {
				t.Fatal(err)
			}
			root.Dropped = midnight.Add(d)
		}
		out = append(out, root)
	}
	return sortRoots(out)
}

// tell is set the other way, by name.
func (r rotationRoots) tell(roots []Root) string {
	var out []string
	for name, known := range r {
		for _, root := range roots {
			switch {
			case known.SHA256 != root.SHA256:
			case root.Dropped.IsZero():
				out = append(out, name)
			default:
				out = append(out, name+"@"+root.Dropped.Sub(midnight).String())
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
