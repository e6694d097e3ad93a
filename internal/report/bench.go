package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/compare"
)

// Bench writes a result as lines of the Go benchmark format, which benchstat and
// golang.org/x/perf/benchfmt read: configuration, units, and a line for each measured round of
// each cell, so that benchstat has samples to judge by. The iteration count is the
// number of commands that ended well.
func Bench(w io.Writer, r *compare.Result) error {
	var b strings.Builder
	c, e := &r.Config, &r.Environment
	benchHead(&b, r.ToolVersion, r.Started, [][2]string{
		{"kernel", e.Kernel}, {"cpu", e.CPUModel}, {"emulated", strconv.FormatBool(e.Emulated)},
		{"batch-rule", string(c.Rule)}, {"interrupted", strconv.FormatBool(r.Interrupted)},
	}, "IOPS better=higher", "MiB/s better=higher", "user-ns/op better=lower", "system-ns/op better=lower")
	for i := range r.Cells {
		cell := &r.Cells[i]
		name := fmt.Sprintf("BenchmarkCompare/dev=%s/path=%s/rw=%s/bs=%d/qd=%d/batch=%d", benchName(cell.Device), benchName(string(cell.Path)), benchName(c.RW),
			c.BlockSize, cell.Depth.QD, cell.Depth.Batch)
		if cell.Variant != "" {
			name += "/" + benchName(strings.TrimLeft(cell.Variant, "-"))
		}
		for j := range cell.Rounds {
			benchRound(&b, name, &cell.Rounds[j])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// benchHead writes configuration, but for what is not known, and units. The tool's
// version is none: benchstat keeps apart what differs in configuration.
func benchHead(b *strings.Builder, tool string, started time.Time, config [][2]string, units ...string) {
	fmt.Fprintf(b, "# nvmepass %s, %s\n", ascii(tool), started.Format("2006-01-02 15:04:05 MST"))
	for _, kv := range config {
		if kv[1] != "" {
			fmt.Fprintf(b, "%s: %s\n", kv[0], ascii(kv[1]))
		}
	}
	for _, u := range units {
		fmt.Fprintf(b, "Unit %s\n", u)
	}
}

func benchRound(b *strings.Builder, name string, round *compare.Round) {
	if round.Error == "" && round.Sample != nil && round.Rates != nil {
		benchRates(b, name, round.Sample.OK, round.Rates)
	}
}

// benchRates writes one line; none where there is no rate.
func benchRates(b *strings.Builder, name string, ok uint64, rates *compare.Rates) {
	if rates.IOPS == nil || *rates.IOPS <= 0 {
		return
	}
	fmt.Fprintf(b, "%s %d %.2f ns/op", name, ok, 1e9 / *rates.IOPS)
	for _, v := range []struct {
		value *float64
		per   float64
		unit  string
	}{{rates.IOPS, 1, "IOPS"}, {rates.BytesPerSecond, 1 << 20, "MiB/s"}, {rates.UserCPUNSPerIO, 1, "user-ns/op"}, {rates.SystemCPUNSPerIO, 1, "system-ns/op"}} {
		if v.value != nil {
			fmt.Fprintf(b, " %s %s", strconv.FormatFloat(*v.value/v.per, 'f', 2, 64), v.unit)
		}
	}
	b.WriteString("\n")
}
