package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/jobs"
)

// RunFio writes a run in the shape of fio's JSON output, a job for each device
// as with fio's group_reporting, so that tools that read fio's results read
// these. What fio has and this program does not measure is 0.
func RunFio(w io.Writer, r *jobs.Result) error {
	var list []map[string]any
	for i := range r.Devices {
		list = append(list, fioJob(r, i))
	}
	doc := fioRun{r.ToolVersion, r.Finished, fioOptions(r)}
	return doc.write(w, list)
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

func fioJob(r *jobs.Result, i int) map[string]any {
	d := &r.Devices[i]
	window := float64(d.WindowNS)
	job := newFioJob(strings.TrimPrefix(d.Device, "/dev/"), r.Started, r.Config.Depth.QD, map[string]string{"filename": d.Device})
	job["elapsed"], job["job_runtime"] = int64(r.Finished.Sub(r.Started)/time.Second), d.WindowNS/1e6
	if d.Run.Failed > 0 {
		job["error"] = fioFailed
	}
	own := map[string]any{"settings": settingsOf(r, d.Device), "errors": r.Errors, "emulated": r.Environment.Emulated}
	if g := d.Ring; g != nil && window > 0 {
		job["usr_cpu"], job["sys_cpu"] = 100*float64(g.UserCPUNS)/window, 100*float64(g.SystemCPUNS)/window
		own["ios_per_call"] = map[string]any{"submit": g.SubmitPerCall, "reap": g.ReapPerCall}
		own["syscalls"] = g.Enters
	}
	for _, name := range []string{"read", "write", "trim"} {
		job[name] = fioDirection(r, d, name)
	}
	job["nvmepass"] = own
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

// fioDirection is one of read, write and trim.
func fioDirection(r *jobs.Result, d *jobs.DeviceResult, name string) map[string]any {
	out := newFioSide()
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
			fillSamples(out, r.Config.BlockSize, s.Min, s.Max, s.Mean, s.Stddev, s.Count)
		}
	}
	return out
}
