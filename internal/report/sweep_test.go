package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/sweep"
	"github.com/nvmepass/nvmepass/internal/trial"
)

// sweepResult has the published figures on four paths; scale makes another run.
func sweepResult(scale float64) *sweep.Result {
	cfg := sweep.DefaultConfig()
	cfg.Device, cfg.Sizes = "/dev/ng0n1", []int{64 << 10, 128 << 10, 144 << 10, 256 << 10}
	cfg.Paths = []sweep.Path{sweep.Block, sweep.PassthruPoll, sweep.BlockPoll, sweep.SyncPoll}
	mibps := map[sweep.Path][]float64{
		sweep.Block: {1500, 2600, 2700, 3900}, sweep.PassthruPoll: {2200, 3200, 0, 0}, sweep.BlockPoll: {2100, 3167, 898, 1576}, sweep.SyncPoll: {1800, 2705, 2901, 4194},
	}
	r := &sweep.Result{
		Schema: sweep.Schema, ToolVersion: "v0.1.0", Outcome: fixedOutcome(), Config: cfg,
		Limits: sweep.Limits{OneCommand: 128 << 10, MDTS: 128 << 10, MaxHWSectors: 256 << 10, MaxSectors: 256 << 10, Unsplit: 128 << 10},
	}
	for i, size := range cfg.Sizes {
		for _, p := range cfg.Paths {
			c := sweep.CellResult{Cell: sweep.Cell{BlockSize: size, Path: p}, Commands: 1, Rounds: []trial.Round{}}
			e := iosetup.Effective{Polled: p.PolledRing(), FixedBuffers: iosetup.FixedWhole, RegisteredFiles: true, RegisteredRing: true, RingFlags: []string{"SUBMIT_ALL"}}
			if p == sweep.SyncPoll {
				e = iosetup.Effective{FixedBuffers: iosetup.FixedOff, Vectored: true, RingFlags: []string{}}
			}
			if p.Passthru() && size > 128<<10 {
				c.NotRun = "one command never carries more than 131072 bytes here (MDTS 128k, max_hw_sectors 256k), and passthrough is never split"
			} else {
				c.Commands = r.Limits.Pieces(size)
				c.Rounds = repeated(scale*mibps[p][i]*(1<<20)/float64(size), float64(size), 5, e)
			}
			r.Cells = append(r.Cells, c)
		}
	}
	r.Summarize()
	r.SetEnvironment(compare.Environment{Kernel: "5.6.0", CPUModel: "Intel Xeon", CPUCount: 8, Devices: []compare.Device{{
		Path: "/dev/ng0n1", Model: "INTEL SSDPED1D280GA", Firmware: "E2010325", LBAFormat: compare.LBAFormat{DataBytes: 512}, PollQueues: new(2), Scheduler: "none",
		TemperatureBeforeCelsius: new(40), TemperatureAfterCelsius: new(41),
	}}})
	return r
}

func sweepOut(t *testing.T, r *sweep.Result, b SweepBaseline) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, SweepText(&out, r, b))
	requirePlain(t, out.String())
	return out.String()
}

func TestSweepTextGolden(t *testing.T) {
	published, err := sweep.Baseline("series-2020b")
	require.NoError(t, err)
	requireGolden(t, "sweep.txt", sweepOut(t, sweepResult(1), SweepBaseline{Published: published}))
	requireGolden(t, "sweep-record.txt", sweepOut(t, sweepResult(1.05), SweepBaseline{Name: "old.json", Record: sweepResult(1)}))
}

// TestSweepTextOfTrouble: what has no figure has none, and nothing breaks.
func TestSweepTextOfTrouble(t *testing.T) {
	published, err := sweep.Baseline("series-2020b")
	require.NoError(t, err)
	r := sweepResult(1)
	r.Interrupted, r.StopReason, r.Environment.Emulated = true, "SIGINT", true
	for i := range r.Cells {
		r.Cells[i].Rounds = []trial.Round{}
	}
	r.Cells[0].Rounds = []trial.Round{{Round: 1, Error: "EIO"}}
	r.Limits = sweep.Limits{Chunk: 128 << 10, Unsplit: 60 << 10, OneCommand: 128 << 10}
	r.Summarize()
	out := sweepOut(t, r, SweepBaseline{Published: published})
	require.Contains(t, out, "INTERRUPTED: SIGINT")
	require.Contains(t, out, "MiB/s (EMULATED)")
	require.Regexp(t, `(?m)^  64k +1 or 2 +error +- +- +-$`, out)
	require.Contains(t, out, "above 60k where their memory is scattered, and at multiples of 128k")
	require.NotContains(t, out, "95 % interval (EMULATED)")
	wide := sweepResult(1)
	wide.Config.Paths, wide.Config.Sizes = sweep.AllPaths(), []int{1 << 20, 1<<20 + 512}
	for _, n := range wide.Config.Sizes {
		for _, p := range wide.Config.Paths {
			wide.Cells = append(wide.Cells, sweep.CellResult{Cell: sweep.Cell{BlockSize: n, Path: p}, Commands: 9, Rounds: repeated(12345, float64(n), 5, iosetup.Effective{})})
		}
	}
	wide.Summarize()
	require.Contains(t, sweepOut(t, wide, SweepBaseline{Name: "old.json", Record: wide}), "same +-", "six columns fit")
	r.Environment.Devices = nil
	sweepOut(t, r, SweepBaseline{Record: &sweep.Result{}})
	sweepOut(t, &sweep.Result{}, SweepBaseline{Published: published})
}

