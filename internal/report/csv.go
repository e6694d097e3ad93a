package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/compare"
)

// csvHeader names the columns of [CSV]. Those before "window_ns" are always filled, error only where there is one.
var csvHeader = []string{
	"device", "path", "qd_batch", "qd", "batch", "block_size_bytes", "rw", "batch_rule", "emulated", "kernel", "round", "order", "started", "error",
	"window_ns", "ok", "failed", "cancelled", "bytes", "iops", "bytes_per_second", "enters", "submit_per_call", "reap_per_call",
	"mean_in_flight", "user_cpu_ns", "system_cpu_ns", "user_cpu_ns_per_io", "system_cpu_ns_per_io",
	"run_issued", "run_ok", "run_failed", "run_cancelled",
	"polled", "fixed_buffers", "registered_files", "registered_ring", "ring_flags", "command_errors",
	"variant", "huge_pages", "vectored",
}

// CSV writes a header and one row for each run of a cell, with everything that was measured: long format, from which medians, drift
// and scatter follow by grouping. Names and units are those of the JSON form; the run_ columns count the whole run, the others
// the measured window. A field is empty where there is no figure. ring_flags are joined by "|", command_errors are
// "text=count" joined by "|".
func CSV(w io.Writer, r *compare.Result) error {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	rows := [][]string{csvHeader}
	for i := range r.Cells {
		for j := range r.Cells[i].Rounds {
			rows = append(rows, csvRow(r, &r.Cells[i], &r.Cells[i].Rounds[j]))
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("render comparison as CSV: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func csvRow(r *compare.Result, c *compare.CellResult, round *compare.Round) []string {
	row := []string{
		c.Device, string(c.Path), c.Depth.String(), strconv.Itoa(c.Depth.QD), strconv.Itoa(c.Depth.Batch),
		strconv.Itoa(r.Config.BlockSize), r.Config.RW, string(r.Config.Rule), strconv.FormatBool(r.Environment.Emulated), r.Environment.Kernel,
		strconv.Itoa(round.Round), strconv.Itoa(round.Order), round.Started.Format(time.RFC3339Nano), round.Error,
	}
	s := round.Sample
	if s == nil {
		row = append(row, make([]string, len(csvHeader)-len(row))...)
		row[slices.Index(csvHeader, "variant")] = c.Variant
		return row
	}
	rates := s.Rates()
	return append(row,
		strconv.FormatInt(s.WindowNS, 10), csvUint(s.OK), csvUint(s.Failed), csvUint(s.Cancelled), csvUint(s.Bytes),
		csvFloat(rates.IOPS), csvFloat(rates.BytesPerSecond), csvUint(s.Enters), csvFloat(s.SubmitPerCall), csvFloat(s.ReapPerCall),
		csvFloat(s.MeanInFlight), strconv.FormatInt(s.UserCPUNS, 10), strconv.FormatInt(s.SystemCPUNS, 10),
		csvFloat(rates.UserCPUNSPerIO), csvFloat(rates.SystemCPUNSPerIO),
		csvUint(s.Run.Issued), csvUint(s.Run.OK), csvUint(s.Run.Failed), csvUint(s.Run.Cancelled),
		strconv.FormatBool(s.Settings.Polled), s.Settings.FixedBuffers, strconv.FormatBool(s.Settings.RegisteredFiles),
		strconv.FormatBool(s.Settings.RegisteredRing), strings.Join(s.Settings.RingFlags, "|"), csvErrors(s.Errors),
		c.Variant, strconv.FormatBool(s.Settings.HugePages), strconv.FormatBool(s.Settings.Vectored),
	)
}

func csvUint(v uint64) string { return strconv.FormatUint(v, 10) }

// csvFloat writes a figure without an exponent, which some spreadsheets take for text.
func csvFloat(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

func csvErrors(errors map[string]uint64) string {
	var parts []string
	for _, text := range slices.Sorted(maps.Keys(errors)) {
		parts = append(parts, text+"="+csvUint(errors[text]))
	}
	return strings.Join(parts, "|")
}
