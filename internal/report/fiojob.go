package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/nvmepass/nvmepass/internal/latency"
)

// What follows is fio's JSON output as fio 3.33 writes it, key by key. Where this
// program has no figure, the value is the one that fio has before it has any.

// fioRun is what a document says beside its jobs.
type fioRun struct {
	tool     string
	finished time.Time
	// options are the settings under fio's names; values are strings there.
	options map[string]string
}

// write writes a document. Its version string names this program, not fio.
func (f *fioRun) write(w io.Writer, jobs []map[string]any) error {
	if jobs == nil {
		jobs = []map[string]any{}
	}
	doc := map[string]any{
		"fio version": "nvmepass-" + f.tool, "timestamp": f.finished.Unix(), "timestamp_ms": f.finished.UnixMilli(),
		"time": f.finished.Format(time.ANSIC), "global options": f.options, "jobs": jobs, "disk_util": []any{},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("render in fio's form: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// newFioJob is a job without any figure.
func newFioJob(name string, started time.Time, qd int, options map[string]string) map[string]any {
	return map[string]any{
		"jobname": name, "groupid": 0, "error": 0, "eta": 0, "elapsed": 0, "job_start": started.UnixMilli(), "job options": options,
		"read": newFioSide(), "write": newFioSide(), "trim": newFioSide(), "sync": map[string]any{"total_ios": 0, "lat_ns": fioLatency(nil)},
		"job_runtime": 0, "usr_cpu": 0.0, "sys_cpu": 0.0, "ctx": 0, "majf": 0, "minf": 0,
		"iodepth_level": zeros("1", "2", "4", "8", "16", "32", ">=64"), "iodepth_submit": zeros("0", "4", "8", "16", "32", "64", ">=64"),
		"iodepth_complete": zeros("0", "4", "8", "16", "32", "64", ">=64"),
		"latency_ns":       zeros("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"), "latency_us": zeros("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"),
		"latency_ms":    zeros("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"),
		"latency_depth": qd, "latency_target": 0, "latency_percentile": 100.0, "latency_window": 0,
	}
}

func zeros(keys ...string) map[string]float64 {
	m := map[string]float64{}
	for _, key := range keys {
		m[key] = 0
	}
	return m
}

// newFioSide is one of read, write and trim of which nothing happened.
func newFioSide() map[string]any {
	return map[string]any{
		"io_bytes": uint64(0), "io_kbytes": uint64(0), "bw_bytes": uint64(0), "bw": uint64(0), "iops": 0.0, "runtime": int64(0),
		"total_ios": uint64(0), "short_ios": 0, "drop_ios": 0,
		"slat_ns": fioLatency(nil), "clat_ns": fioLatency(nil), "lat_ns": fioLatency(nil),
		"bw_min": uint64(0), "bw_max": uint64(0), "bw_agg": 0.0, "bw_mean": 0.0, "bw_dev": 0.0, "bw_samples": 0,
		"iops_min": uint64(0), "iops_max": uint64(0), "iops_mean": 0.0, "iops_stddev": 0.0, "iops_samples": 0,
	}
}

// fioLatency leaves the percentiles out where there are none, as fio does.
func fioLatency(s *latency.Summary) map[string]any {
	if s == nil {
		return map[string]any{"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
	}
	percentiles := map[string]int64{}
	for _, p := range s.Percentiles {
		percentiles[fmt.Sprintf("%.6f", p.Percent)] = p.NS
	}
	return map[string]any{"min": s.MinNS, "max": s.MaxNS, "mean": s.MeanNS, "stddev": s.StddevNS, "N": s.Count, "percentile": percentiles}
}

// fillSamples writes what fio derives from samples of the rate.
func fillSamples(side map[string]any, blockSize int, least, most, mean, deviation float64, n int) {
	kib := float64(blockSize) / 1024
	side["iops_min"], side["iops_max"], side["iops_mean"], side["iops_stddev"], side["iops_samples"] = uint64(least), uint64(most), mean, deviation, n
	side["bw_min"], side["bw_max"], side["bw_mean"], side["bw_dev"], side["bw_samples"] = uint64(least*kib), uint64(most*kib), mean*kib, deviation*kib, n
	side["bw_agg"] = 100.0
}

// fioFailed is the error of a job with failed commands: EIO.
const fioFailed = 5

func flag01(v bool) string {
	if v {
		return "1"
	}
	return "0"
}