func TestSweepJSON(t *testing.T) {
	r := sweepResult(1)
	var b strings.Builder
	require.NoError(t, SweepJSON(&b, r))
	back, err := sweep.Decode(strings.NewReader(b.String()))
	require.NoError(t, err)
	require.Equal(t, r, back)
	r.Cells, r.Config.Sizes = r.Cells[10:11], r.Config.Sizes[2:3]
	r.Cells[0].Rounds = r.Cells[0].Rounds[:1]
	b.Reset()
	require.NoError(t, SweepJSON(&b, r))
	requireGolden(t, "sweep.json", b.String())
}

func TestSweepGoldens(t *testing.T) {
	r := sweepResult(1)
	requireGolden(t, "sweep.csv", rendered(t, SweepCSV, r))
	requireGolden(t, "sweep.bench", rendered(t, SweepBench, r))
	r.Cells = r.Cells[len(r.Cells)-4:] // a synchronous one, and one that was not run
	requireGolden(t, "sweep.fio.json", rendered(t, SweepFio, r))
}

// TestSweepFioSumsAddUp: each cell that was run is a job, whose figures are those of
// its rounds.
func TestSweepFioSumsAddUp(t *testing.T) {
	r := sweepResult(1)
	var doc struct {
		Jobs []struct {
			Jobname string
			Options map[string]string `json:"job options"`
			Read    struct {
				IOPS  float64
				Total float64 `json:"total_ios"`
				Bytes float64 `json:"io_bytes"`
				BW    float64 `json:"bw_bytes"`
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(rendered(t, SweepFio, r)), &doc))
	at := 0
	for _, c := range r.Cells {
		if c.NotRun != "" {
			continue
		}
		job := doc.Jobs[at]
		at++
		require.Equal(t, fmt.Sprintf("%s-%d", c.Path, c.BlockSize), job.Jobname)
		require.Equal(t, strconv.Itoa(c.BlockSize), job.Options["bs"])
		require.InEpsilon(t, *c.IOPS.Median, job.Read.IOPS, 0.05)
		require.InEpsilon(t, *c.BytesPerSecond.Median, job.Read.BW, 0.05)
		require.InEpsilon(t, job.Read.Total*float64(c.BlockSize), job.Read.Bytes, 1e-9)
	}
	require.Len(t, doc.Jobs, at)
}

func TestSweepCSV(t *testing.T) {
	r := sweepResult(1)
	var b strings.Builder
	require.NoError(t, SweepCSV(&b, r))
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+14*5+2, "a row for each round, and one for each cell that is not run")
	notRun := 0
	for _, row := range rows[1:] {
		require.Len(t, row, 8+len(roundHeader))
		if row[5] != "" {
			notRun++
			require.Empty(t, row[8])
		}
	}
	require.Equal(t, 2, notRun)
	for _, f := range []func() error{
		func() error { return SweepText(brokenWriter{}, r, SweepBaseline{}) }, func() error { return SweepJSON(brokenWriter{}, r) }, func() error { return SweepCSV(brokenWriter{}, r) },
		func() error { return SweepBench(brokenWriter{}, r) }, func() error { return SweepFio(brokenWriter{}, r) },
	} {
		require.ErrorIs(t, f(), errBroken)
	}
}

// FuzzSweepDecoded: a record that a user edited is rendered or refused.
func FuzzSweepDecoded(f *testing.F) {
	var b strings.Builder
	if err := SweepJSON(&b, sweepResult(1)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String())
	f.Add(`{"schema":"nvmepass.sweep/1","config":{"paths":["x"],"block_sizes_bytes":[-1,0]},"limits":{"chunk_bytes":1,"max_sectors_bytes":18446744073709551615},"cells":[{"block_size_bytes":0,"path":"x","rounds":[{"sample":{}}],"bytes_per_second":{"median":0}}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		r, err := sweep.Decode(strings.NewReader(in))
		if err != nil {
			return
		}
		p, _ := sweep.Baseline("series-2020b")
		var text strings.Builder
		require.NoError(t, SweepText(&text, r, SweepBaseline{Published: p, Record: r}))
		requirePrintable(t, text.String())
		require.NoError(t, SweepCSV(&strings.Builder{}, r))
		require.NoError(t, SweepBench(&strings.Builder{}, r))
		require.NoError(t, SweepFio(&strings.Builder{}, r))
		require.NoError(t, SweepJSON(&strings.Builder{}, r))
	})
}
