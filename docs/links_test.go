package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pages are the README, the changelog and every page below docs, as paths
// relative to the repository's root.
func pages(t *testing.T) []string {
	t.Helper()
	found := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md"}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			found = append(found, filepath.Join("docs", path))
		}
		return err
	})
	require.NoError(t, err)
	require.Greater(t, len(found), 10)
	return found
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", page))
	require.NoError(t, err)
	return string(text)
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the names that a page's headings can be linked by.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		names[strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return names
}

// TestLinksLeadSomewhere: every link of a page names a file of this repository,
// and, if it goes on with #, a heading there.
func TestLinksLeadSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			file, anchor, hasAnchor := strings.Cut(m[1], "#")
			require.NotContains(t, file, "://", "%s: a link to something outside this repository", page)
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			_, err := os.Stat(filepath.Join("..", target))
			require.NoError(t, err, "%s: link %s", page, m[1])
			if hasAnchor {
				require.Contains(t, anchors(read(t, target)), anchor, "%s: link %s: no such heading", page, m[1])
			}
		}
	}
}

func TestAnchors(t *testing.T) {
	require.Equal(t, map[string]bool{"poll-queues": true, "a-b-and-c": true, "whats-io_uring": true},
		anchors("# Poll queues\ntext # no\n## A, `b` and C\n### What's io_uring?\n"))
}
