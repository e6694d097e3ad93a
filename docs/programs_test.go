package docs_test

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// starters are the functions of the standard library that start a program.
var starters = regexp.MustCompile(`^(exec\.Command|exec\.CommandContext|exec\.Cmd|os\.StartProcess|syscall\.(Exec|ForkExec|StartProcess)|unix\.Exec|plugin\.Open)$`)

// programs are all places where what ships starts a program, and with what: the
// name is fixed, or that of the user's own choice for the lab, and arguments are
// a list that no shell reads.
var programs = map[string]string{
	"internal/lab/process.go": `exec.Command(path, args...)`,
	"internal/lab/qemu.go":    `exec.CommandContext(ctx, path, "--version")`,
	"internal/lab/images.go":  `exec.CommandContext(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "/dev/fd/3", fmt.Sprint(size))`,
	"internal/lab/guest.go": `syscall.ForkExec(spec.Path, spec.Args, &syscall.ProcAttr{Dir: spec.Dir, Env: env, Files: ends, ` +
		`Sys: &syscall.SysProcAttr{Setsid: true}})`,
}

// TestProgramsThatAreStarted: what ships starts no other programs than SECURITY.md
// names, and none through a shell.
func TestProgramsThatAreStarted(t *testing.T) {
	found := map[string]string{}
	for _, dir := range golist(t, append([]string{"-deps", "-f", `{{if not .Standard}}{{if eq .Module.Path "` + strings.TrimSuffix(module, "/") + `"}}{{.ImportPath}}{{end}}{{end}}`}, everything...)...) {
		files, err := filepath.Glob(filepath.Join("..", strings.TrimPrefix(dir, module), "*.go"))
		require.NoError(t, err)
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			tree, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			file := strings.TrimPrefix(filepath.ToSlash(path), "../")
			ast.Inspect(tree, func(n ast.Node) bool {
				var used ast.Node
				switch n := n.(type) {
				case *ast.CallExpr:
					if s, ok := n.Fun.(*ast.SelectorExpr); ok && starters.MatchString(source(t, set, s)) {
						used = n
					}
				case *ast.CompositeLit:
					if n.Type != nil && starters.MatchString(source(t, set, n.Type)) {
						used = n
					}
				}
				if used != nil {
					require.Empty(t, found[file], "%s starts two programs; list both", file)
					found[file] = source(t, set, used)
				}
				return true
			})
		}
	}
	require.Equal(t, programs, found)
	for _, call := range found {
		require.NotRegexp(t, `"(/bin/)?(sh|bash|env|sudo|su)"|"-c"`, call)
	}
	section := read(t, "SECURITY.md")
	for _, name := range []string{"qemu-system-x86_64", "qemu-img"} {
		require.Contains(t, section, "`"+name+"`")
	}
}

func source(t *testing.T, set *token.FileSet, n ast.Node) string {
	var b bytes.Buffer
	require.NoError(t, format.Node(&b, set, n))
	return b.String()
}
