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
	e := &r.Environment
	benchHead(&b, r.ToolVersion, r.Started, [][2]string{
		{"goos", "linux"}, {"goarch", runtime.GOARCH}, {"pkg", "nvmepass/nop"}, {"cpu", e.CPUModel}, {"kernel", e.Kernel}, {"emulated", strconv.FormatBool(e.Emulated)},
	}, "IOPS better=higher", "user-ns/op better=lower", "system-ns/op better=lower")
	for i := range r.Cells {
		c := &r.Cells[i]
		name := fmt.Sprintf("BenchmarkNop/op=%s/qd=%d/batch=%d", c.Op, c.Depth.QD, c.Depth.Batch)
		if c.Variant != "" {
			name += "/" + strings.TrimLeft(c.Variant, "-")
		}
		for j := range c.Rounds {
			if round := &c.Rounds[j]; round.Used() {
				benchRates(&b, name, round.Sample.OK, &round.Rates)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
