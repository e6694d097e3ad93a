package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/diff"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/outfile"
	"github.com/nvmepass/nvmepass/internal/report"
)

// savedRecord writes a record of one cell whose rounds have the given IOPS.
func savedRecord(t *testing.T, name string, change func(*compare.Config), rounds ...uint64) string {
	t.Helper()
	cfg := compare.DefaultConfig()
	cfg.Devices, cfg.Rounds = []string{"/dev/ng0n1"}, len(rounds)
	cfg.Paths, cfg.Depths = []iosetup.Path{iosetup.Block}, []iosetup.Depth{{QD: 1, Batch: 1}}
	if change != nil {
		change(&cfg)
	}
	res, err := compare.Run(t.Context(), cfg, func(_ context.Context, s compare.Step) (compare.Sample, error) {
		ok := rounds[s.Round-1]
		return compare.Sample{WindowNS: 1e9, OK: ok, Bytes: 512 * ok, Run: compare.Counts{Issued: ok, OK: ok}}, nil
	}, nil)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, outfile.Write(path, func(w io.Writer) error { return report.JSON(w, res) }))
	return path
}

func TestDiff(t *testing.T) {
	// S5 of the published threads: about the same.
	before := savedRecord(t, "before.json", nil, 254820, 251174, 250806)
	after := savedRecord(t, "after.json", nil, 255972, 251920, 251794)
	slow := savedRecord(t, "slow.json", nil, 229820, 226174, 225806)
	noisy := savedRecord(t, "noisy.json", nil, 154820, 251174, 350806)
	large := savedRecord(t, "large.json", func(c *compare.Config) { c.BlockSize = 4096 }, 254820, 251174, 250806)
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("no record"), 0o600))
	for _, tt := range []struct {
		args         []string
		code         int
		says, errors []string
	}{
		{[]string{before, after}, exitOK, []string{"1_1", "same", "1 cell: 0 faster, 0 slower, 1 same, 0 too noisy"}, nil},
		{[]string{before, slow}, exitOK, []string{"slower", "-9.9%"}, nil},
		{[]string{before, slow, "--fail-on", "slower:3%"}, exitChanged, []string{"slower"}, []string{"--fail-on slower:3%", "1 of 1 cells", "1_1 block -9.9%"}},
		{[]string{before, slow, "--fail-on", "slower:12%"}, exitOK, []string{"slower"}, nil},
		{[]string{before, slow, "--fail-on", "faster"}, exitOK, []string{"slower"}, nil},
		{[]string{slow, before, "--fail-on", "changed"}, exitChanged, []string{"faster"}, []string{"+11.0%"}},
		{[]string{before, after, "--fail-on", "changed,noisy"}, exitOK, []string{"same"}, nil},
		{[]string{before, noisy, "--fail-on", "slower:3%"}, exitOK, []string{"too noisy"}, nil},
		{[]string{before, noisy, "--fail-on", "slower:3%,noisy"}, exitChanged, []string{"too noisy", "longer rounds"}, []string{"--fail-on noisy"}},
		{[]string{before, after, "--margin", "0.5%"}, exitOK, []string{"too noisy", "+-0.5%"}, nil},
		{[]string{before, after, "--fail-on", "slower:1%"}, exitOK, []string{"+-1.0%"}, nil},
		{[]string{before, large, "--force"}, exitOK, []string{"block_size_bytes (!): 512 -> 4096"}, nil},
		{[]string{before, large}, exitUsage, nil, []string{"not made alike", "block_size_bytes is 512 against 4096", "--force"}},
		{[]string{before}, exitUsage, nil, []string{"need two records"}},
		{[]string{before, after, slow}, exitUsage, nil, []string{"need two records", "not 3"}},
		{[]string{before, text}, exitUsage, nil, []string{text, "not one JSON document", "--save"}},
		{[]string{before, filepath.Dir(text)}, exitUsage, nil, []string{"a folder"}},
		{[]string{before, before + "x"}, exitDevice, nil, []string{before + "x", "no such file", "--save"}},
		{[]string{before, after, "--fail-on", "slow"}, exitUsage, nil, []string{"--fail-on", `"slow"`, "slower:3%"}},
		{[]string{before, after, "--margin", "3"}, exitUsage, nil, []string{"--margin", `"3"`}},
		{[]string{before, after, "--margin", "3%", "--fail-on", "slower:1%"}, exitUsage, nil, []string{"--fail-on", "the margin of 3%"}},
		{[]string{before, after, "-o", "fio"}, exitUsage, nil, []string{`-o "fio"`, "csv"}},
	} {
		code, out, errs := command(t, append([]string{"diff"}, tt.args...)...)
		require.Equal(t, tt.code, code, "%v: %s", tt.args, errs)
		for _, s := range tt.says {
			require.Contains(t, out, s, tt.args)
		}
		for _, s := range tt.errors {
			require.Contains(t, errs, s, tt.args)
		}
		if tt.says == nil {
			require.Empty(t, out, tt.args)
		}
	}

	code, out, _ := command(t, "diff", before, slow, "-o", "json")
	require.Equal(t, exitOK, code)
	var res diff.Result
	require.NoError(t, json.Unmarshal([]byte(out), &res))
	require.Equal(t, diff.Slower, res.Cells[0].Verdict)
	require.Equal(t, toolVersion(), res.ToolVersion)
	code, out, _ = command(t, "diff", before, slow, "-o", "csv")
	require.Equal(t, exitOK, code)
	require.Len(t, strings.Split(strings.TrimSpace(out), "\n"), 2)
}

