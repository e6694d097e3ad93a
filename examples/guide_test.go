package examples

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// flatten leaves a text's lines without indentation and empty ones.
func flatten(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// TestGuideQuotesCode: every piece of Go in the guide stands in a file of this
// module, and every file and link that the guide names is there.
func TestGuideQuotesCode(t *testing.T) {
	var code strings.Builder
	for _, dir := range []string{".", "../passthru", "../fixedbuf", "../iopoll", "../uringcmd", "../nvme"} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") {
				b, err := os.ReadFile(path)
				require.NoError(t, err)
				code.WriteString(flatten(string(b)))
			}
			return err
		}))
	}
	guides, err := filepath.Glob("../docs/guide/*.md")
	require.NoError(t, err)
	require.Len(t, guides, 4)
	for _, guide := range guides {
		b, err := os.ReadFile(guide)
		require.NoError(t, err)
		parts := strings.Split(string(b), "```go\n")
		require.Greater(t, len(parts), 1, "%s quotes no code", guide)
		for _, part := range parts[1:] {
			quoted, _, ok := strings.Cut(part, "```")
			require.True(t, ok, "%s: a piece of code without end", guide)
			require.True(t, strings.Contains(code.String(), flatten(quoted)), "%s quotes code that is nowhere:\n%s", guide, quoted)
		}
		for _, link := range strings.Split(string(b), "](")[1:] {
			target, _, _ := strings.Cut(link, ")")
			if !strings.Contains(target, "://") {
				target, _, _ = strings.Cut(target, "#")
				_, err := os.Stat(filepath.Join(filepath.Dir(guide), target))
				require.NoError(t, err, "%s", guide)
			}
		}
	}
}
