package lbmodel

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// declaredFeatures reads the constants of features.go in their order.
func declaredFeatures(t *testing.T) []Feature {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "features.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []Feature
	for node := range ast.Preorder(file) {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Feature") {
			continue
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Feature(value))
	}
	return out
}

func TestAllFeaturesAreDescribed(t *testing.T) {
	if diff := cmp.Diff(declaredFeatures(t), AllFeatures()); diff != "" {
		t.Errorf("featureList misses, repeats or reorders constants (-declared +listed):\n%s", diff)
	}
	for _, f := range AllFeatures() {
		if text := f.Describe(); text == "" || text == "unknown feature" || strings.Contains(text, "\n") {
			t.Errorf("%s is described as %q", f, text)
		}
	}
}

// TestEveryFeatureIsUsedBySomething keeps the table of uses complete: a feature
// that nothing uses could be missing without anybody noticing.
func TestEveryFeatureIsUsedBySomething(t *testing.T) {
	used := map[Feature]bool{FeatureListenerIsolation: true, FeatureMisdirected: true, FeatureProxied: true, FeatureBackendTLS13: true} // behaviours, see Uses
	m := newGatewayMaker(t)
	for seed := range uint64(300) {
		for _, f := range Uses(m.gateway(seed)) {
			used[f] = true
		}
	}
	for _, f := range AllFeatures() {
		if !used[f] {
			t.Errorf("no random gateway uses %s", f)
		}
	}
}
