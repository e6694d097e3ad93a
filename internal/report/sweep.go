package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/sweep"
)

// SweepJSON writes a result in the form of [sweep.Schema]; [sweep.Decode] reads
// it back.
func SweepJSON(w io.Writer, r *sweep.Result) error { return writeJSON(w, "sweep", r) }

// SweepCSV writes a header and one row for each run of a cell, and one for each
// cell that is not run, with the reason.
func SweepCSV(w io.Writer, r *sweep.Result) error {
	rows := [][]string{append([]string{"device", "block_size_bytes", "path", "qd", "commands_per_read", "not_run", "emulated", "kernel"}, roundHeader...)}
	for i := range r.Cells {
		c := &r.Cells[i]
		row := []string{
			r.Config.Device, strconv.Itoa(c.BlockSize), string(c.Path), strconv.Itoa(r.Config.QD), strconv.Itoa(c.Commands), c.NotRun,
			strconv.FormatBool(r.Environment.Emulated), r.Environment.Kernel,
		}
		if c.NotRun != "" {
			rows = append(rows, append(row, make([]string, len(roundHeader))...))
		}
		for j := range c.Rounds {
			rows = append(rows, append(slices.Clip(row), roundRow(&c.Rounds[j])...))
		}
	}
	var b strings.Builder
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return fmt.Errorf("render sweep as CSV: %w", err)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// SweepBench writes the rounds as lines of the Go benchmark format, for benchstat:
// one line for each round of a cell.
func SweepBench(w io.Writer, r *sweep.Result) error {
	var b strings.Builder
	e := &r.Environment
	benchHead(&b, r.ToolVersion, r.Started, [][2]string{
		{"kernel", e.Kernel}, {"cpu", e.CPUModel}, {"emulated", strconv.FormatBool(e.Emulated)},
		{"interrupted", strconv.FormatBool(r.Interrupted)},
	}, "IOPS better=higher", "MiB/s better=higher", "user-ns/op better=lower", "system-ns/op better=lower")
	for i := range r.Cells {
		c := &r.Cells[i]
		name := fmt.Sprintf("BenchmarkSweep/dev=%s/path=%s/rw=randread/bs=%d/qd=%d", benchName(r.Config.Device), benchName(string(c.Path)), c.BlockSize, r.Config.QD)
		for j := range c.Rounds {
			if round := &c.Rounds[j]; round.Used() {
				benchRates(&b, name, round.Sample.OK, &round.Rates)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
