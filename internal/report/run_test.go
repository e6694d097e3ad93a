package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/latency"
	"github.com/nvmepass/nvmepass/internal/trial"
	"github.com/nvmepass/nvmepass/internal/workload"
)

func runFigures(ok uint64, dirs ...string) jobs.Figures {
	f := jobs.Figures{
		WindowNS: 10e9, OK: ok, Bytes: ok * 512, Run: compare.Counts{Issued: ok + 700, OK: ok + 700},
		IOPS: compare.Float(float64(ok) / 10), BytesPerSecond: compare.Float(float64(ok) * 51.2),
		Samples: &jobs.Spread{Count: 10, Min: float64(ok)/10 - 5000, Max: float64(ok)/10 + 7000, Mean: float64(ok) / 10, Stddev: 2000},
		Ring: &jobs.Ring{
			Enters: ok / 32, SubmitPerCall: compare.Float(32), ReapPerCall: compare.Float(31.4), MeanInFlight: compare.Float(127.6),
			UserCPUNS: 1e9, SystemCPUNS: 9e9, UserCPUNSPerIO: compare.Float(32.1), SystemCPUNSPerIO: compare.Float(289),
		},
	}
	for i, d := range dirs {
		part := ok / uint64(len(dirs))
		h := latency.New()
		for k := range 1000 {
			h.Record(int64(20_000 + 1000*i + 37*k))
		}
		f.Directions = append(f.Directions, jobs.DirectionFigures{Direction: d, OK: part, Bytes: part * 512, IOPS: compare.Float(float64(part) / 10), BytesPerSecond: compare.Float(float64(part) * 51.2), Latency: h.Summary()})
	}
	return f
}

func runResult(devices []string, rw workload.Pattern, dirs ...string) *jobs.Result {
	c := jobs.DefaultConfig()
	c.Devices, c.RW, c.BlockSize, c.Jobs, c.Latency = devices, rw, 512, len(devices), true
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := &jobs.Result{
		Schema: jobs.Schema, ToolVersion: "v0.2.0", Started: at, Finished: at.Add(10 * time.Second), Config: c,
		Environment: trial.Environment(compare.Environment{Kernel: "7.3.0", CPUModel: "AMD EPYC 9354P 32-Core Processor", CPUCount: 64, Governor: "performance"}),
		Errors:      map[string]uint64{}, Warnings: []string{},
	}
	for i, d := range devices {
		f := runFigures(31_115_200+uint64(i)*640, dirs...)
		r.Devices = append(r.Devices, jobs.DeviceResult{Device: d, Figures: f})
		r.Jobs = append(r.Jobs, jobs.JobResult{Devices: []string{d}, CPUs: []int{}, Figures: f, Settings: iosetup.Effective{
			FixedBuffers: iosetup.FixedWhole, RegisteredFiles: true, RegisteredRing: true, RingFlags: []string{"SQE128", "CQE32", "DEFER_TASKRUN"},
		}})
	}
	r.Total = runFigures(31_115_200*uint64(len(devices)), dirs...)
	return r
}

// troubledRun is as much as can go wrong.
func troubledRun() *jobs.Result {
	r := runResult([]string{"/dev/ng0n1", "/dev/ng1n1"}, workload.RandRW, "read", "write")
	r.Interrupted, r.Config.SharedRing, r.Config.Jobs, r.Jobs = true, true, 1, r.Jobs[:1]
	r.Config.Rule, r.Config.CPUs, r.Config.Distribution, r.Config.Offset, r.Config.Size = iosetup.RuleFio, []int{3}, "zipf:1.2", 1<<20, 1<<30
	r.Config.RateIOPS, r.Config.Rate, r.Config.RateProcess, r.Config.Number = 1000, 1<<20, jobs.Poisson, 500
	r.Jobs[0].Devices, r.Jobs[0].CPUs, r.Jobs[0].Error = r.Config.Devices, []int{3}, "submit: io_uring_enter: nothing completed\nat all"
	r.Environment.Emulated, r.Environment.EmulatedReason = true, "the drive calls itself \"QEMU\u00e9\""
	r.Errors = map[string]uint64{"LBA Out of Range (0x80)": 3, "EINVAL": 1}
	r.Warnings = []string{"4 of 100 commands failed: rates count only those that ended well"}
	r.Devices[0].Ring, r.Devices[0].Samples, r.Devices[1].Figures = nil, nil, jobs.Figures{Directions: []jobs.DirectionFigures{{Direction: "read"}, {Direction: "write"}}}
	r.Devices[0].Run.Failed = 4
	return r
}

func rendered[R any](t *testing.T, f func(io.Writer, R) error, r R) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, f(&b, r))
	return b.String()
}

var (
	oneRun = func() *jobs.Result { return runResult([]string{"/dev/ng0n1"}, workload.RandRead, "read") }
	twoRun = func() *jobs.Result { return runResult([]string{"/dev/ng0n1", "/dev/ng1n1"}, workload.RandRead, "read") }
)

func TestRunGolden(t *testing.T) {
	for name, f := range map[string]func(io.Writer, *jobs.Result) error{"txt": RunText, "json": RunJSON, "csv": RunCSV, "bench": RunBench, "fio": RunFio} {
		requireGolden(t, "run-one."+name, rendered(t, f, oneRun()))
		requireGolden(t, "run-troubled."+name, rendered(t, f, troubledRun()))
	}
	requireGolden(t, "run-two.txt", rendered(t, RunText, twoRun()))
}

