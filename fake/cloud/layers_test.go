package cloud

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// Why: the provider is what others are written after. It may use nothing of the
// service but what any client could call.
func TestTheProviderUsesThePublicAPIOnly(t *testing.T) {
	calls := 0
	for _, name := range []string{"provider.go", "offers.go", "compile.go", "compile_traffic.go", "place.go", "observe.go", "apply.go", "codes.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			use, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if of, ok := use.X.(*ast.SelectorExpr); ok && of.Sel.Name == "cloud" {
				calls++
				if !use.Sel.IsExported() {
					t.Errorf("%s uses Cloud.%s, which is not exported", name, use.Sel.Name)
				}
			}
			return true
		})
	}
	if calls < 6 {
		t.Errorf("only %d calls were found: the test looks in the wrong place", calls)
	}
}
