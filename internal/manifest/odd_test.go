package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// TestOddText reads one file of odd text. Why this table: each row has broken a
// reader of manifests before; a row says what is read and which problems are
// told, and nothing may panic or take the rest of the file along.
func TestOddText(t *testing.T) {
	tests := []struct {
		name, text string
		values     []string // of key v of the ConfigMaps, in order of their names
		problems   []string
	}{
		{name: "empty", text: "", problems: []string{
			"f.yaml: is empty; half written? If it shall hold nothing, remove it or write a comment (#) into it"}},
		{name: "comments only", text: "# nothing\n---\n# nothing\n---\n"},
		{name: "null documents", text: "---\nnull\n---\n~\n--- {}\n", problems: []string{
			"f.yaml:5: says not what it is: apiVersion and kind are both needed, as in apiVersion: v1, kind: Service"}},
		{name: "byte order mark", text: "\ufeff" + configMap + "data: {v: one}\n", values: []string{"one"}},
		{name: "byte order mark after a marker", text: configMap + "data: {v: one}\n---\n\ufeff# glued by cat\n" + named("b", "two"), values: []string{"one", "two"}},
		{name: "CRLF", text: strings.ReplaceAll(configMap+"data:\n  v: |\n    one\n    two\n---\n"+named("b", "x"), "\n", "\r\n"), values: []string{"one\ntwo\n", "x"}},
		{name: "no final newline", text: configMap + "data: {v: one}", values: []string{"one"}},
		{name: "content on the marker's line", text: `--- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {v: one}}` + "\n", values: []string{"one"}},
		{name: "marker with a comment", text: "--- # first\n" + configMap + "data: {v: one}\n", values: []string{"one"}},
		{name: "document end", text: configMap + "data: {v: one}\n...\n# between\n---\n" + named("b", "two"), values: []string{"one", "two"}},
		{name: "directive", text: "%YAML 1.1\n---\n" + configMap + "data: {v: one}\n", values: []string{"one"}},
		{name: "marker inside a block is indented", text: configMap + "data:\n  v: |\n    a\n    ---\n    b\n", values: []string{"a\n---\nb\n"}},
		{name: "anchors and merges", text: configMap + "x-a: &x {v: one, w: two}\n", problems: []string{
			`f.yaml:4: ConfigMap/default/a: x-a: unknown field: check its spelling and place`}},
		{name: "alias and merge", text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &l {v: one, w: two}}\ndata:\n  <<: *l\n  w: three\n", values: []string{"one"}},
		{name: "merge of a list", text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &l {v: one}, annotations: &m {v: two}}\ndata: {<<: [*l, *m]}\n", values: []string{"one"}},
		{name: "duplicate key", text: configMap + "data: {v: one}\ndata: {v: two}\n", problems: []string{
			`f.yaml:5: this key is set twice, first on line 4: remove one`}},
		{name: "tab", text: configMap + "data:\n\tv: one\n---\n" + named("b", "two"), values: []string{"two"}, problems: []string{
			"f.yaml:5: a tab is used for indentation, which YAML forbids: use spaces"}},
		{name: "broken between good", text: configMap + "data: {v: one}\n---\na: b: c\n---\n" + named("c", "three"), values: []string{"one", "three"}, problems: []string{
			"f.yaml:6: not YAML: mapping values are not allowed in this context"}},
		{name: "unclosed at the end", text: configMap + "data: {v: one}\n---\nkind: [\n", values: []string{"one"}, problems: []string{
			"f.yaml:6: not YAML: did not find expected node content"}},
		{name: "not UTF-8", text: configMap + "data: {v: \"\xff\"}\n", problems: []string{
			"f.yaml:4: byte 0xff is not UTF-8 text: save the file as UTF-8"}},
		{name: "UTF-16", text: "\xff\xfea\x00:\x00", problems: []string{"f.yaml:1: this is UTF-16 text: save the file as UTF-8"}},
		{name: "NUL", text: "a: \x00\n", problems: []string{"f.yaml:1: not YAML: control characters are not allowed"}},
		{name: "unknown alias", text: "a: *nowhere\n", problems: []string{"f.yaml:1: not YAML: an alias (*) names no anchor: put text that begins with * in quotes"}},
		{name: "alias of itself", text: "a: &a [*a]\n", problems: []string{"f.yaml:1: is nested more than 100 deep"}},
		{name: "billion laughs", text: laughs(), problems: []string{"f.yaml:1: expands to too many values: aliases of aliases multiply"}},
		{name: "deep", text: strings.Repeat("[", 200) + strings.Repeat("]", 200), problems: []string{"f.yaml:1: is nested more than 100 deep"}},
		{name: "deeper than the parser goes", text: "a: " + strings.Repeat("[", 20000), problems: []string{"f.yaml:1: not YAML: exceeded max depth of 10000"}},
		{name: "tag", text: configMap + "data: {v: !secret one}\n", problems: []string{"f.yaml:4: this tag (!) means nothing here: remove it, or put the text in quotes"}},
		{name: "infinity", text: configMap + "data: {v: .inf}\n", problems: []string{"f.yaml:4: infinities and not-a-number are no values of a manifest"}},
		{name: "bare words of YAML 1.1", text: configMap + "data: {v: on}\n", problems: []string{
			`f.yaml:4: ConfigMap/default/a: data.v: must be text, not bool (put it in quotes if it is meant as text)`}},
		{name: "bare number", text: configMap + "data: {v: 0777}\n", problems: []string{
			`f.yaml:4: ConfigMap/default/a: data.v: must be text, not number (put it in quotes if it is meant as text)`}},
		{name: "a date is text", text: configMap + "data: {v: 2026-11-30}\n", values: []string{"2026-11-30"}},
		{name: "quoted words are text", text: configMap + "data: {v: 'yes'}\n", values: []string{"yes"}},
		{name: "explicit tags", text: configMap + "data: {v: !!str 12}\n", values: []string{"12"}},
		{name: "binary", text: configMap + "data: {v: !!binary b25l}\n", values: []string{"one"}},
		{name: "text", text: "just words\n", problems: []string{
			"f.yaml:1: is no object: a manifest is a mapping with apiVersion, kind and metadata"}},
		{name: "key that is no text", text: "? [a]\n: b\n", problems: []string{"f.yaml:1: a key must be text"}},
		{name: "JSON", text: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"v": "one"}}`, values: []string{"one"}},
		{name: "JSON with tabs", text: "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"a\"},\n\t\"data\": {\"v\": 1.5e0}\n}\n", problems: []string{
			`f.yaml:5: ConfigMap/default/a: data.v: must be text, not number (put it in quotes if it is meant as text)`}},
		{name: "JSON in a row", text: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"v": "one"}}` + "\n" +
			`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"v": "two"}}`, values: []string{"one", "two"}},
		{name: "JSON with a duplicate key", text: "{\n\"kind\": \"ConfigMap\",\n\"kind\": \"Secret\"}", problems: []string{
			`f.yaml:3: this key is set twice, first on line 2: remove one`}},
		{name: "JSON then text", text: "{\"a\": 1}\ntail", problems: []string{"f.yaml:1: text follows the JSON value: put --- between documents"}},
		{name: "flow YAML", text: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {v: one}}`, values: []string{"one"}},
		{name: "array", text: `[1, 2]`, problems: []string{
			"f.yaml:1: is no object: a manifest is a mapping with apiVersion, kind and metadata"}},
		{name: "two roots without a marker", text: "{a: 1}\n{b: 2}\n", problems: []string{
			"f.yaml:2: text follows the end of the document: put --- between documents"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "f.yaml"), tt.text)
			t.Chdir(dir)
			loaded, err := Load(t.Context(), Options{Paths: []string{"f.yaml"}})
			must(t, err)
			var values []string
			for _, c := range loaded.Snapshot.ConfigMaps {
				values = append(values, c.Data["v"])
			}
			if d := cmp.Diff(tt.values, values); d != "" {
				t.Errorf("values (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.problems, texts(loaded.Problems)); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
			if loaded.Incomplete != (len(tt.problems) > 0) {
				t.Errorf("Incomplete is %v beside %d problems", loaded.Incomplete, len(tt.problems))
			}
		})
	}
}

func named(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {v: " + value + "}\n"
}

// laughs is 10^8 values in a few lines.
func laughs() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 8 {
		b.WriteString("a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [")
		b.WriteString(strings.TrimSuffix(strings.Repeat("*a"+string(rune('0'+i))+", ", 10), ", ") + "]\n")
	}
	return b.String()
}

func texts(problems []Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return out
}

func TestRefuseAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.yaml")
	write(t, path, named("a", "one")+"---\nkind: [\n")
	loaded, err := Load(t.Context(), Options{Paths: []string{path}, Strict: RefuseAll})
	if !errors.Is(err, ErrRefused) {
		t.Fatalf("error is %v, want ErrRefused", err)
	}
	if len(loaded.Problems) != 1 {
		t.Errorf("problems are %v, want the reason for the refusal", texts(loaded.Problems))
	}
	must(t, os.WriteFile(path, []byte(named("a", "one")), 0o644))
	if _, err := Load(t.Context(), Options{Paths: []string{path}, Strict: RefuseAll}); err != nil {
		t.Errorf("a good file is refused: %v", err)
	}
}

func TestLimits(t *testing.T) {
	two := named("a", "one") + "---\n" + named("b", "two")
	// Why this table: without bounds each is a way to run out of memory.
	tests := []struct {
		name, want string
		limits     Limits
		fatal      bool
	}{
		{name: "file", limits: Limits{FileBytes: 20}, want: "f.yaml: is 136 bytes; a file may have 20 bytes: split it, or leave out what is no manifest"},
		{name: "values", limits: Limits{Values: 5}, want: "f.yaml:1: holds about 12 values; a document may have 5: split it"},
		{name: "total", limits: Limits{TotalBytes: 20}, fatal: true, want: "the files hold more than 20 bytes in all: name fewer"},
		{name: "documents", limits: Limits{Documents: 1}, fatal: true, want: "the files hold more than 1 documents: name fewer"},
		{name: "files", limits: Limits{Files: 1}, fatal: true, want: "more than 1 files: name the folder that holds the manifests, not one above it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "f.yaml"), two)
			write(t, filepath.Join(dir, "g.yaml"), "")
			t.Chdir(dir)
			loaded, err := Load(t.Context(), Options{Paths: []string{"f.yaml", "g.yaml"}, Limits: tt.limits})
			if tt.fatal {
				if err == nil || err.Error() != tt.want {
					t.Errorf("error is %v, want %q", err, tt.want)
				}
				return
			}
			must(t, err)
			if got := loaded.Problems[0].String(); got != tt.want {
				t.Errorf("problem is %q, want %q", got, tt.want)
			}
		})
	}
}
