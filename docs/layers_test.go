package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/nvmepass/nvmepass/"

var packageName = regexp.MustCompile(`(?:internal/|cmd/)[a-z]+|\b(?:passthru|iopoll|fixedbuf|uringcmd|nvme)\b`)

// layers are the packages that design.md's picture names, with the number of
// their line, counted from the bottom.
func layers(t *testing.T) map[string]int {
	t.Helper()
	_, text, ok := strings.Cut(read(t, "docs/design.md"), "An arrow never points up.\n\n")
	require.True(t, ok)
	picture, _, _ := strings.Cut(text, "\n\n")
	rank := map[string]int{}
	lines := strings.Split(picture, "\n")
	for i, line := range lines {
		for n, part := range strings.Split(line, "|") {
			for _, name := range packageName.FindAllString(part, -1) {
				// What comes before the description, and further packages of the
				// line; a word of the description is no package.
				named := strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "cmd/") || n == 0 && strings.HasPrefix(strings.TrimSpace(line), name) ||
					strings.HasPrefix(strings.TrimSpace(line), "iopoll")
				if _, there := rank[name]; named && !there {
					rank[name] = len(lines) - i
				}
			}
		}
	}
	return rank
}

// TestArrowsPointDown: no package imports one that design.md shows above it, and
// every package is shown.
func TestArrowsPointDown(t *testing.T) {
	rank := layers(t)
	require.Greater(t, len(rank), 30)
	seen := map[string]bool{}
	for _, root := range []string{"cmd", "internal", "passthru", "iopoll", "fixedbuf", "uringcmd", "nvme"} {
		err := filepath.WalkDir(filepath.Join("..", root), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			dir := filepath.ToSlash(filepath.Dir(path))[len("../"):]
			if strings.HasSuffix(dir, "test") || strings.Count(dir, "/") > 1 {
				return nil // helpers of tests, and what is inside one package
			}
			at, ok := rank[dir]
			require.True(t, ok, "docs/design.md does not show package %s", dir)
			seen[dir] = true
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			require.NoError(t, err)
			for _, spec := range f.Imports {
				name, err := strconv.Unquote(spec.Path.Value)
				require.NoError(t, err)
				if to, ours := strings.CutPrefix(name, module); ours && rank[to] != 0 {
					require.LessOrEqual(t, rank[to], at, "%s imports %s, which docs/design.md shows above it", path, to)
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
	for name := range rank {
		require.True(t, seen[name], "docs/design.md shows package %s, which is not there", name)
	}
}
