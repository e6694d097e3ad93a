package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/diff"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/record"
)

// diffed compares the complete run with one in which passthru-poll is a tenth
// slower, block scatters, and a cell has no figure.
func diffed(t *testing.T) *diff.Result {
	t.Helper()
	old, updated := labResult(t), labResult(t)
	old.Environment.Mitigations = []string{"itlb_multihit: Not affected", "meltdown: Mitigation: PTI", "retbleed: Not affected"}
	updated.Environment.Mitigations = []string{"itlb_multihit: Not affected", "meltdown: Vulnerable", "retbleed: Not affected"}
	updated.Environment.IOUringFeatures = append(slices.Clone(updated.Environment.IOUringFeatures), "SUBMIT_STABLE", "RECVSEND_BUNDLE")
	updated.Environment.Kernel, updated.Environment.KernelCmdline = "7.4.0-rc1-cloud-amd64", "console=ttyS0 nvme.poll_queues=1 mitigations=off"
	updated.Config.Seed = 2
	for i := range updated.Cells {
		c := &updated.Cells[i]
		for j := range c.Rounds {
			rates := c.Rounds[j].Rates
			switch {
			case c.Path == "passthru-poll":
				*rates.IOPS *= 0.9
				c.Rounds[j].Sample.Settings.FixedBuffers = "plain (EINVAL)"
			case c.Path == "block" && c.Depth.QD == 1:
				*rates.IOPS *= 1 + 0.3*float64(j%2)
			case c.Path == "block-poll" && c.Depth.QD == 8:
				c.Rounds[j].Error = "read /dev/nvme0n1: EIO"
			}
		}
	}
	a, err := record.Of("old.json", old)
	require.NoError(t, err)
	b, err := record.Of("new.json", updated)
	require.NoError(t, err)
	r, err := diff.Compare(a, b, diff.Options{})
	require.NoError(t, err)
	return r
}

func TestDiffGolden(t *testing.T) {
	for name, render := range map[string]func(*strings.Builder, *diff.Result) error{
		"diff.txt":  func(b *strings.Builder, r *diff.Result) error { return DiffText(b, r) },
		"diff.json": func(b *strings.Builder, r *diff.Result) error { return DiffJSON(b, r) },
		"diff.csv":  func(b *strings.Builder, r *diff.Result) error { return DiffCSV(b, r) },
	} {
		var b strings.Builder
		require.NoError(t, render(&b, diffed(t)))
		requireGolden(t, name, b.String())
	}
}

func TestDiffTextIsPlain(t *testing.T) {
	r := diffed(t)
	r.Old.Name, r.Warnings = "evil\x1b[31m", append(r.Warnings, "caf\u00e9 "+strings.Repeat("x", 300))
	r.Environment[0].New = strings.Repeat("long ", 100)
	var b strings.Builder
	require.NoError(t, DiffText(&b, r))
	require.NotContains(t, b.String(), fixedSpace)
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		require.LessOrEqual(t, len(line), DefaultWidth, line)
		for _, c := range []byte(line) {
			require.True(t, c >= ' ' && c < 0x7f, "%q", line)
		}
	}
}

// What differs comes before any figure, and emulated figures are marked.
func TestDiffTextOrder(t *testing.T) {
	var b strings.Builder
	require.NoError(t, DiffText(&b, diffed(t)))
	out := b.String()
	require.Less(t, strings.Index(out, "Environment differs"), strings.Index(out, "KIOPS"))
	require.Less(t, strings.Index(out, "Configuration differs"), strings.Index(out, "KIOPS"))
	require.Contains(t, out, "KIOPS (EMULATED), geometric mean")
	require.Contains(t, out, "- kernel: 7.3.0-cloud-amd64 -> 7.4.0-rc1-cloud-amd64")
	require.Contains(t, out, "passthru-poll: fixed_buffers: whole -> plain (EINVAL)")
}

// The rounds of a run are its seconds.
func TestDiffOfRunsNamesItsOwnFlag(t *testing.T) {
	r := diffed(t)
	r.Old.Schema = jobs.Schema
	var b strings.Builder
	require.NoError(t, DiffText(&b, r))
	require.Contains(t, b.String(), "--runtime ")
	require.NotContains(t, b.String(), "--rounds ")
}

// No number of rounds is advised that --rounds does not take.
func TestDiffAdvisesLongerRounds(t *testing.T) {
	r := diffed(t)
	for i := range r.Cells {
		if n := r.Cells[i].RoundsNeeded; n != nil {
			*n = 1001
		}
	}
	var b strings.Builder
	require.NoError(t, DiffText(&b, r))
	require.Contains(t, b.String(), "longer rounds, which scatter less")
	require.NotContains(t, b.String(), "--rounds 1001")
}

func TestDiffJSONRoundTrip(t *testing.T) {
	var b bytes.Buffer
	want := diffed(t)
	require.NoError(t, DiffJSON(&b, want))
	var got diff.Result
	dec := json.NewDecoder(&b)
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&got))
	require.Equal(t, want.Counts, got.Counts)
	require.Len(t, got.Cells, len(want.Cells))
	require.Equal(t, want.Cells[0].Key, got.Cells[0].Key)
}

func TestDiffCSVHasARowForEachCell(t *testing.T) {
	var b bytes.Buffer
	r := diffed(t)
	require.NoError(t, DiffCSV(&b, r))
	rows, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+len(r.Cells))
}

func TestPercent(t *testing.T) {
	for v, want := range map[float64]string{0: "+0.0%", 0.05: "+5.0%", -0.031: "-3.1%", 1.234: "+123%", 20: ">+999%", -0.99: "-99.0%", -0.0001: "+0.0%"} {
		require.Equal(t, want, percent(v, true), v)
	}
	require.Equal(t, "3.0%", percent(0.03, false))
}
