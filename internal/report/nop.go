package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/nopbench"
)

// NopJSON writes a result in the form of [nopbench.Schema]; [nopbench.Decode]
// reads it back.
func NopJSON(w io.Writer, r *nopbench.Result) error { return writeJSON(w, "nop", r) }

// NopCSV writes a header and one row for each run of a cell.
func NopCSV(w io.Writer, r *nopbench.Result) error {
	rows := [][]string{append([]string{"op", "qd_batch", "qd", "batch", "variant", "batch_rule", "emulated", "kernel"}, roundHeader...)}
	for i := range r.Cells {
		c := &r.Cells[i]
		for j := range c.Rounds {
			row := []string{
				string(c.Op), c.Depth.String(), strconv.Itoa(c.Depth.QD), strconv.Itoa(c.Depth.Batch), c.Variant, string(r.Config.Rule),
				strconv.FormatBool(r.Environment.Emulated), r.Environment.Kernel,
			}
			rows = append(rows, append(row, roundRow(&c.Rounds[j])...))
		}
	}
	var b strings.Builder
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return fmt.Errorf("render nop as CSV: %w", err)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// NopBench writes the rounds as lines of `go test -bench`, for benchstat: one
// line for each round of a cell, with its time per command and its rate.
func NopBench(w io.Writer, r *nopbench.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "goos: linux\ngoarch: %s\npkg: nvmepass/nop\n", runtime.GOARCH)
	if r.Environment.CPUModel != "" {
		fmt.Fprintf(&b, "cpu: %s\n", ascii(r.Environment.CPUModel))
	}
	if r.Environment.Kernel != "" {
		fmt.Fprintf(&b, "kernel: %s\n", ascii(r.Environment.Kernel))
	}
	fmt.Fprintf(&b, "emulated: %v\nUnit IOPS better=higher\n", r.Environment.Emulated)
	for i := range r.Cells {
		c := &r.Cells[i]
		name := fmt.Sprintf("BenchmarkNop/op=%s/qd=%d/batch=%d", c.Op, c.Depth.QD, c.Depth.Batch)
		if c.Variant != "" {
			name += "/" + strings.TrimLeft(c.Variant, "-")
		}
		for j := range c.Rounds {
			if round := &c.Rounds[j]; round.Used() && round.IOPS != nil && *round.IOPS > 0 {
				fmt.Fprintf(&b, "%s \t%d\t%.2f ns/op\t%.0f IOPS\n", name, round.Sample.OK, 1e9 / *round.IOPS, *round.IOPS)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
