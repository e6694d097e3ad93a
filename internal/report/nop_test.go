package report

import (
	"encoding/csv"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/nopbench"
	"github.com/nvmepass/nvmepass/internal/trial"
)

// repeated are rounds of one rate with a little scatter.
func repeated(rate, bytes float64, n int, e iosetup.Effective) []trial.Round {
	out := []trial.Round{}
	for i := range n {
		ok := uint64(2 * rate * (1 + 0.01*math.Sin(float64(5*i+1))))
		s := &compare.Sample{
			WindowNS: 2e9, OK: ok, Bytes: ok * uint64(bytes), Run: compare.Counts{Issued: ok + 9, OK: ok + 9}, Enters: ok/4 + 1,
			SubmitPerCall: new(4.0), ReapPerCall: new(4.0), MeanInFlight: new(14.5), UserCPUNS: 3e8, SystemCPUNS: 17e8, Settings: e, Errors: map[string]uint64{},
		}
		r := trial.Round{Round: i + 1, Order: i + 1, Started: time.Date(2026, 3, 1, 12, 0, i, 0, time.UTC), Rates: s.Rates(), Sample: s}
		if bytes == 0 {
			r.BytesPerSecond = nil
		}
		out = append(out, r)
	}
	return out
}

func fixedOutcome() trial.Outcome {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return trial.Outcome{Started: at, Finished: at.Add(time.Minute), Totals: compare.Counts{Issued: 100, OK: 100}}
}

// nopResult is a measurement at two depths with figures of the given scale.
func nopResult(scale float64, ablate bool) *nopbench.Result {
	cfg := nopbench.DefaultConfig()
	cfg.Depths, cfg.CPU, cfg.Ablate = []iosetup.Depth{{QD: 1, Batch: 1}, {QD: 128, Batch: 32}}, new(0), ablate
	cfg.Normalize()
	ring := iosetup.Effective{FixedBuffers: iosetup.FixedOff, RegisteredRing: true, RingFlags: []string{"SUBMIT_ALL", "SINGLE_ISSUER", "DEFER_TASKRUN"}}
	other := ring
	other.RegisteredRing = false
	r := &nopbench.Result{Schema: nopbench.Schema, ToolVersion: "v0.1.0", Outcome: fixedOutcome(), Config: cfg, Warnings: []string{}}
	for _, d := range cfg.Depths {
		rate := scale * map[int]float64{1: 800e3, 128: 5.6e6}[d.QD]
		r.Cells = append(r.Cells, nopbench.CellResult{Cell: nopbench.Cell{Op: nopbench.NOP, Depth: d}, Rounds: repeated(rate, 0, 5, ring)})
		if ablate {
			r.Cells = append(r.Cells,
				nopbench.CellResult{Cell: nopbench.Cell{Op: nopbench.NOP, Depth: d, Variant: "--registerring=false"}, Rounds: repeated(rate*0.9, 0, 5, other)},
				nopbench.CellResult{Cell: nopbench.Cell{Op: nopbench.NOP, Depth: d, Variant: "--sq-rewind=true"}, Rounds: repeated(rate, 0, 5, ring)})
		}
	}
	r.Summarize()
	r.SetEnvironment(compare.Environment{Kernel: "6.18.0", CPUModel: "AMD Ryzen 9 5950X", CPUCount: 32, Governor: "performance"})
	return r
}

func nopOut(t *testing.T, r *nopbench.Result, b NopBaseline) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, NopText(&out, r, b))
	requirePlain(t, out.String())
	return out.String()
}

// requirePlain: text is ASCII of at most 100 columns without spaces at the ends
// of lines.
func requirePlain(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		require.LessOrEqual(t, len(line), DefaultWidth, line)
		require.Equal(t, strings.TrimRight(line, " "), line)
		for _, c := range []byte(line) {
			require.True(t, c >= ' ' && c < 0x7f, "%q", line)
		}
	}
}

func TestNopTextGolden(t *testing.T) {
	published, err := nopbench.Baseline("series-2020")
	require.NoError(t, err)
	requireGolden(t, "nop.txt", nopOut(t, nopResult(1, false), NopBaseline{Published: published}))
	requireGolden(t, "nop-record.txt", nopOut(t, nopResult(1.04, true), NopBaseline{Name: "old.json", Record: nopResult(1, false)}))
}

