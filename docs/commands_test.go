package docs_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	command = regexp.MustCompile("(?:^    |`)(?:sudo )?(?:[$]PWD/|\\./)?nvmepass ([^`]*)")
	given   = regexp.MustCompile(`(?:^|\s)--([a-z][a-z0-9-]*)`)
	helped  = regexp.MustCompile(`(?m)^\s+(?:-\w, )?--([a-z][a-z0-9-]*)`)
)

// named are the command lines of nvmepass in a page: indented ones and those in
// backquotes.
func named(text string) []string {
	var found []string
	for line := range strings.SplitSeq(text, "\n") {
		for _, m := range command.FindAllStringSubmatch(line, -1) {
			c, _, _ := strings.Cut(m[1], " #")
			found = append(found, strings.TrimSpace(c))
		}
	}
	return found
}

// split returns the words that name the subcommand, and its flags.
func split(line string) (sub, flags []string) {
	for w := range strings.FieldsSeq(line) {
		if regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(w) && len(sub) < 2 {
			sub = append(sub, w)
			continue
		}
		break
	}
	for _, m := range given.FindAllStringSubmatch(line, -1) {
		flags = append(flags, m[1])
	}
	return sub, flags
}

// TestCommandsExist: every command line in the pages names a subcommand that
// there is, and flags that it has.
func TestCommandsExist(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "nvmepass")
	out, err := exec.Command("go", "build", "-o", binary, "../cmd/nvmepass").CombinedOutput()
	require.NoError(t, err, "%s", out)
	known := map[string][]string{}
	flagsOf := func(sub []string) ([]string, bool) {
		key := strings.Join(sub, " ")
		if flags, ok := known[key]; ok {
			return flags, flags != nil
		}
		out, err := exec.Command(binary, append(slices.Clone(sub), "--help")...).Output()
		if err != nil || !strings.Contains(string(out), "nvmepass "+key) {
			known[key] = nil
			return nil, false
		}
		flags := []string{"help", "version"}
		for _, m := range helped.FindAllStringSubmatch(string(out), -1) {
			flags = append(flags, m[1])
		}
		known[key] = flags
		return flags, true
	}
	checked := 0
	for _, page := range pages(t) {
		for _, line := range named(read(t, page)) {
			outer, inner, isLab := strings.Cut(line, " -- ")
			parts := []string{outer}
			if sub, _ := split(inner); isLab && len(sub) > 0 {
				parts = append(parts, inner)
			}
			for _, part := range parts {
				sub, flags := split(part)
				if len(sub) == 0 {
					continue // nvmepass --help, or a placeholder
				}
				has, ok := flagsOf(sub)
				if !ok {
					has, ok = flagsOf(sub[:1])
				}
				require.True(t, ok, "%s: no such command: nvmepass %s", page, part)
				for _, f := range flags {
					require.Contains(t, has, f, "%s: nvmepass %s", page, part)
					checked++
				}
			}
		}
	}
	require.Greater(t, checked, 50)
}

func TestNamed(t *testing.T) {
	require.Equal(t, []string{"compare /dev/ng0n1 --cpu 3", "nop", "list"},
		named("    sudo ./nvmepass compare /dev/ng0n1 --cpu 3   # a comment\nuse `nvmepass nop`, `nvmepass list`.\nnvmepass is a command\n"))
	sub, flags := split("io read /dev/ng0n1 --blocks 8 -o json")
	require.Equal(t, []string{"io", "read"}, sub)
	require.Equal(t, []string{"blocks"}, flags)
}
