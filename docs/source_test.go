package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// golist runs go list in the repository's root. Of a package that is built with
// a profile, go list names the command as well, in brackets.
func golist(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	lines := slices.DeleteFunc(strings.Fields(string(out)), func(s string) bool { return s[0] == '[' })
	slices.Sort(lines)
	return slices.Compact(lines)
}

// library and everything are what a program that imports the library is linked
// with, and what is linked into all that ships.
var (
	library    = []string{"./passthru", "./nvme", "./uringcmd", "./fixedbuf", "./iopoll"}
	everything = append([]string{"./cmd/nvmepass"}, library...)
)

// function is a function of a test file.
type function struct {
	file string // from the repository's root
	decl *ast.FuncDecl
}

// testFunctions are the tests and fuzz targets of the whole repository by name;
// several packages may have one of a name.
func testFunctions(t *testing.T) map[string][]function {
	t.Helper()
	found := map[string][]function{}
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && (strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")) {
				file := strings.TrimPrefix(filepath.ToSlash(path), "../")
				found[f.Name.Name] = append(found[f.Name.Name], function{file, f})
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(found), 500)
	return found
}

// table returns the cells of the rows of every table below a heading of a page,
// without the lines of the head.
func table(t *testing.T, page, heading string) (rows [][]string) {
	t.Helper()
	_, text, ok := strings.Cut(read(t, page), "\n"+heading+"\n")
	require.True(t, ok, "%s has no heading %q", page, heading)
	head := true
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			return rows
		case !strings.HasPrefix(line, "|"):
			head = true
		case strings.HasPrefix(line, "|---"):
			head = false
		case !head:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	return rows
}