// TestNopTextTellsAFewPercent: a recorded run that was 4 % slower is told from
// one that was as fast.
func TestNopTextTellsAFewPercent(t *testing.T) {
	out := nopOut(t, nopResult(1.04, false), NopBaseline{Name: "old.json", Record: nopResult(1, false)})
	require.Equal(t, 2, strings.Count(out, "faster than then"))
	out = nopOut(t, nopResult(1.002, false), NopBaseline{Name: "old.json", Record: nopResult(1, false)})
	require.Equal(t, 2, strings.Count(out, "same: the interval contains 1"))
	require.Contains(t, nopOut(t, nopResult(0.9, false), NopBaseline{Name: "old.json", Record: nopResult(1, false)}), "slower than then")
	other := nopResult(1, false)
	other.Cells, other.Config.Depths = other.Cells[:1], other.Config.Depths[:1]
	require.Contains(t, nopOut(t, nopResult(1, false), NopBaseline{Name: "old.json", Record: other}), "not in both runs")
}

// TestNopTextOfTrouble: an interrupted run without figures is rendered, marked.
func TestNopTextOfTrouble(t *testing.T) {
	r := nopResult(1, false)
	r.Interrupted, r.StopReason, r.Environment.Emulated = true, "context canceled", true
	r.Cells[0].Rounds, r.Cells[0].Summary, r.Cells[0].TotalIOs, r.Cells[0].NSPerOp = nil, trial.Summary{}, 0, compare.Estimate{}
	r.Warnings = []string{"caf\u00e9"}
	out := nopOut(t, r, NopBaseline{})
	require.Contains(t, out, "INTERRUPTED: context canceled")
	require.Contains(t, out, "1_1: total ios: 0, IOPS: -")
	require.Contains(t, out, "Commands per second (EMULATED)")
	nopOut(t, &nopbench.Result{}, NopBaseline{})
}

func TestNopJSONGolden(t *testing.T) {
	r := nopResult(1, false)
	r.Cells, r.Config.Depths = r.Cells[:1], r.Config.Depths[:1]
	r.Cells[0].Rounds = r.Cells[0].Rounds[:1]
	r.Summarize()
	var b strings.Builder
	require.NoError(t, NopJSON(&b, r))
	requireGolden(t, "nop.json", b.String())
	back, err := nopbench.Decode(strings.NewReader(b.String()))
	require.NoError(t, err)
	require.Equal(t, r, back)
	r.Cells[0].IOPS.Median = new(math.NaN())
	var none strings.Builder
	require.ErrorContains(t, NopJSON(&none, r), "render nop as JSON")
	require.Empty(t, none.String())
}

func TestNopGoldens(t *testing.T) {
	r := nopResult(1, false)
	r.Cells, r.Config.Depths = r.Cells[:1], r.Config.Depths[:1]
	r.Environment.Emulated = true
	requireGolden(t, "nop.csv", rendered(t, NopCSV, r))
	requireGolden(t, "nop.bench", rendered(t, NopBench, r))
	requireGolden(t, "nop.fio.json", rendered(t, NopFio, r))
}

func TestNopCSVAndBench(t *testing.T) {
	r := nopResult(1, true)
	r.Cells[0].Rounds[2] = trial.Round{Round: 3, Error: "EIO"}
	var b strings.Builder
	require.NoError(t, NopCSV(&b, r))
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+6*5)
	require.Equal(t, []string{"nop", "1_1", "1", "1", ""}, rows[1][:5])
	for _, row := range rows {
		require.Len(t, row, 8+len(roundHeader))
	}

	b.Reset()
	require.NoError(t, NopBench(&b, r))
	require.Contains(t, b.String(), "Unit IOPS better=higher\n")
	line := regexp.MustCompile(`(?m)^BenchmarkNop/op=nop/qd=\d+/batch=\d+(/[a-z-]+=[a-z]+)? \d+ \d+\.\d\d ns/op \d+\.\d\d IOPS [\d.]+ user-ns/op [\d.]+ system-ns/op$`)
	require.Len(t, line.FindAllString(b.String(), -1), 6*5-1)
	require.Equal(t, 6*5-1, strings.Count(b.String(), "Benchmark"))
	for _, f := range []func() error{
		func() error { return NopText(brokenWriter{}, r, NopBaseline{}) }, func() error { return NopJSON(brokenWriter{}, r) },
		func() error { return NopCSV(brokenWriter{}, r) }, func() error { return NopBench(brokenWriter{}, r) }, func() error { return NopFio(brokenWriter{}, r) },
	} {
		require.ErrorIs(t, f(), errBroken)
	}
}
