package manifest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	goyaml "sigs.k8s.io/yaml"

	"gatehouse.dev/internal/keypair"
	"gatehouse.dev/lbmodel"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// authority signs leaves for tests.
type authority struct {
	key  crypto.Signer
	cert *x509.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test Root"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: noon.Add(-time.Hour), NotAfter: noon.Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	return authority{key: key, cert: sign(t, template, template, key.Public(), key)}
}

func sign(t *testing.T, template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	return cert
}

func (a authority) leaf(t *testing.T, public crypto.PublicKey) *x509.Certificate {
	t.Helper()
	return sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, DNSNames: []string{"a.example"},
		URIs:      []*url.URL{{Scheme: "spiffe", Host: "td", Path: "/gw"}},
		NotBefore: noon.Add(-time.Hour), NotAfter: noon.Add(time.Hour),
	}, a.cert, public, a.key)
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func pkcs8(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	return pemOf("PRIVATE KEY", der)
}

func secretOf(crt, key []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "crt"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{"tls.crt": crt, "tls.key": key},
	}
}

// TestSplitSecret gives pairs in all the forms that tools write. Why this table:
// a pair that openssl takes must be taken; one that cannot be served must say why
// without a byte of the key.
func TestSplitSecret(t *testing.T) {
	ca := newAuthority(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	sec1, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	crt := pemOf("CERTIFICATE", ca.leaf(t, key.Public()).Raw)
	root := pemOf("CERTIFICATE", ca.cert.Raw)
	good := pkcs8(t, key)
	crlf := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) }
	tests := []struct {
		name     string
		crt, key []byte
		problem  string
		chain    int
		notes    int
	}{
		{name: "PKCS #8 ECDSA", crt: crt, key: good, chain: 1},
		{name: "SEC 1 with parameters", crt: crt, key: join2(pemOf("EC PARAMETERS", []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7}), pemOf("EC PRIVATE KEY", sec1)), chain: 1},
		{name: "PKCS #1 RSA", crt: pemOf("CERTIFICATE", ca.leaf(t, rsaKey.Public()).Raw), key: pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey)), chain: 1},
		{name: "Ed25519", crt: pemOf("CERTIFICATE", ca.leaf(t, edKey.Public()).Raw), key: pkcs8(t, edKey), chain: 1},
		{name: "CRLF, text around, byte order mark", crt: join2([]byte("\ufeff# from the CA\r\n"), crlf(crt), []byte("\r\ntrailing\r\n")), key: crlf(join2([]byte("key follows\n"), good)), chain: 1},
		{name: "chain", crt: join2(crt, root), key: good, chain: 2},
		{name: "chain in the wrong order", crt: join2(root, crt), key: good, problem: "tls.key is the key of certificate 2 in tls.crt: the leaf must stand first"},
		{name: "chain that does not chain", crt: join2(crt, crt), key: good, chain: 2, notes: 1},
		{name: "another key", crt: crt, key: pkcs8(t, edKey), problem: "tls.key does not belong to the certificate in tls.crt"},
		{name: "nothing", problem: "there is no tls.crt"},
		{name: "no key", crt: crt, problem: "there is no tls.key"},
		{name: "swapped", crt: good, key: crt, problem: "tls.crt has no CERTIFICATE block"},
		{name: "certificate as key", crt: crt, key: crt, problem: "tls.key has no PRIVATE KEY block"},
		{name: "not PEM", crt: []byte("MIIB"), key: good, problem: "tls.crt is not PEM: it has no -----BEGIN line"},
		{name: "PEM encoded twice", crt: []byte(base64.StdEncoding.EncodeToString(crt)), key: good, problem: "tls.crt is not PEM: it has no -----BEGIN line"},
		{name: "glued", crt: join2(bytes.TrimSpace(crt), root), key: good, problem: "tls.crt has 2 PEM blocks of which 2 cannot be read: each BEGIN and END stands on its own line, with base64 between"},
		{name: "cut short", crt: crt[:len(crt)/2], key: good, problem: "tls.crt has 1 PEM blocks of which 1 cannot be read: each BEGIN and END stands on its own line, with base64 between"},
		{name: "trusted", crt: pemOf("TRUSTED CERTIFICATE", ca.cert.Raw), key: good, problem: "tls.crt has a TRUSTED CERTIFICATE block, which only OpenSSL reads: write it as CERTIFICATE"},
		{name: "no certificate inside", crt: pemOf("CERTIFICATE", []byte("x")), key: good, problem: "certificate 1 of tls.crt cannot be parsed"},
		{name: "encrypted PKCS #8", crt: crt, key: pemOf("ENCRYPTED PRIVATE KEY", []byte("x")), problem: "tls.key is encrypted, and nobody is there to type the passphrase: store it decrypted"},
		{name: "encrypted the old way", crt: crt, key: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}, Bytes: sec1}), problem: "tls.key is encrypted, and nobody is there to type the passphrase: store it decrypted"},
		{name: "broken key", crt: crt, key: pemOf("PRIVATE KEY", []byte("x")), problem: "tls.key cannot be parsed as PRIVATE KEY"},
		{name: "a key of another trade", crt: crt, key: pemOf("OPENSSH PRIVATE KEY", []byte("x")), problem: "tls.key is of a kind that TLS does not use: RSA, ECDSA and Ed25519 keys are, in PKCS #1, SEC 1 or PKCS #8 form"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			split := splitSecret(secretOf(tt.crt, tt.key), noon)
			public, pair, notes := split.Public, split.Pair, split.notes
			if public.Problem != tt.problem {
				t.Errorf("problem is %q, want %q", public.Problem, tt.problem)
			}
			if (pair == nil) != (tt.problem != "") {
				t.Errorf("a pair was made: %v, beside the problem %q", pair != nil, public.Problem)
			}
			if pair != nil && len(pair.Certificate) != tt.chain {
				t.Errorf("the chain has %d certificates, want %d", len(pair.Certificate), tt.chain)
			}
			if len(notes) != tt.notes {
				t.Errorf("notes are %v, want %d", notes, tt.notes)
			}
		})
	}
}

