package docs_test

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	caseRow  = regexp.MustCompile(`(?m)^\| (B\d\d) \| ([^|]+) \| ([^|]+) \|$`)
	caseTest = regexp.MustCompile("`([A-Za-z0-9/.-]+)\\.((?:Test|Fuzz)[A-Za-z0-9_]+)`")
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	ofACase  = regexp.MustCompile(`^Test(B\d\d)`)
)

// casePage is the page with the table.
const casePage = "docs/cases.md"

// testsOf are the names of all tests in the repository, by package folder.
func testsOf(t *testing.T) map[string][]string {
	t.Helper()
	tests := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		dir := filepath.ToSlash(filepath.Dir(path))[len("../"):]
		for _, m := range testFunc.FindAllStringSubmatch(string(b), -1) {
			tests[dir] = append(tests[dir], m[1])
		}
		return err
	})
	require.NoError(t, err)
	return tests
}

// update writes the names of tests into the table anew.
var update = flag.Bool("update", false, "rewrite "+casePage)

// updateCases drops tests that are gone, and adds those that carry a number.
func updateCases(t *testing.T, tests map[string][]string) {
	t.Helper()
	page := caseRow.ReplaceAllStringFunc(read(t, casePage), func(line string) string {
		row := caseRow.FindStringSubmatch(line)
		named := map[string]bool{}
		for _, m := range caseTest.FindAllStringSubmatch(row[3], -1) {
			if slices.Contains(tests[m[1]], m[2]) {
				named["`"+m[1]+"."+m[2]+"`"] = true
			}
		}
		for dir, names := range tests {
			for _, name := range names {
				if m := ofACase.FindStringSubmatch(name); m != nil && m[1] == row[1] {
					named["`"+dir+"."+name+"`"] = true
				}
			}
		}
		return "| " + row[1] + " | " + row[2] + " | " + strings.Join(slices.Sorted(maps.Keys(named)), ", ") + " |"
	})
	require.NoError(t, os.WriteFile(filepath.Join("..", casePage), []byte(page), 0o644))
}

// TestCasesHaveTests: each public report of the table has tests, which are
// there; and each test that carries a report's number stands in its row.
func TestCasesHaveTests(t *testing.T) {
	tests := testsOf(t)
	if *update {
		updateCases(t, tests)
	}
	rows := map[string]string{}
	for _, row := range caseRow.FindAllStringSubmatch(read(t, casePage), -1) {
		number, named := row[1], row[3]
		require.NotContains(t, rows, number, "%s has it twice", number)
		rows[number] = named
		found := caseTest.FindAllStringSubmatch(named, -1)
		require.NotEmpty(t, found, "%s names no test", number)
		require.Len(t, found, strings.Count(named, "`")/2, "%s: write tests as `package.TestName`: %s", number, named)
		for _, m := range found {
			require.Contains(t, tests[m[1]], m[2], "%s: %s has no such test", number, m[1])
		}
	}
	require.Greater(t, len(rows), 40)
	for _, dir := range slices.Sorted(maps.Keys(tests)) {
		for _, name := range tests[dir] {
			if m := ofACase.FindStringSubmatch(name); m != nil {
				require.Contains(t, rows, m[1], "%s.%s: %s has no such case", dir, name, casePage)
				require.Contains(t, rows[m[1]], "`"+dir+"."+name+"`", "%s: the row of %s leaves it out", casePage, m[1])
			}
		}
	}
}
