package docs_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9_]+)`")

// TestThreatModelIsTested: each line of SECURITY.md about what cannot be done
// names tests, and all that the page names are there.
func TestThreatModelIsTested(t *testing.T) {
	there := testFunctions(t)
	for _, heading := range []string{"## A hostile drive", "## A hostile record file", "## A hostile guest"} {
		rows := table(t, "SECURITY.md", heading)
		require.NotEmpty(t, rows, heading)
		for _, row := range rows {
			require.Len(t, row, 3, "%s: %q", heading, row[0])
			require.Regexp(t, testName, row[2], "%s: %q has no test", heading, row[0])
		}
	}
	names := testName.FindAllStringSubmatch(read(t, "SECURITY.md"), -1)
	require.Greater(t, len(names), 20)
	for _, m := range names {
		require.NotEmpty(t, there[m[1]], "SECURITY.md names %s, which is not there", m[1])
	}
}
