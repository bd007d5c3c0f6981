package manifest

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDefinitions holds that every definition we read is complete: its version
// of our Go types is served and its rules compile.
func TestDefinitions(t *testing.T) {
	schemas := new(Schemas)
	for _, k := range index(nil) {
		if k.file == "" {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			d, err := schemas.definition(k.file)
			must(t, err)
			if !slices.Contains(d.served, k.hub) {
				t.Errorf("served are %v, without %s, which our type is", d.served, k.hub)
			}
			for name, v := range d.versions {
				if _, err := v.schema(); err != nil {
					t.Errorf("schema of %s: %v", name, err)
				}
				// A rule that does not compile fails on every object, also an empty one.
				errs, _ := v.validate(t.Context(), map[string]any{})
				for _, e := range errs {
					if e.Type == "InternalError" {
						t.Errorf("rules of %s: %v", name, e)
					}
				}
			}
		})
	}
}

// TestSchemasAreShared loads from many goroutines, as a controller and its
// watcher may.
func TestSchemasAreShared(t *testing.T) {
	schemas := new(Schemas)
	paths := []string{"testdata/load/defaults", "testdata/load/rules"}
	results := make([]string, 4)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			loaded, err := Load(t.Context(), Options{Paths: paths, Schemas: schemas})
			if err == nil {
				results[i] = summary(loaded)
			}
		})
	}
	group.Wait()
	for _, r := range results[1:] {
		if d := cmp.Diff(results[0], r); d != "" || r == "" {
			t.Fatalf("two loads of one folder differ:\n%s", d)
		}
	}
}
