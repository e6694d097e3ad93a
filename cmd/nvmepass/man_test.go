package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
)

// visible are all commands that some --help lists, but help itself.
func visible(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for i := 0; i < len(all); i++ {
		for _, c := range all[i].Commands() {
			if !c.Hidden && c.Name() != "help" {
				all = append(all, c)
			}
		}
	}
	return all
}

// testRoot is the command tree as it runs.
func testRoot(t *testing.T) *cobra.Command {
	t.Helper()
	root := newRoot(nil, nil)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	require.Greater(t, len(visible(root)), 30)
	return root
}

// TestManPages: every visible command has a page with all that its help says.
func TestManPages(t *testing.T) {
	t.Setenv(envSourceDate, "86400")
	dir := filepath.Join(t.TempDir(), "new", "man1")
	code, out, errs := command(t, "man", dir)
	require.Zero(t, code, errs)
	require.Empty(t, out+errs)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	var want []string
	for _, c := range visible(testRoot(t)) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		want = append(want, name)
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		page := string(text)
		require.Contains(t, page, `"1970\-01\-02"`, name)
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"} {
			require.Contains(t, page, "\n.SH "+section+"\n", name)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			require.Equal(t, !f.Hidden, strings.Contains(page, bold("--"+f.Name)), "%s: --%s", name, f.Name)
		})
		for line := range strings.SplitSeq(strings.TrimSpace(c.Example), "\n") {
			example, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
			if example == "" {
				continue // the root, groups of cobra's own
			}
			require.Contains(t, page, "\n"+roffText(example)+"\n", name)
		}
		if c.HasParent() {
			parent, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-")+".1"))
			require.NoError(t, err)
			require.Contains(t, string(parent), bold(strings.TrimSuffix(name, ".1"))+"(1)", "not in the page above")
		}
	}
	require.ElementsMatch(t, want, names)
}

// TestManPagesFormat without a warning, and come out as the help text stands.
func TestManPagesFormat(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		ringtest.Missing(t, "groff", err)
	}
	for name, page := range manPages(testRoot(t), "2026-11-30") {
		cmd := exec.Command(groff, "-man", "-Tutf8", "-ww", "-P-c", "-rLL=200n")
		cmd.Stdin = strings.NewReader(page)
		var warnings strings.Builder
		cmd.Stderr = &warnings
		out, err := cmd.Output()
		require.NoError(t, err, name)
		require.Empty(t, warnings.String(), name)
		if name == "nvmepass-diff.1" {
			text := regexp.MustCompile(`.\x08`).ReplaceAllString(string(out), "")
			require.Contains(t, text, "faster, slower   the change is not chance\n", "columns are kept")
			require.Contains(t, text, "nvmepass diff old.json new.json --fail-on slower:3%,noisy\n", "fit to be copied")
			require.Contains(t, text, "-o, --output FORMAT\n")
		}
	}
}

// TestManPageText is one page, whole.
func TestManPageText(t *testing.T) {
	root := &cobra.Command{Use: "tool"}
	c := &cobra.Command{
		Use: "act FILE... [flags]", Aliases: []string{"do"}, Short: "Act on files",
		Long:    ".hidden files too.\n\nTwo kinds:\n\n  a   first\n  b   'second'\n\nBack\\slash, ü.",
		Example: "  tool act x        one\n  tool act -- -y",
		RunE:    func(*cobra.Command, []string) error { return nil },
	}
	c.Flags().SortFlags = false
	c.Flags().StringP("output", "o", "text", "format")
	c.Flags().Int("zero", 0, "a `COUNT`")
	c.Flags().String("said", "x", "name (default x-y)")
	c.Flags().Bool("secret", false, "")
	require.NoError(t, c.Flags().MarkHidden("secret"))
	root.AddCommand(c)
	want, err := os.ReadFile(filepath.Join("testdata", "tool-act.1"))
	require.NoError(t, err)
	page := strings.ReplaceAll(manPage(c, "2026-11-30"), roffText(toolVersion()), "VERSION")
	require.Equal(t, string(want), page)
}

func TestManDate(t *testing.T) {
	day, err := manDate("1796066069")
	require.NoError(t, err)
	require.Equal(t, "2026-11-30", day)
	for _, bad := range []string{"today", "-1", "1e9"} {
		_, err := manDate(bad)
		require.ErrorContains(t, err, envSourceDate+"="+bad)
		require.ErrorContains(t, err, "seconds since 1970")
	}
}

func TestManRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"man"}, exitUsage, "one folder"},
		{[]string{"man", "a", "b"}, exitUsage, "not 2"},
		{[]string{"man", file}, exitDevice, file},
		{[]string{"man", filepath.Join(file, "man1")}, exitDevice, file},
	} {
		code, out, errs := command(t, tt.args...)
		require.Equal(t, tt.code, code, errs)
		require.Empty(t, out)
		require.Contains(t, errs, tt.says)
	}
}

// TestExitStatuses: README's table and the pages have the same codes in the same words.
func TestExitStatuses(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(readme), "### Exit codes\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n#")
	rows := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| (.*) \|$`).FindAllStringSubmatch(table, -1) {
		rows[m[1]] = strings.ReplaceAll(m[2], "`", "")
	}
	codes := map[int]bool{}
	for _, s := range allExitStatuses {
		codes[s.code] = true
	}
	require.Len(t, rows, len(codes))
	require.True(t, slices.IsSortedFunc(allExitStatuses, func(a, b exitStatus) int { return a.code - b.code }))
	root := testRoot(t)
	for _, s := range allExitStatuses {
		require.Contains(t, rows[strconv.Itoa(s.code)], s.means)
		for _, name := range s.only {
			c, rest, err := root.Find(strings.Fields(name))
			require.NoError(t, err, name)
			require.Empty(t, rest, name)
			require.Equal(t, "nvmepass "+name, c.CommandPath())
		}
	}
	page := func(args ...string) (codes []int) {
		c, _, err := root.Find(args)
		require.NoError(t, err)
		for _, s := range exitStatuses(c) {
			codes = append(codes, s.code)
		}
		return codes
	}
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 130, 141}, page())
	require.Equal(t, []int{0, 1, 2, 3, 6, 141}, page("diff"))
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 130, 141}, page("io"))
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 130, 141}, page("io", "compare"))
	require.Equal(t, []int{0, 1, 2, 3, 5, 130, 141}, page("io", "read"))
}
