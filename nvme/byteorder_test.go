package nvme

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only the command image, which the driver converts, is in the byte order of
// the host; nothing is decoded by a cast.
func TestB61NoNativeByteOrderInDecoders(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	native := map[string]int{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, i := range f.Imports {
			require.NotContains(t, []string{`"unsafe"`, `"reflect"`, `"syscall"`, `"C"`}, i.Path.Value, name)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == "NativeEndian" {
				native[name]++
			}
			return true
		})
	}
	require.Equal(t, map[string]int{"command.go": 2}, native, "one to encode and one to decode the command image")
}
