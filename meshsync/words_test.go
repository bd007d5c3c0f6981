package meshsync

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReasonsAreRanked reads the constants of words.go: one that is not ranked would
// count as the least of all.
func TestReasonsAreRanked(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "words.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []Reason
	for node := range ast.Preorder(file) {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			continue
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		declared = append(declared, Reason(value))
	}
	if diff := cmp.Diff(declared, reasons); diff != "" {
		t.Errorf("-declared +ranked:\n%s", diff)
	}
}

// TestWorstReason is what a route is told of all its backends.
func TestWorstReason(t *testing.T) {
	block := func(r Reason) Verdict { return Verdict{Path: Blocked, Reason: r} }
	direct := Verdict{Path: Direct}
	for _, c := range []struct {
		name     string
		verdicts []Verdict
		want     Reason
	}{
		{"none", nil, ""},
		{"all direct", []Verdict{direct, direct}, ""},
		{"one blocked", []Verdict{direct, block(ReasonSNI)}, ReasonSNI},
		{"the first of the constants", []Verdict{block(ReasonBelowMinimum), block(ReasonNotMeshed), block(ReasonSNI)}, ReasonNotMeshed},
		{"one that is not ours", []Verdict{block("Other"), block(ReasonProbeFailed)}, ReasonProbeFailed},
		{"only one that is not ours", []Verdict{block("Other")}, "Other"},
	} {
		if got := WorstReason(c.verdicts); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