func join2(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestLeafFacts(t *testing.T) {
	ca := newAuthority(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	cert := ca.leaf(t, key.Public())
	secret := secretOf(pemOf("CERTIFICATE", cert.Raw), pkcs8(t, key))
	secret.Data["ca.crt"] = []byte("roots")
	public := splitSecret(secret, noon).Public
	want := &lbmodel.Leaf{
		SHA256: keypair.LeafOf(cert).SHA256, NotBefore: noon.Add(-time.Hour), NotAfter: noon.Add(time.Hour),
		DNSNames: []string{"a.example"}, URIs: []string{"spiffe://td/gw"}, Issuer: "CN=Test Root", KeyType: "ECDSA",
		Authority: hex.EncodeToString(ca.cert.SubjectKeyId),
	}
	if d := cmp.Diff(want, public.Leaf); d != "" {
		t.Errorf("leaf (-want +got):\n%s", d)
	}
	if public.CA != "roots" {
		t.Errorf("CA is %q: ca.crt is passed on as it is", public.CA)
	}
	for when, word := range map[time.Time]string{noon.Add(2 * time.Hour): "ended on", noon.Add(-2 * time.Hour): "begins only on"} {
		split := splitSecret(secret, when)
		if split.Pair == nil || len(split.notes) != 1 || !strings.Contains(split.notes[0].message, word) {
			t.Errorf("at %v: notes %v, pair %v; want one note with %q, and the pair all the same", when, split.notes, split.Pair != nil, word)
		}
	}
}

func TestKeyring(t *testing.T) {
	ca := newAuthority(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	loaded := loadSecret(t, secretOf(pemOf("CERTIFICATE", ca.leaf(t, key.Public()).Raw), pkcs8(t, key)))
	source := lbmodel.Source{Kind: "Secret", Namespace: "apps", Name: "crt"}
	// Why this table: the ring is asked by whoever applies a plan, perhaps one that
	// was made before the files changed.
	tests := []struct {
		name string
		id   lbmodel.Identity
		code lbmodel.Code
	}{
		{name: "the pair", id: lbmodel.Identity{Source: source, Issuer: lbmodel.IssuerSecret, Leaf: loaded.Snapshot.Secrets[0].Leaf}},
		{name: "whatever it is", id: lbmodel.Identity{Source: source, Issuer: lbmodel.IssuerSecret}},
		{name: "another leaf", id: lbmodel.Identity{Source: source, Issuer: lbmodel.IssuerSecret, Leaf: &lbmodel.Leaf{SHA256: "00"}}, code: lbmodel.CodeConflict},
		{name: "another Secret", id: lbmodel.Identity{Source: lbmodel.Source{Kind: "Secret", Namespace: "apps", Name: "no"}, Issuer: lbmodel.IssuerSecret}, code: lbmodel.CodeUnresolved},
		{name: "another issuer", id: lbmodel.Identity{Source: source, Issuer: "Mesh"}, code: lbmodel.CodeUnsupported},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pair, err := loaded.Keys.Keyring()(t.Context(), tt.id)
			if got := lbmodel.CodeOf(err); got != tt.code {
				t.Errorf("code is %v (%v), want %v", got, err, tt.code)
			}
			if (err == nil) != (pair.PrivateKey != nil) {
				t.Error("a key came with an error, or none without")
			}
		})
	}
}

// loadSecret reads a Secret through the front door.
func loadSecret(t *testing.T, secret *corev1.Secret) *Loaded {
	t.Helper()
	secret.APIVersion, secret.Kind = "v1", "Secret"
	text, err := goyaml.Marshal(secret)
	must(t, err)
	path := filepath.Join(t.TempDir(), "s.yaml")
	write(t, path, string(text))
	loaded, err := Load(t.Context(), Options{Paths: []string{path}, Now: noon})
	must(t, err)
	if len(loaded.Problems) > 0 {
		t.Fatalf("problems: %v", texts(loaded.Problems))
	}
	return loaded
}

// TestNoKeyIsShown prints a result in every way that Go knows, and looks for the
// key in it.
func TestNoKeyIsShown(t *testing.T) {
	ca := newAuthority(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	text := pkcs8(t, key)
	loaded := loadSecret(t, secretOf(pemOf("CERTIFICATE", ca.leaf(t, key.Public()).Raw), text))
	raw, err := key.Bytes()
	must(t, err)
	needles := []string{
		strings.Split(string(text), "\n")[1], base64.StdEncoding.EncodeToString(text)[:40],
		fmt.Sprintf("%x", raw), fmt.Sprintf("%X", raw), strings.Trim(fmt.Sprintf("%d", raw), "[]"), new(big.Int).SetBytes(raw).String(),
	}
	encoded, err := json.Marshal(loaded)
	must(t, err)
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "keys", loaded.Keys, "loaded", loaded)
	asYAML, err := goyaml.Marshal(loaded)
	must(t, err)
	shown := []string{string(encoded), logged.String(), string(asYAML), cmp.Diff(loaded.Keys, (*Keys)(nil), cmp.AllowUnexported(Keys{}))}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, loaded), fmt.Sprintf(verb, *loaded), fmt.Sprintf(verb, loaded.Keys), fmt.Sprintf(verb, *loaded.Keys))
	}
	for _, s := range shown {
		for _, needle := range needles {
			if strings.Contains(s, needle) {
				t.Errorf("key bytes are shown in %.200q", s)
			}
		}
	}
	if got := fmt.Sprintf("%d", loaded.Keys); got != "Keys(1, redacted)" {
		t.Errorf("Keys print as %q", got)
	}
}
