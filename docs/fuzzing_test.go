package docs_test

import (
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryFuzzTargetIsRun: scripts/fuzz.sh finds every target that there is,
// each has inputs to begin with and judges what comes of them, and the page of
// the long run has a row for it.
func TestEveryFuzzTargetIsRun(t *testing.T) {
	cmd := exec.Command("scripts/fuzz.sh", "-list")
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var listed []string
	for line := range strings.Lines(string(out)) {
		listed = append(listed, strings.TrimPrefix(strings.TrimSpace(line), module))
	}
	var there []string
	for name, functions := range testFunctions(t) {
		if !strings.HasPrefix(name, "Fuzz") {
			continue
		}
		for _, f := range functions {
			there = append(there, filepath.Dir(f.file)+" "+name)
			corpus, _ := filepath.Glob(filepath.Join("..", filepath.Dir(f.file), "testdata", "fuzz", name, "*"))
			require.True(t, len(corpus) > 0 || calls(f.decl, "Add"), "%s in %s begins with nothing: add inputs with f.Add", name, f.file)
			require.True(t, calls(f.decl, "Fuzz"), "%s in %s fuzzes nothing", name, f.file)
		}
	}
	slices.Sort(listed)
	slices.Sort(there)
	require.Equal(t, there, listed)

	var rows []string
	for _, row := range table(t, "docs/fuzzing.md", "## The long run") {
		rows = append(rows, row[0]+" "+row[1])
	}
	slices.Sort(rows)
	require.Equal(t, there, rows, "docs/fuzzing.md: run scripts/fuzz.sh -report docs/fuzzing.md")
}

// calls tells whether a function calls a method of the name.
func calls(f *ast.FuncDecl, method string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if s, ok := c.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == method {
				found = true
			}
		}
		return true
	})
	return found
}
