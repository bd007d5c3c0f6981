package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What is in the tree is what the pinned module gives: nobody edited it, and nobody
// forgot `make generate`.
func TestDefinitionsAreGenerated(t *testing.T) {
	out := t.TempDir()
	if err := run(out); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(out)
	if err != nil || len(files) != len(served)+1 {
		t.Fatalf("%d files, want one of each API and a README: %v", len(files), err)
	}
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join(out, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", "definitions", f.Name()))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is out of date (%v): run make generate", f.Name(), err)
		}
	}
}
