package newcomer

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/record"
)

// blocks are the indented commands of a section of a page, one by one, without
// their remarks.
func blocks(t *testing.T, page, section string) (commands []string) {
	t.Helper()
	_, text, ok := strings.Cut(page, "\n## "+section+"\n")
	require.True(t, ok, "no section %q", section)
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if c, ok := strings.CutPrefix(line, "    "); ok {
			c, _, _ = strings.Cut(c, " #")
			commands = append(commands, strings.TrimSpace(c))
		}
	}
	return commands
}

func readme(t *testing.T, root string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	return string(b)
}

// The sections that a newcomer follows without a drive.
const (
	toTheReport = "From a fresh machine to the report"
	theLab      = "The lab"
)

// TestReadmeHasCommands: the README says what TestNewcomer runs.
func TestReadmeHasCommands(t *testing.T) {
	page := readme(t, "../..")
	commands := blocks(t, page, toTheReport)
	require.Len(t, commands, 2)
	require.True(t, strings.HasPrefix(commands[0], "make compare "), commands[0])
	require.True(t, strings.HasPrefix(commands[1], "./nvmepass report compare.json -o report.html"), commands[1])
	require.Len(t, blocks(t, page, theLab), 3)
}

// TestNewcomer clones the repository, does what the README says in a clean
// environment, and looks at what came of it.
func TestNewcomer(t *testing.T) {
	if os.Getenv("NVMEPASS_TEST_LONG") == "" {
		t.Skip("takes some minutes: make long, or NVMEPASS_TEST_LONG=1")
	}
	clone := filepath.Join(t.TempDir(), "nvmepass")
	sh(t, ".", "git clone -q ../.. "+clone)
	page := readme(t, clone)
	for _, c := range blocks(t, page, toTheReport) {
		sh(t, clone, c)
	}
	f, err := os.Open(filepath.Join(clone, "compare.json"))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	r, err := record.Read("compare.json", f)
	require.NoError(t, err)
	require.True(t, r.Emulated)
	require.Len(t, r.Cells, 16)
	for _, c := range r.Cells {
		require.NotEmpty(t, c.Rounds, "%v", c.Key)
	}
	report, err := os.ReadFile(filepath.Join(clone, "report.html"))
	require.NoError(t, err)
	for _, part := range []string{"EMULATED", "Paths compared", "By queue depth and batch", "Ratio to the reference", "Where and how", "series-2022"} {
		require.Contains(t, string(report), part, "what the README explains is there")
	}
	wellFormed(t, string(report))

	// The lab's lines have nvmepass in the path, and a package of yours.
	lab := blocks(t, page, theLab)
	for _, c := range lab[:2] {
		out := sh(t, clone, "PATH=$PWD:$PATH; "+c)
		require.Contains(t, out, "EMULATED")
		require.Contains(t, out, "QD_batch")
	}
	sh(t, clone, strings.ReplaceAll(lab[2], "./yourpackage", "./iopoll"))
	require.Empty(t, sh(t, clone, "git status --porcelain"), "what was made is ignored")
}

// sh runs a command as a newcomer's shell does, with nothing of ours set.
func sh(t *testing.T, dir, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Minute)
	defer cancel()
	began := time.Now()
	cmd := exec.CommandContext(ctx, "sh", "-ec", command)
	cmd.Dir = dir
	for _, name := range []string{"PATH", "HOME", "GOPROXY", "GOFLAGS", "GOSUMDB", "GOTOOLCHAIN", "http_proxy", "https_proxy", "no_proxy"} { // how to reach the network
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s%s", command, out, errs.String())
	t.Logf("%s: %.0f s", command, time.Since(began).Seconds())
	return string(out)
}

// wellFormed checks that the tags of a page match.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}
