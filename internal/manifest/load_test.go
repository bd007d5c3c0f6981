package manifest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"gatehouse.dev/internal/translate"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestLoad reads each folder of testdata/load and compares what came of it with
// want.txt: objects, problems, warnings and what was passed over. Each folder
// says in its first file why it is there. Where there is a want.json, the objects
// are compared in full.
func TestLoad(t *testing.T) {
	schemas := new(Schemas)
	folders, err := filepath.Glob(filepath.Join("testdata", "load", "*"))
	must(t, err)
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			loaded, err := Load(t.Context(), Options{Paths: []string{folder}, Cluster: "test", Schemas: schemas})
			must(t, err)
			golden(t, filepath.Join(folder, "want.txt"), strings.ReplaceAll(summary(loaded), folder+string(filepath.Separator), ""))
			if full := filepath.Join(folder, "want.snapshot"); exists(full) {
				golden(t, full, encode(t, loaded.Snapshot))
			}
		})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got; -update rewrites):\n%s", path, d)
	}
}

func summary(l *Loaded) string {
	var b strings.Builder
	section := func(name string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "%s:\n  %s\n", name, strings.Join(lines, "\n  "))
		}
	}
	section("objects", objects(l.Snapshot))
	section("problems", texts(l.Problems))
	section("warnings", texts(l.Warnings))
	var skipped, bad []string
	for _, k := range l.Skipped {
		line := fmt.Sprintf("%d %s %s, first at %s", k.Count, k.APIVersion, k.Kind, k.First)
		if k.Checked {
			line += ", checked"
		}
		skipped = append(skipped, line)
	}
	for _, s := range l.Bad {
		bad = append(bad, s.String())
	}
	section("skipped", skipped)
	section("bad", bad)
	fmt.Fprintf(&b, "incomplete: %v\n", l.Incomplete)
	return b.String()
}

// objects lists a Snapshot's objects by kind, namespace and name.
func objects(s translate.Snapshot) []string {
	var out []string
	for _, k := range kinds() {
		if k.add == nil {
			continue
		}
		for _, name := range namesIn(s, k.name) {
			out = append(out, k.name+" "+name)
		}
	}
	return out
}

// namesIn reads the names of a kind from the Snapshot's JSON, so that the test
// does not depend on the table that it tests.
func namesIn(s translate.Snapshot, kind string) []string {
	fields := map[string]string{
		"GatewayParameters": "Parameters", "BackendTLSPolicy": "BackendTLSPolicies", "XBackend": "Backends",
		"GatewayClass": "GatewayClasses", "ClusterTrustBundle": "TrustBundles",
	}
	field := fields[kind]
	if field == "" {
		field = kind + "s"
	}
	text, _ := json.Marshal(s)
	var lists map[string]json.RawMessage
	_ = json.Unmarshal(text, &lists)
	var all []struct {
		Namespace, Name string // of a Secret
		Metadata        struct{ Namespace, Name string }
	}
	_ = json.Unmarshal(lists[field], &all)
	var out []string
	for _, o := range all {
		out = append(out, strings.Trim(o.Namespace+o.Metadata.Namespace+"/"+o.Name+o.Metadata.Name, "/"))
	}
	return out
}

// encode prints the lists of a Snapshot that are not empty, as YAML.
func encode(t *testing.T, s translate.Snapshot) string {
	t.Helper()
	text, err := json.Marshal(s)
	must(t, err)
	var lists map[string]any
	must(t, json.Unmarshal(text, &lists))
	for name, list := range lists {
		if list == nil || list == false {
			delete(lists, name)
		}
	}
	out, err := yaml.Marshal(lists)
	must(t, err)
	return string(out)
}

