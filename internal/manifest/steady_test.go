package manifest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const twoMaps = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"

// TestLoadSteady: a writer that empties the file, pauses and goes on is never
// caught half way.
func TestLoadSteady(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.yaml")
	write(t, path, twoMaps)
	ctx, stop := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		for ctx.Err() == nil {
			f, err := os.Create(path)
			if err != nil {
				t.Error(err)
				return
			}
			for _, half := range []string{twoMaps[:60], twoMaps[60:]} {
				time.Sleep(time.Millisecond)
				f.WriteString(half)
			}
			f.Close()
			time.Sleep(80 * time.Millisecond)
		}
	})
	defer writer.Wait()
	defer stop()
	whole := 0
	for range 15 {
		l, err := LoadSteady(t.Context(), Options{Paths: []string{path}, Cluster: "c"})
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Snapshot.ConfigMaps) != 2 && !l.Incomplete { // a writer that is held up for long may be caught empty-handed
			t.Fatalf("%d objects, %v: want both, always", len(l.Snapshot.ConfigMaps), l.Problems)
		}
		if !l.Incomplete {
			whole++
		}
		time.Sleep(17 * time.Millisecond) // to meet the writer in every phase
	}
	if whole < 10 {
		t.Errorf("%d of 15 readings were whole", whole)
	}
}

// TestLoadSteadyGone: a named file that is gone for a moment was being replaced;
// one that stays gone is told as what it is.
func TestLoadSteadyGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.yaml")
	var writer sync.WaitGroup
	writer.Go(func() {
		time.Sleep(60 * time.Millisecond)
		write(t, path, twoMaps)
	})
	l, err := LoadSteady(t.Context(), Options{Paths: []string{path}, Cluster: "c"})
	writer.Wait()
	if err != nil || len(l.Snapshot.ConfigMaps) != 2 {
		t.Fatalf("a file that came back: %v", err)
	}
	must(t, os.Remove(path))
	if _, err = LoadSteady(t.Context(), Options{Paths: []string{path}, Cluster: "c"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
}
