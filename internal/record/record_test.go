package record

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/latency"
	"github.com/nvmepass/nvmepass/internal/nopbench"
	"github.com/nvmepass/nvmepass/internal/sweep"
	"github.com/nvmepass/nvmepass/internal/trial"
)

var mode = iosetup.Effective{Polled: true, FixedBuffers: iosetup.FixedWhole, RingFlags: []string{"IOPOLL", "SUBMIT_ALL"}}

func sample(ok uint64) *compare.Sample {
	return &compare.Sample{WindowNS: 1e9, OK: ok, Bytes: 512 * ok, Run: compare.Counts{Issued: ok, OK: ok}, SubmitPerCall: new(1.5), Settings: mode}
}

func environment() compare.Environment {
	return compare.Environment{
		Kernel: "7.3.0", IOUringFeatures: []string{"A", "B"}, Emulated: true, EmulatedReason: "a model",
		Devices: []compare.Device{{Path: "/dev/ng0n1", Model: "Drive ", Firmware: "1.0", LBAFormat: compare.LBAFormat{DataBytes: 512, MetadataBytes: 8, MetadataLayout: "separate"}}},
	}
}

func read(t *testing.T, v any) *Record {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	r, err := Read("run.json", strings.NewReader(string(b)))
	require.NoError(t, err)
	require.Equal(t, "run.json", r.Name)
	return r
}

func compared(t *testing.T) *compare.Result {
	t.Helper()
	cfg := compare.DefaultConfig()
	cfg.Devices, cfg.Rounds, cfg.Depths = []string{"/dev/ng0n1"}, 4, []iosetup.Depth{{QD: 8, Batch: 2}}
	res, err := compare.Run(t.Context(), cfg, func(_ context.Context, s compare.Step) (compare.Sample, error) {
		if s.Path == iosetup.BlockPoll {
			return compare.Sample{}, errors.New("no poll queue")
		}
		out := *sample(uint64(1000 + 10*s.Round))
		if s.Path == iosetup.Passthru && s.Round == 2 {
			out.Settings.FixedBuffers = "plain (EINVAL)"
		}
		return out, nil
	}, nil)
	require.NoError(t, err)
	res.SetEnvironment(environment())
	res.ToolVersion = "v1"
	return res
}

func TestCompare(t *testing.T) {
	r := read(t, compared(t))
	require.Equal(t, "compare", r.Kind)
	require.Equal(t, "v1", r.ToolVersion)
	require.True(t, r.Emulated)
	require.Equal(t, []Device{{"/dev/ng0n1", "Drive, firmware 1.0, LBA 512 B, 8 B metadata, separate"}}, r.Devices)
	require.Contains(t, r.Config, Setting{"block_size_bytes", "512"})
	require.Contains(t, r.Config, Setting{"paths", "block, passthru, passthru-poll, block-poll"})
	require.Contains(t, r.Config, Setting{"cpu", "-"})
	require.Contains(t, r.Environment, Setting{"io_uring_features", "A, B"})
	require.Contains(t, r.Environment, Setting{"devices[0].lba_format.data_bytes", "512"})
	require.Len(t, r.Cells, 4)

	c := r.Cell(Key{Device: "/dev/ng0n1", Row: "8_2", Column: "passthru-poll", Metric: IOPS})
	require.NotNil(t, c)
	require.Equal(t, []float64{1010, 1020, 1030, 1040}, c.Rounds)
	require.InDelta(t, 1025, *c.Median, 1e-9)
	require.Equal(t, 4, c.Spread.N)
	require.Less(t, *c.CILow, 1025.0)
	require.Equal(t, "block", c.Reference)
	require.NotNil(t, c.Ratio)
	require.Contains(t, c.Effective, Setting{"ring_flags", "IOPOLL, SUBMIT_ALL"})
	require.Contains(t, c.Costs, Cost{"submit/call", new(1.5)})

	c = r.Cell(Key{Device: "/dev/ng0n1", Row: "8_2", Column: "passthru", Metric: IOPS})
	require.Contains(t, c.Effective, Setting{"fixed_buffers", "whole / plain (EINVAL)"})
	c = r.Cell(Key{Device: "/dev/ng0n1", Row: "8_2", Column: "block-poll", Metric: IOPS})
	require.Equal(t, []string{"no poll queue"}, c.Errors)
	require.Nil(t, c.Median)
	require.Equal(t, 4, c.Planned)

	f, ok := r.Published.Figure("8_2", "passthru-poll")
	require.True(t, ok)
	require.InDelta(t, 680e3, f.Value, 0)
	require.InDelta(t, 680./406, f.Ratio, 1e-9)
	_, ok = r.Published.Figure("1_1", "block")
	require.False(t, ok, "a row that the record has not")

	same, err := Of("run.json", compared(t))
	require.NoError(t, err)
	require.Equal(t, len(r.Cells), len(same.Cells))
}

