package mesh

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json/v2"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gatehouse.dev/fake/mesh/signing"
	"gatehouse.dev/internal/standalone"
	"gatehouse.dev/lbmodel"
)

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// keys are the private keys that were made during a test.
type keys struct {
	mu  sync.Mutex
	all []*ecdsa.PrivateKey
}

func (k *keys) add(pair tls.Certificate) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if key, ok := pair.PrivateKey.(*ecdsa.PrivateKey); ok {
		k.all = append(k.all, key)
	}
}

// check wants no form of any key in what was said. Every test of this package ends
// with it.
func (k *keys) check(t *testing.T, said *paper) {
	t.Helper()
	if found := k.find(t, said); len(found) > 0 {
		t.Errorf("private keys were told to somebody, as %v", found)
	}
}

// find are the forms in which keys are in what was said.
func (k *keys) find(t *testing.T, said *paper) (found []string) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	said.mu.Lock()
	defer said.mu.Unlock()
	for _, key := range k.all {
		for name, form := range forms(t, key) {
			if bytes.Contains(said.text.Bytes(), form) {
				found = append(found, name)
			}
		}
	}
	return found
}

// TestSilent renews a certificate and fails to, keeps everything that is told to
// anybody meanwhile, and finds no key in it. That it would find one is tried too.
func TestSilent(t *testing.T) {
	w := withPods(t, istioMesh(), options{})
	w.settle()
	w.works("joined")
	w.issuers.desk().Break(signing.WrongName, 0)
	w.clock.pass(17 * time.Hour)
	renewing(w)
	w.pass()
	w.issuers.desk().Mend()
	w.settle()
	w.said.folder(t, w.options.stateDir)
	text := w.said.text.String()
	for _, part := range []string{"sa/gatehouse-", "Denied", "Joined", "MeshBinding/mesh", "BEGIN CERTIFICATE", `"notAfter"`} {
		if !strings.Contains(text, part) {
			t.Errorf("nothing that was kept has %q: not all was kept", part)
		}
	}
	if n := len(w.made.all); n < *podsFor+2 {
		t.Fatalf("%d keys were made, want those of the pods and two of the gateway", n)
	}
	for name, form := range forms(t, w.made.all[0]) {
		var leak paper
		fmt.Fprintf(&leak, "before %s after", form)
		if found := w.made.find(t, &leak); !slices.Contains(found, name) {
			t.Errorf("a key that is told as %s is not found", name)
		}
	}
}

// forms are the ways in which a key could be written down.
func forms(t *testing.T, key *ecdsa.PrivateKey) map[string][]byte {
	t.Helper()
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	scalar, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	line := func(der []byte) []byte {
		return bytes.Split(pem.EncodeToMemory(&pem.Block{Type: "KEY", Bytes: der}), []byte("\n"))[1]
	}
	return map[string][]byte{
		"PKCS#8": pkcs8, "SEC 1": sec1, "bytes": scalar,
		"PKCS#8 in PEM": line(pkcs8), "SEC 1 in PEM": line(sec1),
		"base64": []byte(base64.StdEncoding.EncodeToString(scalar)), "hex": []byte(hex.EncodeToString(scalar)),
		"HEX": []byte(fmt.Sprintf("%X", scalar)), "decimal": []byte(new(big.Int).SetBytes(scalar).String()),
		"a Go value": fmt.Append(nil, scalar),
	}
}

// paper is all that was told to anybody: logs, plans, statuses, errors, files.
type paper struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// passed takes what a pass leaves: its plan as text and as JSON, statuses, errors.
func (p *paper) passed(passed standalone.Passed) {
	fmt.Fprintf(p, "%+v %v\n", passed.Plan, lbmodel.PrintPlan(p, passed.Plan, lbmodel.Plain))
	for _, v := range []any{passed.Plan, passed.Patches} {
		text, err := json.Marshal(v)
		fmt.Fprintf(p, "%s %v\n", text, err)
	}
	for id, err := range passed.Failed {
		fmt.Fprintf(p, "%v %v %+v %#v\n", id, err, err, err)
	}
}

// folder takes all files of a folder; "" is none.
func (p *paper) folder(t *testing.T, dir string) {
	t.Helper()
	if dir == "" {
		return
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			_, err = p.Write(text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
