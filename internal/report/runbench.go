package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/jobs"
)

// RunBench writes a run as lines of the Go benchmark format, which benchstat and
// golang.org/x/perf/benchfmt read: configuration, units, and a line for each
// device and, of several, for the total. Append the output of several runs to one
// file to compare files; results of two kernels with benchstat -col kernel, since
// benchstat keeps what differs in configuration apart. The iteration count is the
// number of commands that ended well.
func RunBench(w io.Writer, r *jobs.Result) error {
	var b strings.Builder
	c, e := &r.Config, &r.Environment
	benchHead(&b, r.ToolVersion, r.Started, [][2]string{
		{"kernel", e.Kernel}, {"cpu", e.CPUModel}, {"emulated", strconv.FormatBool(e.Emulated)},
		{"batch-rule", string(c.Rule)}, {"numjobs", strconv.Itoa(c.Jobs)}, {"interrupted", strconv.FormatBool(r.Interrupted)},
	}, "IOPS better=higher", "MiB/s better=higher", "user-ns/op better=lower", "system-ns/op better=lower", "p50-ns better=lower", "p99-ns better=lower", "p99.9-ns better=lower")
	for i := range r.Devices {
		if r.Devices[i].OK > 0 {
			benchLine(&b, r, r.Devices[i].Device, &r.Devices[i].Figures)
		}
	}
	if len(r.Devices) > 1 && r.Total.OK > 0 {
		benchLine(&b, r, "total", &r.Total)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func benchLine(b *strings.Builder, r *jobs.Result, device string, f *jobs.Figures) {
	c := &r.Config
	fmt.Fprintf(b, "BenchmarkRun/dev=%s/rw=%s/path=%s/bs=%d/qd=%d/batch=%d %d %.4g ns/op", benchName(device), c.RW, c.Path, c.BlockSize, c.Depth.QD, c.Depth.Batch,
		f.OK, float64(f.WindowNS)/float64(f.OK))
	unit := func(v *float64, scale float64, name string) {
		if v != nil {
			fmt.Fprintf(b, " %s %s", strconv.FormatFloat(*v/scale, 'f', -1, 64), name)
		}
	}
	unit(f.IOPS, 1, "IOPS")
	unit(f.BytesPerSecond, 1<<20, "MiB/s")
	if f.Ring != nil {
		unit(f.Ring.UserCPUNSPerIO, 1, "user-ns/op")
		unit(f.Ring.SystemCPUNSPerIO, 1, "system-ns/op")
	}
	if len(f.Directions) == 1 && f.Directions[0].Latency != nil {
		for _, p := range []float64{50, 99, 99.9} {
			if ns, ok := f.Directions[0].Latency.At(p); ok {
				fmt.Fprintf(b, " %d p%s-ns", ns, strconv.FormatFloat(p, 'f', -1, 64))
			}
		}
	}
	b.WriteString("\n")
}

// benchName makes a device's path one element of a benchmark's name, which is
// split at slashes and ends at a space.
func benchName(device string) string {
	return strings.NewReplacer("/", "_", " ", "_").Replace(strings.TrimPrefix(ascii(device), "/dev/"))
}
