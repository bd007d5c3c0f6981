package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLoad reads arbitrary text as one file of manifests. It must never panic,
// must place every problem inside the file, and must either take an object or
// say that something is missing.
func FuzzLoad(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "load", "*", "*.*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range seeds {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(laughs())
	f.Add("%YAML 1.1\n---\n\ufeffa: &a [*a]\n...\n{\"a\":\t1}\n")
	f.Add(configMap + "data: {<<: [&x {v: !!binary b25l}, *x]}\n")
	schemas := new(Schemas)
	limits := Limits{Values: 20_000, FileBytes: 1 << 16}
	f.Fuzz(func(t *testing.T, text string) {
		loaded, err := Load(t.Context(), Options{
			Paths: []string{"-"}, Stdin: strings.NewReader(text), Schemas: schemas, Limits: limits,
		})
		if err != nil {
			t.Fatalf("one file alone stopped everything: %v", err)
		}
		lines := 2
		for _, r := range text {
			if strings.ContainsRune("\r\n\u0085\u2028\u2029", r) { // where YAML 1.1 ends a line
				lines++
			}
		}
		for _, p := range loaded.Problems {
			if p.Line > lines || p.Message == "" {
				t.Errorf("problem %q is outside a file of %d lines", p, lines)
			}
			if strings.Contains(p.Message, "gave up") {
				t.Errorf("a panic was caught: %s", p)
			}
		}
		if len(loaded.Problems) > 0 && !loaded.Incomplete {
			t.Error("problems in a document, and yet nothing is missing")
		}
	})
}

// FuzzPair reads arbitrary text as a certificate and a key.
func FuzzPair(f *testing.F) {
	f.Add("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n")
	f.Add("\ufeff# text\r\n-----BEGIN ", "-----BEGIN EC PARAMETERS-----\n-----END EC PARAMETERS-----\n")
	f.Fuzz(func(t *testing.T, crt, key string) {
		split := splitSecret(secretOf([]byte(crt), []byte(key)), noon)
		if (split.Pair == nil) != (split.Public.Problem != "") {
			t.Errorf("pair %v beside problem %q", split.Pair != nil, split.Public.Problem)
		}
		if len(key) > 30 && strings.Contains(split.Public.Problem, strings.TrimSpace(key)) {
			t.Error("the problem quotes the key")
		}
	})
}
