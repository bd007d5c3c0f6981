package gcp

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"gatehouse.dev/lbmodel"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestCompile compares what a gateway compiles to. Each folder of testdata has a
// gateway.yaml, whose first comment says why the case is there, and the graph.json of
// it: one resource a line, then the findings.
func TestCompile(t *testing.T) {
	for _, path := range goldens(t) {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			got := graphText(Compiler{}.Compile(readGateway(t, path)))
			golden := filepath.Join(dir, "graph.json")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func goldens(t *testing.T) []string {
	t.Helper()
	out, err := filepath.Glob("testdata/*/gateway.yaml")
	if err != nil || len(out) == 0 {
		t.Fatal("there are no cases", err)
	}
	return out
}

func readGateway(t *testing.T, path string) lbmodel.Gateway {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, []byte("# ")) {
		t.Errorf("%s does not begin with a comment that says why it is there", path)
	}
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(path, err)
	}
	gw, err := lbmodel.DecodeJSON([]byte(encode(tree)))
	if err != nil {
		t.Fatal(path, err)
	}
	return gw
}

// graphText is a compiled graph as a golden file.
func graphText(own, shared lbmodel.Graph, findings []lbmodel.Finding) []byte {
	all := maps.Clone(own)
	maps.Copy(all, shared)
	var out bytes.Buffer
	out.WriteString("[\n")
	for _, id := range slices.SortedFunc(maps.Keys(all), lbmodel.ID.Compare) {
		r := all[id]
		line := struct {
			ID   string       `json:"id"`
			Hold string       `json:"hold"`
			Slot string       `json:"slot,omitzero"`
			Spec lbmodel.Spec `json:"spec"`
		}{ID: id.String(), Hold: r.Hold.String(), Spec: r.Spec}
		if s, ok := r.Spec.(lbmodel.Slotted); ok {
			line.Slot = s.Slot()
		}
		out.WriteString(encode(line) + ",\n")
	}
	for _, f := range findings {
		out.WriteString(encode(f) + ",\n")
	}
	out.WriteString("null\n]\n")
	return out.Bytes()
}

// Why: every reference must lead somewhere, or a plan waits for ever; and nothing may
// wait for itself. With settings that cannot be read as well: nothing may panic.
func TestReferencesLeadSomewhere(t *testing.T) {
	for _, path := range goldens(t) {
		gw := readGateway(t, path)
		for _, section := range []string{string(gw.Settings), "", "{", `{"project":7,"flavour":"RegionalInternal"}`, `{"flavour":"CrossRegionInternal"}`} {
			gw.Settings = json.RawMessage(section)
			own, shared, _ := Compiler{}.Compile(gw)
			all := maps.Clone(own)
			maps.Copy(all, shared)
			for id, r := range all {
				for _, need := range r.Spec.Needs() {
					if _, ok := all[need]; !ok {
						t.Errorf("%s, %q: %s needs %s, which is not there", path, section, id, need)
					}
				}
			}
			if plan, err := lbmodel.Diff(all, lbmodel.Graph{}, lbmodel.Graph{}); err != nil || len(plan.Steps) == 0 {
				t.Errorf("%s, %q: %v, %d steps", path, section, err, len(plan.Steps))
			}
		}
	}
}

// Why: the fast path attaches what a whole pass would, and opens its ports.
func TestEndpointsAreThatPartOfCompile(t *testing.T) {
	seen := map[string]int{}
	for _, path := range goldens(t) {
		gw := readGateway(t, path)
		own, shared, _ := Compiler{}.Compile(gw)
		for _, p := range gw.Pools {
			for id, r := range (Compiler{}).Endpoints(gw.Owner, p, gw.Settings) {
				seen[id.Kind]++
				whole := shared[id]
				if whole.Digest != r.Digest || whole.Owner != r.Owner || whole.Hold != r.Hold || whole.Handle != r.Handle {
					t.Errorf("%s: pool %s, %s: %s", path, p.Name, id, cmp.Diff(encode(whole.Spec), encode(r.Spec)))
				}
				if _, ok := own[id]; ok {
					t.Errorf("%s is the gateway's own", id)
				}
			}
		}
	}
	if seen[KindNetworkEndpoints] == 0 || seen[KindFirewall] == 0 {
		t.Error(seen)
	}
}

// Why: which order a list has must not move anything (law 2).
func TestCompileIsDeterministic(t *testing.T) {
	gw := newDice(1).gateway(settingsOf("RegionalExternal", assumed))
	want := graphText(Compiler{}.Compile(gw))
	for seed := range uint64(30) {
		d := newDice(seed)
		shuffled := gw
		shuffled.Listeners, shuffled.Pools = slices.Clone(gw.Listeners), slices.Clone(gw.Pools)
		d.Shuffle(len(shuffled.Pools), func(i, j int) { shuffled.Pools[i], shuffled.Pools[j] = shuffled.Pools[j], shuffled.Pools[i] })
		d.Shuffle(len(shuffled.Listeners), func(i, j int) {
			shuffled.Listeners[i], shuffled.Listeners[j] = shuffled.Listeners[j], shuffled.Listeners[i]
		})
		if got := graphText(Compiler{}.Compile(shuffled.Canonical())); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %s", seed, cmp.Diff(string(want), string(got)))
		}
	}
}