func rounds(values ...uint64) []trial.Round {
	var out []trial.Round
	for i, v := range values {
		s := sample(v)
		out = append(out, trial.Round{Round: i + 1, Sample: s, Rates: s.Rates()})
	}
	return out
}

func TestNop(t *testing.T) {
	res := nopbench.Result{Schema: nopbench.Schema, Config: nopbench.DefaultConfig(), Environment: environment()}
	res.Cells = []nopbench.CellResult{
		{Cell: nopbench.Cell{Op: nopbench.NOP, Depth: iosetup.Depth{QD: 1, Batch: 1}}, Rounds: rounds(5, 6, 7)},
		{Cell: nopbench.Cell{Op: nopbench.NOP, Depth: iosetup.Depth{QD: 1, Batch: 1}, Variant: "--sqpoll=true"}, Rounds: rounds(8, 9)},
	}
	r := read(t, &res)
	require.Equal(t, "nop", r.Kind)
	require.Equal(t, []float64{5, 6, 7}, r.Cell(Key{Row: "1_1", Column: "nop", Metric: IOPS}).Rounds)
	require.Nil(t, r.Cell(Key{Row: "1_1", Column: "nop", Variant: "--sqpoll=true", Metric: IOPS}).Spread)
	f, ok := r.Published.Figure("after", "nop")
	require.True(t, ok)
	require.InDelta(t, 1.042, f.Ratio, 0.001)
}

func TestSweep(t *testing.T) {
	res := sweep.Result{Schema: sweep.Schema, Config: sweep.DefaultConfig(), Environment: environment(), Limits: sweep.Limits{OneCommand: 128 << 10}}
	res.Config.Device = "/dev/ng0n1"
	res.Interrupted, res.StopReason = true, "a signal"
	res.Cells = []sweep.CellResult{
		{Cell: sweep.Cell{BlockSize: 4096, Path: sweep.BlockPoll}, Commands: 1, Rounds: rounds(100, 110, 120)},
		{Cell: sweep.Cell{BlockSize: 256 << 10, Path: sweep.BlockPoll}, Commands: 2, NotRun: "never completes"},
	}
	r := read(t, &res)
	require.Equal(t, "bytes", r.X)
	require.Equal(t, []Mark{{128 << 10, "one command: 128k"}}, r.Marks)
	require.True(t, r.Interrupted)
	c := r.Cell(Key{Device: "/dev/ng0n1", Row: "4k", Column: string(sweep.BlockPoll), Metric: BytesPerSecond})
	require.Equal(t, []float64{51200, 56320, 61440}, c.Rounds)
	require.InDelta(t, 4096, c.X, 0)
	require.Equal(t, []string{"not run: never completes"}, r.Cells[1].Errors)
}