// TestOrderOfDocuments shuffles the documents of a file: the Snapshot must not
// change, or plans would.
func TestOrderOfDocuments(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "load", "defaults", "all.yaml"))
	must(t, err)
	documents := strings.Split(string(text), "\n---\n")
	schemas := new(Schemas)
	want := ""
	for i := range len(documents) {
		turned := slices.Concat(documents[i:], documents[:i])
		loaded, err := Load(t.Context(), Options{
			Paths: []string{"-"}, Stdin: strings.NewReader(strings.Join(turned, "\n---\n")), Schemas: schemas,
		})
		must(t, err)
		got := encode(t, loaded.Snapshot)
		if i == 0 {
			want = got
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("turned by %d documents the Snapshot differs:\n%s", i, d)
		}
	}
}

// TestManyFaults holds that an object with countless faults costs a moment and a
// screenful.
func TestManyFaults(t *testing.T) {
	var text strings.Builder
	text.WriteString(named("a", "one"))
	for i := range 20_000 {
		fmt.Fprintf(&text, "unknown%d: x\n", i)
	}
	loaded, err := Load(t.Context(), Options{Paths: []string{"-"}, Stdin: strings.NewReader(text.String())})
	must(t, err)
	if n := len(loaded.Problems); n > maxFaults+1 {
		t.Errorf("%d problems are told", n)
	}
	if last := loaded.Problems[0].String(); !strings.Contains(last, "more faults") {
		t.Errorf("nothing says that there are more: %s", last)
	}
}

// TestBatches decodes after every file instead of at the end: large inputs are
// read so, and must mean the same.
func TestBatches(t *testing.T) {
	o := Options{Paths: []string{filepath.Join("testdata", "load")}, Schemas: new(Schemas)}
	whole, err := Load(t.Context(), o)
	must(t, err)
	l := newLoader(o)
	l.batch = 1
	must(t, l.read(t.Context()))
	l.assemble()
	parts, err := l.finish()
	must(t, err)
	if d := cmp.Diff(summary(whole), summary(parts)); d != "" {
		t.Errorf("in batches (-whole +parts):\n%s", d)
	}
	if d := cmp.Diff(encode(t, whole.Snapshot), encode(t, parts.Snapshot)); d != "" {
		t.Errorf("in batches (-whole +parts):\n%s", d)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Load(ctx, Options{Paths: []string{"-"}, Stdin: strings.NewReader(named("a", "one"))})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want the context's", err)
	}
}

func TestDefaultNamespace(t *testing.T) {
	loaded, err := Load(t.Context(), Options{
		Paths: []string{"-"}, Stdin: strings.NewReader(named("a", "one")), DefaultNamespace: "team",
	})
	must(t, err)
	if got := loaded.Snapshot.ConfigMaps[0].Namespace; got != "team" {
		t.Errorf("namespace is %q, want the default that was asked for", got)
	}
	namespace := loaded.Snapshot.Namespaces[0]
	if namespace.Name != "team" || namespace.Labels["kubernetes.io/metadata.name"] != "team" {
		t.Errorf("the namespace of an object is %v, want it with its name label", namespace.ObjectMeta)
	}
}

// BenchmarkLoadCold is the first load of a folder of 24 documents, by a process
// that has compiled nothing yet.
func BenchmarkLoadCold(b *testing.B) {
	dir := b.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", "load", "defaults", "all.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	for i := range 4 {
		mine := strings.ReplaceAll(string(text), "apps", fmt.Sprintf("apps-%d", i))
		mine = strings.ReplaceAll(mine, "{name: web}", fmt.Sprintf("{name: web-%d}", i))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", i)), []byte(mine), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		load(b, Options{Paths: []string{dir}})
	}
}

// BenchmarkLoadWarm is every further load of the same folder.
func BenchmarkLoadWarm(b *testing.B) {
	o := Options{Paths: []string{filepath.Join("testdata", "load", "defaults")}, Schemas: new(Schemas)}
	load(b, o)
	for b.Loop() {
		load(b, o)
	}
}

func load(b *testing.B, o Options) {
	b.Helper()
	loaded, err := Load(b.Context(), o)
	if err != nil || len(loaded.Problems) > 0 {
		b.Fatal(err, loaded.Problems)
	}
}
