package houserules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	maxFile     = 400
	maxTestFile = 500
	maxMedian   = 10 // lines of a function, over the whole repository
)

type source struct {
	path  string
	file  *ast.File
	lines int
	funcs []int
}

// TestSizes keeps files short and functions mostly tiny. The hard cap of 60 lines
// a function is golangci-lint's funlen.
func TestSizes(t *testing.T) {
	var funcs []int
	for _, s := range sources(t) {
		limit := maxFile
		if strings.HasSuffix(s.path, "_test.go") {
			limit = maxTestFile
		} else {
			funcs = append(funcs, s.funcs...)
		}
		if s.lines > limit {
			t.Errorf("%s has %d lines, the cap is %d: it holds more than one thing", s.path, s.lines, limit)
		}
	}
	slices.Sort(funcs)
	if m := funcs[len(funcs)/2]; m > maxMedian {
		t.Errorf("the median function has %d lines, want at most %d", m, maxMedian)
	}
	t.Logf("functions: %d, median %d, 95th percentile %d lines", len(funcs), funcs[len(funcs)/2], funcs[len(funcs)*95/100])
}

// TestPackageDocs wants every package to say what it is.
func TestPackageDocs(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		dir := filepath.Dir(s.path)
		documented[dir] = documented[dir] || s.file.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package in %s has no package doc: say what it is, what it never does, and where to start", dir)
		}
	}
}

func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var all []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasPrefix(d.Name(), "zz_generated"):
			return nil
		}
		s, err := parse(path)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func parse(path string) (source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return source{}, err
	}
	s := source{path: path, file: file, lines: set.File(file.Pos()).LineCount()}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
			s.funcs = append(s.funcs, set.Position(f.End()).Line-set.Position(f.Pos()).Line+1)
		}
	}
	return s, nil
}