func TestRun(t *testing.T) {
	figures := jobs.Figures{
		WindowNS: 5e9, OK: 500, IOPS: new(100.0), Samples: &jobs.Spread{Count: 5, Mean: 100, Stddev: 2}, Ring: &jobs.Ring{SubmitPerCall: new(2.0)},
		Directions: []jobs.DirectionFigures{{Direction: "read", Latency: &latency.Summary{Percentiles: []latency.Percentile{{Percent: 50, NS: 1000}, {Percent: 99, NS: 9000}}}}},
	}
	cfg := jobs.DefaultConfig()
	cfg.Devices = []string{"/dev/ng0n1", "/dev/ng1n1"}
	res := jobs.Result{
		Schema: jobs.Schema, Config: cfg, Environment: environment(), Total: figures, Started: time.Unix(0, 0).UTC(),
		Devices: []jobs.DeviceResult{{Device: "/dev/ng0n1", Figures: figures}, {Device: "/dev/ng1n1", Figures: jobs.Figures{}}},
		Jobs:    []jobs.JobResult{{Devices: []string{"/dev/ng0n1"}, Settings: mode}, {Devices: []string{"/dev/ng1n1"}, Settings: mode, Error: "gone"}},
	}
	r := read(t, &res)
	require.Len(t, r.Cells, 3, "both devices and the sum")
	c := r.Cell(Key{Device: "/dev/ng0n1", Row: "128_32", Column: "passthru", Metric: IOPS})
	require.Equal(t, 5, c.Spread.N)
	require.Less(t, *c.CILow, 100.0)
	require.Greater(t, *c.CIHigh, 100.0)
	require.Equal(t, []LatencyCurve{{"read", []Percentile{{50, 1000}, {99, 9000}}}}, c.Latency)
	require.Contains(t, c.Effective, Setting{"polled", "true"})
	require.Equal(t, []string{"gone"}, r.Cell(Key{Device: "/dev/ng1n1", Row: "128_32", Column: "passthru", Metric: IOPS}).Errors)
	require.NotNil(t, r.Cell(Key{Device: allDevices, Row: "128_32", Column: "passthru", Metric: IOPS}))
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "not one JSON document",
		"no record":                       "not one JSON document",
		"[]":                              "not one JSON document",
		"{}":                              `schema ""`,
		`{"schema":"nvmepass.compare/0"}`: "nvmepass.compare/1, nvmepass.run/1",
		`{"schema":"nvmepass.compare/1","cells":{}}`:     "give a file",
		`{"schema":"nvmepass.compare/1"}{}`:              "not one JSON document",
		`{"schema":"nvmepass.sweep/1","limits":[]}`:      "give a file",
		`{"schema":"nvmepass.compare/1","config":[null`:  "not one JSON document",
		`{"schema":"nvmepass.nop/1","cells":[{"op":1}]}`: "give a file",
	} {
		_, err := Read("x.json", strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "x.json", text)
	}
}

// TestReadIsBounded: a file without end is refused where a record cannot be
// longer, by whoever reads it as a stream.
func TestReadIsBounded(t *testing.T) {
	n, err := io.Copy(io.Discard, Limited(endless{}))
	require.LessOrEqual(t, n, int64(MaxBytes))
	require.ErrorContains(t, err, "larger than 1073741824 bytes")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	return len(p), nil
}

func TestFlatten(t *testing.T) {
	got, err := flatten([]byte(`{"a":1,"b":{"c":"x","d":[]},"e":["p","q"],"f":[{"g":null},{"g":true}],"h":""}`))
	require.NoError(t, err)
	require.Equal(t, []Setting{{"a", "1"}, {"b.c", "x"}, {"b.d", "-"}, {"e", "p, q"}, {"f[0].g", "-"}, {"f[1].g", "true"}, {"h", "-"}}, got)
	_, err = flatten([]byte(strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)))
	require.ErrorContains(t, err, "deep")
	got, err = flatten(nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestUnit(t *testing.T) {
	name, per := Unit("clat_p99_ns")
	require.Equal(t, "clat_p99 us", name)
	require.InDelta(t, 1e3, per, 0)
	name, per = Unit("other")
	require.Equal(t, "other", name)
	require.InDelta(t, 1, per, 0)
}

// Whatever a file holds, it is a record or an error.
func FuzzRead(f *testing.F) {
	for _, schema := range Schemas() {
		f.Add(`{"schema":"` + schema + `","config":{"devices":["d"],"qd_batch":"8_2"},"environment":{"devices":[{"path":"d"}]},"cells":[{"device":"d","qd_batch":"8_2","rounds":[{"rates":{"iops":1},"sample":{"ok":1}}]}],"devices":[{"device":"d","iops":1,"iops_samples":{"count":5,"mean":-1}}]}`)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r, err := Read("x", strings.NewReader(in))
		if err == nil {
			require.Contains(t, Schemas(), r.Schema)
		}
	})
}
