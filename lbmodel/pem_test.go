package lbmodel

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testCert is a self-signed certificate in PEM.
func testCert(t testing.TB, name string, change func(*x509.Certificate)) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(1e9, 0), NotAfter: time.Unix(2e9, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func withPEMHeaders(text string) string {
	return strings.Replace(text, "CERTIFICATE-----\n", "CERTIFICATE-----\nlabel: root\ntrust: all\n\n", 1)
}

func mustParseRoots(t testing.TB, text string) []Root {
	t.Helper()
	roots, err := ParseRoots([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return roots
}

func TestC39SeveralRootsWithTextAround(t *testing.T) {
	r1, r2 := testCert(t, "r1", nil), testCert(t, "r2", nil)
	clean := mustParseRoots(t, r1+r2)
	if len(clean) != 2 {
		t.Fatalf("%d roots, want both", len(clean))
	}
	const p11 = "[p11-kit-object-v1]\nlabel: \"r2\"\ntrusted: true\n"
	const why = "text, headers, order and repetition are not part of a bundle"
	for _, c := range []struct{ name, text string }{
		{"as a mesh writes it", "# old root\n" + withPEMHeaders(r1) + p11 + r2 + "the end"},
		{"swapped", r2 + r1},
		{"another comment", "# very old root\n" + r1 + r2},
		{"twice", r1 + r2 + r1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(clean, mustParseRoots(t, c.text)); diff != "" {
				t.Errorf("differs from the clean bundle (-want +got): %s\n%s", why, diff)
			}
		})
	}
}

func TestC40LineEndsAndGluedBlocks(t *testing.T) {
	r1, r2 := testCert(t, "r1", nil), testCert(t, "r2", nil)
	clean := mustParseRoots(t, r1+r2)
	twice := base64.StdEncoding.EncodeToString([]byte(r2))
	const why = "a bundle is parsed whole or refused with the reason and the place; never is its first certificate taken for all"
	for _, c := range []struct{ name, text, refusal string }{
		{"CRLF", strings.ReplaceAll(r1+r2, "\n", "\r\n"), ""},
		{"no final newline", strings.TrimSpace(r1 + r2), ""},
		{"three final newlines", r1 + r2 + "\n\n", ""},
		{"byte order mark", "\uFEFF" + r1 + r2, ""},
		{"glued", strings.TrimSpace(r1) + r2, ""},
		{"glued with CRLF", strings.TrimSpace(r1) + strings.ReplaceAll(r2, "\n", "\r\n"), ""},
		{"text in front on the line", "r1: " + r1 + r2, ""},
		{"trusted", r1 + strings.ReplaceAll(r2, " CERTIFICATE", " TRUSTED CERTIFICATE"), "TRUSTED CERTIFICATE"},
		{"encoded twice", base64.StdEncoding.EncodeToString([]byte(r1 + r2)), "offset 0 (line 1): PEM that was base64-encoded once more"},
		{"second encoded twice", r1 + twice, "base64-encoded once more"},
		{"indented", r1 + strings.ReplaceAll(r2, "\n", "\n  "), "not valid PEM"},
		{"cut off", r1 + r2[:len(r2)-30], "not valid PEM"},
		{"old Mac line ends", strings.ReplaceAll(r1, "\n", "\r"), "not valid PEM"},
		{"broken base64", r1 + strings.Replace(r2, "MII", "M!I", 1), "not valid PEM"},
		{"broken certificate", r1 + strings.Replace(r2, "MIIB", "MIID", 1), "cannot be parsed"},
		{"lost BEGIN", r1 + strings.Replace(r2, "-----BEGIN", "----BEGIN", 1), "2 blocks end but only 1 begin"},
		{"only BEGIN", r1 + "-----BEGIN ", "not valid PEM"},
		{"nothing", "", "no PEM block"},
		{"text only", "none yet", "no PEM block"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseRoots([]byte(c.text))
			switch {
			case c.refusal == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.refusal == "":
				if diff := cmp.Diff(clean, got); diff != "" {
					t.Errorf("differs from the clean bundle (-want +got): %s\n%s", why, diff)
				}
			case err == nil || !strings.Contains(err.Error(), c.refusal) || got != nil:
				t.Errorf("got %d roots and error %v, want a refusal with %q: %s", len(got), err, c.refusal, why)
			}
		})
	}
}

func TestParseRootsRefusesByName(t *testing.T) {
	root := testCert(t, "root", nil)
	leaf := testCert(t, "shop.test", func(c *x509.Certificate) { c.IsCA = false })
	silent := testCert(t, "self", func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = false, false })
	key := "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\n"
	const why = "a refusal says which certificate, where and what to do instead"
	for _, c := range []struct{ name, text, want string }{
		{"leaf", root + leaf, `the certificate "CN=shop.test" is not a CA`},
		{"leaf that signed itself", silent, `the certificate "CN=self" is not a CA`},
		{"place", "# a\n# b\n" + leaf, "offset 8 (line 3)"},
		{"private key", root + key, "private key"},
		{"another type", root + strings.ReplaceAll(root, " CERTIFICATE", " X509 CRL"), `"X509 CRL"`},
		{"too long", root + strings.Repeat("#", MaxRootsText), "1048576"},
		{"too many", strings.Repeat(pemBegin+"\n", MaxRoots+1), "512"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseRoots([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want one with %q: %s", err, c.want, why)
			}
			if err != nil && strings.Contains(err.Error(), "MHcCAQEE") {
				t.Error("the error quotes key material")
			}
		})
	}
}

func TestParseRootsFacts(t *testing.T) {
	expired := mustParseRoots(t, testCert(t, "gone", func(c *x509.Certificate) { c.NotAfter = time.Unix(1e9+60, 0) }))
	if len(expired) != 1 || !expired[0].NotAfter.Equal(time.Unix(1e9+60, 0)) {
		t.Errorf("an expired root must stay, with its date: %+v", expired)
	}
	root := mustParseRoots(t, testCert(t, "r", nil))[0]
	block, rest := pem.Decode([]byte(root.PEM))
	if block == nil || len(rest) != 0 || len(block.Headers) != 0 {
		t.Fatalf("PEM is not one plain block: %q", root.PEM)
	}
	if root.SHA256 != hexSHA256(block.Bytes) || len(root.SPKI) != 64 || root.Subject != "CN=r" {
		t.Errorf("facts = %+v", root)
	}
}

func FuzzParseRoots(f *testing.F) {
	root := testCert(f, "r", nil)
	for _, seed := range []string{root, "\uFEFF" + strings.TrimSpace(root) + root, withPEMHeaders(root), "-----BEGIN ", "LS0tLS1CRUdJTi", strings.ReplaceAll(root, "\n", "\r\n")} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		roots, err := ParseRoots(text)
		if err != nil {
			return
		}
		if len(roots) == 0 || len(roots) > bytes.Count(text, []byte(pemBegin)) {
			t.Fatalf("%d roots from %d blocks", len(roots), bytes.Count(text, []byte(pemBegin)))
		}
		var joined strings.Builder
		for _, r := range slices.Backward(roots) {
			joined.WriteString(r.PEM)
		}
		again, err := ParseRoots([]byte(joined.String()))
		if diff := cmp.Diff(roots, again); err != nil || diff != "" {
			t.Errorf("what was made of the text is not stable: %v\n%s", err, diff)
		}
	})
}
