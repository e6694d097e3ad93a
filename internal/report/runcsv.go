package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/latency"
)

// runCSVHeader names the columns of [RunCSV]; a column for each percentile of
// package latency follows.
var runCSVHeader = []string{
	"scope", "device", "direction", "rw", "path", "qd", "batch", "batch_rule", "block_size_bytes", "numjobs", "emulated", "kernel", "interrupted", "started",
	"window_ns", "ok", "failed", "cancelled", "bytes", "iops", "bytes_per_second", "iops_max",
	"enters", "submit_per_call", "reap_per_call", "mean_in_flight", "user_cpu_ns_per_io", "system_cpu_ns_per_io",
	"run_issued", "run_ok", "run_failed", "run_cancelled", "command_errors",
	"latency_count", "latency_min_ns", "latency_mean_ns", "latency_stddev_ns", "latency_max_ns",
}

// RunCSV writes a header, and one row for each direction of each device, of each
// job and of the total: column scope tells which. Counts of the ring and of the
// whole run belong to the scope, not to the direction, and stand in each of its
// rows. Names and units are those of the JSON form; a field is empty where there
// is no figure.
func RunCSV(w io.Writer, r *jobs.Result) error {
	header := append([]string{}, runCSVHeader...)
	for _, p := range latency.Percents() {
		header = append(header, "latency_p"+strconv.FormatFloat(p, 'f', -1, 64)+"_ns")
	}
	rows := [][]string{header}
	add := func(scope, device string, f *jobs.Figures, errors map[string]uint64) {
		for i := range f.Directions {
			rows = append(rows, runCSVRow(r, scope, device, f, &f.Directions[i], errors))
		}
	}
	add("total", "", &r.Total, r.Errors)
	for i := range r.Devices {
		add("device", r.Devices[i].Device, &r.Devices[i].Figures, nil)
	}
	for i := range r.Jobs {
		add("job "+strconv.Itoa(i), strings.Join(r.Jobs[i].Devices, " "), &r.Jobs[i].Figures, nil)
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return fmt.Errorf("render run as CSV: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func runCSVRow(r *jobs.Result, scope, device string, f *jobs.Figures, d *jobs.DirectionFigures, errors map[string]uint64) []string {
	c := &r.Config
	row := []string{
		scope, device, d.Direction, string(c.RW), string(c.Path), strconv.Itoa(c.Depth.QD), strconv.Itoa(c.Depth.Batch), string(c.Rule),
		strconv.Itoa(c.BlockSize), strconv.Itoa(c.Jobs), strconv.FormatBool(r.Environment.Emulated), r.Environment.Kernel, strconv.FormatBool(r.Interrupted),
		r.Started.Format("2006-01-02T15:04:05.000Z07:00"),
		strconv.FormatInt(f.WindowNS, 10), csvUint(d.OK), csvUint(d.Failed), csvUint(d.Cancelled), csvUint(d.Bytes), csvFloat(d.IOPS), csvFloat(d.BytesPerSecond),
	}
	if f.Samples != nil {
		row = append(row, csvFloat(&f.Samples.Max))
	} else {
		row = append(row, "")
	}
	if g := f.Ring; g != nil {
		row = append(row, csvUint(g.Enters), csvFloat(g.SubmitPerCall), csvFloat(g.ReapPerCall), csvFloat(g.MeanInFlight), csvFloat(g.UserCPUNSPerIO), csvFloat(g.SystemCPUNSPerIO))
	} else {
		row = append(row, "", "", "", "", "", "")
	}
	row = append(row, csvUint(f.Run.Issued), csvUint(f.Run.OK), csvUint(f.Run.Failed), csvUint(f.Run.Cancelled), csvErrors(errors))
	l := d.Latency
	if l == nil {
		return append(row, make([]string, 5+len(latency.Percents()))...)
	}
	row = append(row, csvUint(l.Count), strconv.FormatInt(l.MinNS, 10), csvFloat(&l.MeanNS), csvFloat(&l.StddevNS), strconv.FormatInt(l.MaxNS, 10))
	for _, p := range latency.Percents() {
		v := ""
		if ns, ok := l.At(p); ok {
			v = strconv.FormatInt(ns, 10)
		}
		row = append(row, v)
	}
	return row
}
