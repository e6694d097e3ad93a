package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var requirement = regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+|\S+\.\S+) (v\S+)( // indirect)?$`)

// required are the modules of go.mod: direct ones and others.
func required(t *testing.T) (direct, indirect []string) {
	t.Helper()
	text := read(t, "go.mod")
	require.NotContains(t, text, "replace", "what is built is what go.mod names")
	for _, m := range requirement.FindAllStringSubmatch(text, -1) {
		if m[3] == "" {
			direct = append(direct, m[1])
		} else {
			indirect = append(indirect, m[1])
		}
	}
	require.NotEmpty(t, direct)
	slices.Sort(direct)
	slices.Sort(indirect)
	return direct, indirect
}

// documented are the modules of a section's table, each with who uses it and
// why.
func documented(t *testing.T, heading string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, row := range table(t, "docs/dependencies.md", heading) {
		require.Len(t, row, 3)
		require.NotEmpty(t, row[1], "%s: used by whom?", row[0])
		require.Greater(t, len(row[2]), 20, "%s: why?", row[0])
		require.NotContains(t, found, row[0])
		found[row[0]] = regexp.MustCompile("`([^`]+)`").FindAllString(row[1], -1)
	}
	return found
}

func keys(maps ...map[string][]string) (all []string) {
	for _, m := range maps {
		for k := range m {
			all = append(all, k)
		}
	}
	slices.Sort(all)
	return all
}

// linked are the modules besides this one of which a package is linked in.
func linked(t *testing.T, packages []string) []string {
	t.Helper()
	return slices.DeleteFunc(golist(t, append([]string{"-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, packages...)...), func(m string) bool {
		return m == strings.TrimSuffix(module, "/")
	})
}

// TestEveryDependencyHasAReason: docs/dependencies.md names the modules of go.mod
// and no other, in the section that says where they end up, and the packages that
// import them.
func TestEveryDependencyHasAReason(t *testing.T) {
	inLibrary, inCommand := documented(t, "## In the library"), documented(t, "## In the command")
	inTests, others := documented(t, "## In tests"), documented(t, "## Indirect")
	direct, indirect := required(t)
	require.Equal(t, direct, keys(inLibrary, inCommand, inTests))
	require.Equal(t, indirect, keys(others))
	require.Equal(t, linked(t, library), keys(inLibrary))
	require.Equal(t, linked(t, everything), keys(inLibrary, inCommand))

	for _, section := range []map[string][]string{inLibrary, inCommand} {
		for name, users := range section {
			for _, line := range golist(t, "-f", `{{.ImportPath}}:{{join .Imports ","}}`, "./...") {
				who, imports, _ := strings.Cut(line, ":")
				who = strings.TrimPrefix(who, module)
				if strings.HasPrefix(who, "bench") || strings.HasPrefix(who, "test") {
					continue
				}
				if slices.ContainsFunc(strings.Split(imports, ","), func(i string) bool { return i == name || strings.HasPrefix(i, name+"/") }) {
					require.Contains(t, users, "`"+who+"`", "docs/dependencies.md: %s is used there as well", name)
				}
			}
		}
	}
}

// TestCheckedSumsArePinned: go.sum has what go.mod names, and the tools that the
// Makefile fetches have versions.
func TestCheckedSumsArePinned(t *testing.T) {
	sums, makefile := read(t, "go.sum"), read(t, "Makefile")
	for _, m := range requirement.FindAllStringSubmatch(read(t, "go.mod"), -1) {
		require.Contains(t, sums, m[1]+" "+m[2]+"/go.mod h1:")
	}
	require.Contains(t, makefile, "mod verify")
	require.NotContains(t, makefile, "@latest")
	require.Regexp(t, `govulncheck@v\d`, makefile)
}
