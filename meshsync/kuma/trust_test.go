package kuma

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRootsOf: all of a MeshTrust's roots, or none and why.
func TestRootsOf(t *testing.T) {
	pem := func(text string) any {
		return map[string]any{"type": "Pem", "pem": map[string]any{"value": text}}
	}
	for _, c := range []struct {
		name, why string
		list      any
		pem       string
		problem   string
	}{
		{"two", "one may have no line end", []any{pem("a"), pem("b")}, "a\nb", ""},
		{"nothing", "", []any{}, "", "spec.caBundles is empty"},
		{"not set", "", nil, "", "spec.caBundles is empty"},
		{"no list", "", "a", "", "spec.caBundles is not a list"},
		{"no object", "what it has is not known", []any{pem("a"), "b"}, "", "spec.caBundles[1] is not of type Pem"},
		{"another type", "it could hold a root that would be missing", []any{pem("a"), map[string]any{"type": "Secret"}}, "", "spec.caBundles[1] is not of type Pem"},
		{"no value", "", []any{map[string]any{"type": "Pem", "pem": map[string]any{}}}, "", "spec.caBundles[0]: pem.value is not set"},
		{"no pem", "", []any{map[string]any{"type": "Pem"}}, "", "spec.caBundles[0]: pem.value is not set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := map[string]any{"trustDomain": "x"}
			if c.list != nil {
				spec["caBundles"] = c.list
			}
			at := rootsOf(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "kuma-system", "name": "identity"}, "spec": spec}})
			if c.problem != "" {
				c.problem = "MeshTrust kuma-system/identity: " + c.problem
			}
			if at.PEM != c.pem || at.Problem != c.problem {
				t.Errorf("%s: got %q, %q; want %q, %q", c.why, at.PEM, at.Problem, c.pem, c.problem)
			}
		})
	}
}
