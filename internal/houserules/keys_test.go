package houserules

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// exampleKeys is the one file with private keys; docs/decisions/0010 says why.
const exampleKeys = "examples/shop/certificates.yaml"

// TestNoPrivateKeys looks for keys in every tracked or new file that is not Go
// source (tests make theirs when they run): as PEM, and as base64 of PEM in each
// of its three alignments.
func TestNoPrivateKeys(t *testing.T) {
	// Written in parts, so that this file is not a finding of other scanners.
	marks := [][]byte{[]byte("PRIVATE" + " KEY-----"), []byte("UFJJVkFUR" + "SBLRVkt"), []byte("BSSVZBVE" + "UgS0VZL"), []byte("QUklWQVRF" + "IEtFWS")}
	root := filepath.Join("..", "..")
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if name == exampleKeys || filepath.Ext(name) == ".go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, mark := range marks {
			if bytes.Contains(text, mark) {
				t.Errorf("%s holds a private key: keys are made when a test runs, never committed", name)
			}
		}
	}
}