func TestRunTextIsPlain(t *testing.T) {
	for _, r := range []*jobs.Result{oneRun(), twoRun(), troubledRun(), {}} {
		for line := range strings.Lines(rendered(t, RunText, r)) {
			line = strings.TrimSuffix(line, "\n")
			require.LessOrEqual(t, len(line), DefaultWidth, line)
			require.Equal(t, strings.TrimRight(line, " "), line)
			for _, c := range []byte(line) {
				require.True(t, c >= ' ' && c < 0x7f, "%q", line)
			}
		}
	}
}

func TestRunJSONReadsBack(t *testing.T) {
	for _, r := range []*jobs.Result{oneRun(), troubledRun()} {
		text := rendered(t, RunJSON, r)
		back, err := jobs.Decode(strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, text, rendered(t, RunJSON, back))
	}
}

func TestRunCSVIsRectangular(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(rendered(t, RunCSV, troubledRun()))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+2*(1+2+1), "two directions of the total, two devices and a job")
	require.Contains(t, strings.Join(rows[0], ","), "latency_p99.99_ns")
}

// benchForm is a result line as golang.org/x/perf/benchfmt has it: a name that
// begins with Benchmark, a count, and pairs of value and unit.
var benchForm = regexp.MustCompile(`^Benchmark[A-Z/][^ ]* [1-9][0-9]*( [0-9.e+-]+ [^ ]+)+$`)

func TestRunBenchForm(t *testing.T) {
	results := 0
	for line := range strings.Lines(rendered(t, RunBench, twoRun())) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "Benchmark") {
			require.Regexp(t, benchForm, line)
			require.Zero(t, len(strings.Fields(line))%2)
			require.Contains(t, line, " IOPS")
			results++
			continue
		}
		require.Regexp(t, `^(# nvmepass .+|Unit [^ ]+ better=(higher|lower)|[a-z][a-z-]*: .+)$`, line)
	}
	require.Equal(t, 3, results, "two devices and the total")
	require.NotContains(t, rendered(t, RunBench, &jobs.Result{}), "Benchmark", "without figures there is no line")
}

// TestRunFioShape: the keys that readers of fio's JSON look for.
func TestRunFioShape(t *testing.T) {
	var doc struct {
		Version string `json:"fio version"`
		Jobs    []map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(rendered(t, RunFio, oneRun())), &doc))
	require.True(t, strings.HasPrefix(doc.Version, "nvmepass-"))
	require.Len(t, doc.Jobs, 1)
	for _, dir := range []string{"read", "write", "trim"} {
		var d map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(doc.Jobs[0][dir], &d))
		for _, key := range []string{"io_bytes", "io_kbytes", "bw_bytes", "bw", "iops", "runtime", "total_ios", "slat_ns", "clat_ns", "lat_ns", "bw_mean", "iops_mean", "iops_stddev"} {
			require.Contains(t, d, key, dir)
		}
	}
	for _, key := range []string{"jobname", "error", "job options", "usr_cpu", "sys_cpu", "iodepth_level"} {
		require.Contains(t, doc.Jobs[0], key)
	}
}

func TestLiveLine(t *testing.T) {
	for want, l := range map[string]jobs.Live{
		"IOPS=3.11M, BW=1519MiB/s, IOS/call=32/31, inflight=128":        {IOPS: 3_111_520, BytesPerSecond: 3_111_520 * 512, SubmitPerCall: 32, ReapPerCall: 31.2, InFlight: 128},
		"IOPS=254.82K, BW=124MiB/s, IOS/call=1/1, inflight=2":           {IOPS: 254_820, BytesPerSecond: 254_820 * 512, SubmitPerCall: 1, ReapPerCall: 1, InFlight: 2},
		"IOPS=13300, BW=6.49MiB/s, IOS/call=1/1, inflight=1 (warm-up)":  {IOPS: 13_300, BytesPerSecond: 13_300 * 512, SubmitPerCall: 1, ReapPerCall: 1, InFlight: 1, Warmup: true},
		"IOPS=1.61M, BW=6.13GiB/s, IOS/call=0/0, inflight=0, failed=17": {IOPS: 1_606_000, BytesPerSecond: 1_606_000 * 4096, Failed: 17},
	} {
		require.Equal(t, want, liveLine(&l))
	}
}

func TestRunLive(t *testing.T) {
	var b strings.Builder
	l := NewRunLive(&b, false, 0)
	l.Update(jobs.Live{IOPS: 1})
	l.Update(jobs.Live{IOPS: 2})
	l.Finish()
	require.Equal(t, 2, strings.Count(b.String(), "\n"))
	require.NotContains(t, b.String(), "\r")

	b.Reset()
	l = NewRunLive(&b, true, 60)
	l.Update(jobs.Live{IOPS: 1, Share: 0.25, Remaining: 30 * time.Second})
	require.Contains(t, b.String(), "\r 25%  30s left  IOPS=1")
	l.Finish()
	require.NotContains(t, b.String(), "\n")
	require.True(t, strings.HasSuffix(b.String(), "\r"))
}

func TestRunRenderersReturnTheWritersError(t *testing.T) {
	for _, f := range []func(io.Writer, *jobs.Result) error{RunText, RunJSON, RunCSV, RunBench, RunFio} {
		require.ErrorIs(t, f(closedPipe{}, oneRun()), io.ErrClosedPipe)
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
