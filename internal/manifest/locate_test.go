package manifest

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestLocate finds fields by the paths that schemas, decoders and CEL rules name
// them with. Why this table: a wrong line sends the user to the wrong place,
// which is worse than none.
func TestLocate(t *testing.T) {
	const text = `metadata:
  name: a
  annotations: &x
    gatehouse.dev/paused: "true"
    plain: y
spec:
  rules:
  - name: first
  - name: second
    filters:
      - {type: X}
  copy: *x
  merged:
    <<: *x
data:
  "0": zero
`
	tests := []struct {
		path string
		line int
	}{
		{"metadata", 1},
		{".metadata.name", 2},
		{"metadata.annotations.gatehouse.dev/paused", 4},
		{"metadata.annotations[gatehouse.dev/paused]", 4},
		{"spec.rules", 7},
		{"spec.rules[1]", 9},
		{"spec.rules[1].filters[0].type", 11},
		{"spec.rules[1].filters[0].missing", 11},
		{"spec.rules[7].name", 7},
		{"spec.rules.name", 7},
		{"spec.copy.plain", 5},
		{"spec.merged.plain", 5},
		{"data[0]", 16},
		{"nowhere.at.all", 1},
		{"spec[", 6},
	}
	var doc yaml.Node
	must(t, yaml.Unmarshal([]byte(text), &doc))
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			at, value := locate(doc.Content[0], tt.path)
			if at.Line != tt.line || value == nil {
				t.Errorf("found at line %d, want %d", at.Line, tt.line)
			}
		})
	}
}

// TestCulprit finds the one value that a decoder cannot take.
func TestCulprit(t *testing.T) {
	value := map[string]any{"a": []any{int64(1), map[string]any{"b.c": "bad"}}, "z": "good"}
	fails := func(v any) bool { return contains(v, "bad") }
	if got := culprit(value, fails); got != "a[1].b.c" {
		t.Errorf("culprit is %q", got)
	}
}

func contains(v any, text string) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, child := range v {
			if contains(child, text) {
				return true
			}
		}
	case []any:
		for _, child := range v {
			if contains(child, text) {
				return true
			}
		}
	}
	return v == text
}