func TestReport(t *testing.T) {
	a := savedRecord(t, "a.json", nil, 254820, 251174, 250806)
	b := savedRecord(t, "b.json", nil, 255972, 251920, 251794)
	dir := t.TempDir()
	page, figures := filepath.Join(dir, "report.html"), filepath.Join(dir, "figures")
	code, out, errs := command(t, "report", a, b, "-o", page, "--charts", figures, "--title", "A < B")
	require.Equal(t, exitOK, code, errs)
	require.Empty(t, out)
	require.Contains(t, errs, "s1-compare-bars-1_1.svg")
	require.Regexp(t, `wrote .*report.html: 2 records, 1 chart\n$`, errs)
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(html), "<title>A &lt; B</title>")
	require.Contains(t, string(html), "a.json")
	svg, err := os.ReadFile(filepath.Join(figures, "s1-compare-bars-1_1.svg"))
	require.NoError(t, err)
	require.Contains(t, string(svg), "xmlns")

	code, out, _ = command(t, "report", a, "-o", "-")
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "<!DOCTYPE html>")

	for _, tt := range []struct {
		args []string
		code int
		says []string
	}{
		{nil, exitUsage, []string{"no record given"}},
		{[]string{a}, exitUsage, []string{"-o report.html"}},
		{[]string{a, a, "-o", page}, exitUsage, []string{a, "only once"}},
		{[]string{a, "-o", dir}, exitUsage, []string{dir, "folder"}},
		{[]string{a, "-o", dir + "/no/x.html"}, exitUsage, []string{"-o", "no such file"}},
		{[]string{a, "-o", "-", "--charts", ""}, exitUsage, []string{"--charts", "no folder"}},
		{[]string{a, "-o", "-", "--charts", page}, exitUsage, []string{"--charts", "not a directory"}},
		{[]string{a + "x", "-o", page}, exitDevice, []string{"no such file"}},
	} {
		code, out, errs := command(t, append([]string{"report"}, tt.args...)...)
		require.Equal(t, tt.code, code, "%v: %s", tt.args, errs)
		require.Empty(t, out, tt.args)
		for _, s := range tt.says {
			require.Contains(t, errs, s, tt.args)
		}
	}
}

// The page and the formats for other tools come from compare as well.
func TestCompareWritesReportBenchAndFio(t *testing.T) {
	res := result(t, compare.Sample{WindowNS: 1e9, OK: 5, Bytes: 2560, Run: compare.Counts{Issued: 5, OK: 5}})
	page := filepath.Join(t.TempDir(), "page.html")
	for format, says := range map[string]string{"bench": "BenchmarkCompare/dev=ng0n1/path=passthru", "fio": `"fio version"`} {
		f := compareFlags{output: format, saveFlags: saveFlags{html: page}}
		var b strings.Builder
		require.NoError(t, f.write(res, &b))
		require.Contains(t, b.String(), says)
	}
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(html), "Paths compared")
	code, _, errs := command(t, "compare", os.DevNull, "--html", filepath.Dir(page))
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "--html")
	code, _, errs = command(t, "compare", os.DevNull, "--inject-delay", "x")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "--inject-delay")
}
