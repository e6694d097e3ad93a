package uringcmd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestB71SharedIndexesAreAtomic: the indexes that the kernel shares are read by
// atomic loads alone, and of them only those that are ours are written. A plain
// store of these is for rings that the kernel reads on their own thread, inside
// a system call.
func TestB71SharedIndexesAreAtomic(t *testing.T) {
	shared := map[string]bool{"sqHead": true, "sqTail": true, "sqFlags": true, "sqDropped": true, "cqHead": true, "cqTail": true, "cqOverflow": true}
	written := map[string]bool{"sqTail": true, "cqHead": true} // by us
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	loads, stores := 0, 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		var above []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				above = above[:len(above)-1]
				return true
			}
			above = append(above, n)
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !shared[sel.Sel.Name] {
				return true
			}
			where := set.Position(sel.Pos())
			switch up := above[len(above)-2].(type) {
			case *ast.CallExpr: // atomic.X(r.sqHead)
				fun, ok := up.Fun.(*ast.SelectorExpr)
				require.True(t, ok && fun.X.(*ast.Ident).Name == "atomic", "%s", where)
				if strings.HasPrefix(fun.Sel.Name, "Store") {
					stores++
					require.True(t, written[sel.Sel.Name], "%s: %s is the kernel's to write", where, sel.Sel.Name)
				} else {
					loads++
				}
			case *ast.StarExpr: // *r.sqTail = n
				assign, ok := above[len(above)-3].(*ast.AssignStmt)
				require.True(t, ok && assign.Lhs[0] == up && len(assign.Lhs) == 1 && assign.Tok == token.ASSIGN, "%s: a plain load of %s", where, sel.Sel.Name)
				require.True(t, written[sel.Sel.Name], "%s: %s is the kernel's to write", where, sel.Sel.Name)
			case *ast.AssignStmt: // the pointer itself
			default:
				require.Fail(t, "an unknown use", "%s", where)
			}
			return true
		})
	}
	require.Greater(t, loads, 5)
	require.GreaterOrEqual(t, stores, 2)
}
