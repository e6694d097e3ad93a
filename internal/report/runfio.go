package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/latency"
)

// RunFio writes a run in the shape of fio's JSON output, a job for each device
// as with fio's group_reporting, so that tools that read fio's results read
// these. Keys that fio has and this program does not measure are left out or, where readers
// expect them, 0. The version string names this program, not fio.
func RunFio(w io.Writer, r *jobs.Result) error {
	doc := map[string]any{
		"fio version":    "nvmepass-" + r.ToolVersion,
		"timestamp":      r.Finished.Unix(),
		"timestamp_ms":   r.Finished.UnixMilli(),
		"time":           r.Finished.Format(time.ANSIC),
		"global options": fioOptions(r),
		"disk_util":      []any{},
	}
	list := []any{}
	for i := range r.Devices {
		list = append(list, fioJob(r, i))
	}
	doc["jobs"] = list
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("render run in fio's form: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// fioOptions are the settings under fio's names; values are strings there.
func fioOptions(r *jobs.Result) map[string]string {
	c := &r.Config
	o := map[string]string{
		"rw": string(c.RW), "bs": strconv.Itoa(c.BlockSize), "iodepth": strconv.Itoa(c.Depth.QD), "iodepth_batch_submit": strconv.Itoa(c.Depth.Batch),
		"numjobs": strconv.Itoa(c.Jobs), "ioengine": "io_uring", "direct": "1", "randseed": strconv.FormatUint(c.Seed, 10),
		"runtime": fmt.Sprint(c.Runtime.Seconds()), "ramp_time": fmt.Sprint(c.Warmup.Seconds()),
		"hipri": flag01(c.Path.Polled()), "fixedbufs": flag01(c.FixedBuffers), "registerfiles": flag01(c.RegisteredFiles), "group_reporting": "1",
	}
	if c.Path.Passthru() {
		o["ioengine"], o["cmd_type"] = "io_uring_cmd", "nvme"
	}
	if c.RateIOPS > 0 {
		o["rate_iops"] = strconv.FormatUint(c.RateIOPS, 10)
	}
	if c.Rate > 0 {
		o["rate"] = strconv.FormatUint(c.Rate, 10)
	}
	return o
}

func flag01(v bool) string {
	if v {
		return "1"
	}
	return "0"
}

func fioJob(r *jobs.Result, i int) map[string]any {
	d := &r.Devices[i]
	window := float64(d.WindowNS)
	job := map[string]any{
		"jobname": strings.TrimPrefix(d.Device, "/dev/"), "groupid": 0, "error": 0, "eta": 0,
		"elapsed":     int64(r.Finished.Sub(r.Started) / time.Second),
		"job_start":   r.Started.UnixMilli(),
		"job options": map[string]string{"filename": d.Device},
		"job_runtime": d.WindowNS / 1e6,
		"usr_cpu":     0.0, "sys_cpu": 0.0, "ctx": 0, "majf": 0, "minf": 0,
		"iodepth_level":    map[string]float64{},
		"iodepth_submit":   map[string]float64{},
		"iodepth_complete": map[string]float64{},
	}
	if d.Run.Failed > 0 {
		job["error"] = 5 // EIO, as fio has it for a job with failed commands
	}
	if g := d.Ring; g != nil && window > 0 {
		job["usr_cpu"], job["sys_cpu"] = 100*float64(g.UserCPUNS)/window, 100*float64(g.SystemCPUNS)/window
		job["ios_per_call"] = map[string]any{"submit": g.SubmitPerCall, "reap": g.ReapPerCall}
		job["syscalls"] = g.Enters
	}
	for _, name := range []string{"read", "write", "trim"} {
		job[name] = fioDirection(r, d, name)
	}
	job["nvmepass"] = map[string]any{"settings": settingsOf(r, d.Device), "errors": r.Errors, "emulated": r.Environment.Emulated}
	return job
}

func settingsOf(r *jobs.Result, device string) any {
	for i := range r.Jobs {
		if slices.Contains(r.Jobs[i].Devices, device) {
			return r.Jobs[i].Settings
		}
	}
	return nil
}

// fioDirection is one of read, write and trim; what did not happen is all
// zeros, as in fio.
func fioDirection(r *jobs.Result, d *jobs.DeviceResult, name string) map[string]any {
	out := map[string]any{
		"io_bytes": uint64(0), "io_kbytes": uint64(0), "bw_bytes": uint64(0), "bw": uint64(0), "iops": 0.0, "runtime": int64(0),
		"total_ios": uint64(0), "short_ios": 0, "drop_ios": 0,
		"slat_ns": fioLatency(nil), "clat_ns": fioLatency(nil), "lat_ns": fioLatency(nil),
		"bw_min": 0, "bw_max": 0, "bw_agg": 0.0, "bw_mean": 0.0, "bw_dev": 0.0, "bw_samples": 0,
		"iops_min": 0, "iops_max": 0, "iops_mean": 0.0, "iops_stddev": 0.0, "iops_samples": 0,
	}
	for i := range d.Directions {
		f := &d.Directions[i]
		if f.Direction != name {
			continue
		}
		out["io_bytes"], out["io_kbytes"], out["total_ios"], out["runtime"] = f.Bytes, f.Bytes>>10, f.OK, d.WindowNS/1e6
		if f.IOPS != nil && f.BytesPerSecond != nil {
			out["iops"], out["bw_bytes"], out["bw"] = *f.IOPS, uint64(*f.BytesPerSecond), uint64(*f.BytesPerSecond)>>10
		}
		if f.Latency != nil {
			out["clat_ns"], out["lat_ns"] = fioLatency(f.Latency), fioLatency(f.Latency)
		}
		if s := d.Samples; s != nil && len(d.Directions) == 1 {
			kib := float64(r.Config.BlockSize) / 1024
			out["iops_min"], out["iops_max"], out["iops_mean"], out["iops_stddev"], out["iops_samples"] = uint64(s.Min), uint64(s.Max), s.Mean, s.Stddev, s.Count
			out["bw_min"], out["bw_max"], out["bw_mean"], out["bw_dev"], out["bw_samples"] = uint64(s.Min*kib), uint64(s.Max*kib), s.Mean*kib, s.Stddev*kib, s.Count
			out["bw_agg"] = 100.0
		}
	}
	return out
}

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
