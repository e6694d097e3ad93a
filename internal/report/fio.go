package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/compare"
)

// Fio writes a result in the shape of fio's JSON output, so that tools that read fio's
// results read these: a job for each cell, whose name is path, QD_batch and, of
// several, the device. A job's iops and bw are those of all its measured rounds
// together, its samples (iops_min, iops_stddev and so on) the rounds. Keys that
// fio has and this program does not measure are 0 or left out. The version string
// names this program, not fio.
func Fio(w io.Writer, r *compare.Result) error {
	list := []any{}
	for i := range r.Cells {
		list = append(list, fioCell(r, &r.Cells[i]))
	}
	doc := map[string]any{
		"fio version": "nvmepass-" + r.ToolVersion, "timestamp": r.Finished.Unix(), "timestamp_ms": r.Finished.UnixMilli(),
		"time": r.Finished.Format(time.ANSIC), "jobs": list, "disk_util": []any{},
		"global options": map[string]string{
			"rw": r.Config.RW, "bs": strconv.Itoa(r.Config.BlockSize), "direct": "1", "randseed": strconv.FormatUint(r.Config.Seed, 10),
			"runtime": fmt.Sprint(r.Config.Runtime.Seconds()), "ramp_time": fmt.Sprint(r.Config.Warmup.Seconds()), "numjobs": "1",
		},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("render comparison in fio's form: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// cellSums are a cell's measured rounds together.
type cellSums struct {
	compare.Counts
	windowNS, userNS, systemNS int64
	bytes                      uint64
	iops                       []float64
	errors                     map[string]uint64
}

func sumCell(c *compare.CellResult) cellSums {
	s := cellSums{errors: map[string]uint64{}}
	for i := range c.Rounds {
		round := &c.Rounds[i]
		if round.Sample == nil {
			continue
		}
		for text, n := range round.Sample.Errors {
			s.errors[text] += n
		}
		if round.Error != "" || round.Rates == nil || round.Rates.IOPS == nil {
			continue
		}
		s.OK += round.Sample.OK
		s.Failed += round.Sample.Failed
		s.windowNS += round.Sample.WindowNS
		s.userNS += round.Sample.UserCPUNS
		s.systemNS += round.Sample.SystemCPUNS
		s.bytes += round.Sample.Bytes
		s.iops = append(s.iops, *round.Rates.IOPS)
	}
	return s
}

func fioCell(r *compare.Result, c *compare.CellResult) map[string]any {
	name := string(c.Path) + "-" + c.Depth.String()
	if c.Variant != "" {
		name += c.Variant
	}
	if len(r.Config.Devices) > 1 {
		name += "-" + strings.TrimPrefix(c.Device, "/dev/")
	}
	options := map[string]string{
		"filename": c.Device, "ioengine": "io_uring", "iodepth": strconv.Itoa(c.Depth.QD), "iodepth_batch_submit": strconv.Itoa(c.Depth.Batch),
		"iodepth_batch_complete_min": "1", "iodepth_batch_complete_max": strconv.Itoa(c.Depth.Batch), "hipri": flag01(c.Path.Polled()),
		"fixedbufs": flag01(r.Config.FixedBuffers), "registerfiles": flag01(r.Config.RegisteredFiles),
	}
	if c.Path.Passthru() {
		options["ioengine"], options["cmd_type"] = "io_uring_cmd", "nvme"
	}
	s := sumCell(c)
	job := map[string]any{
		"jobname": name, "groupid": 0, "error": 0, "eta": 0, "elapsed": s.windowNS / 1e9, "job_start": r.Started.UnixMilli(), "job options": options,
		"job_runtime": s.windowNS / 1e6, "usr_cpu": 0.0, "sys_cpu": 0.0, "ctx": 0, "majf": 0, "minf": 0,
		"iodepth_level": map[string]float64{}, "iodepth_submit": map[string]float64{}, "iodepth_complete": map[string]float64{},
		"read": fioRounds(&s, r.Config.BlockSize), "write": fioRounds(&cellSums{}, 0), "trim": fioRounds(&cellSums{}, 0),
		"nvmepass": map[string]any{"emulated": r.Environment.Emulated, "variant": c.Variant, "iops": c.IOPS, "ratio_to_block": c.RatioToBlock, "errors": s.errors},
	}
	if len(s.errors) > 0 {
		job["error"] = 5 // EIO, as fio has it for a job with failed commands
	}
	if s.windowNS > 0 {
		job["usr_cpu"], job["sys_cpu"] = 100*float64(s.userNS)/float64(s.windowNS), 100*float64(s.systemNS)/float64(s.windowNS)
	}
	return job
}

func fioRounds(s *cellSums, blockSize int) map[string]any {
	out := map[string]any{
		"io_bytes": s.bytes, "io_kbytes": s.bytes >> 10, "bw_bytes": uint64(0), "bw": uint64(0), "iops": 0.0, "runtime": s.windowNS / 1e6,
		"total_ios": s.OK, "short_ios": 0, "drop_ios": 0, "slat_ns": fioLatency(nil), "clat_ns": fioLatency(nil), "lat_ns": fioLatency(nil),
	}
	if s.windowNS > 0 {
		seconds := float64(s.windowNS) / 1e9
		bw := uint64(float64(s.bytes) / seconds)
		out["iops"], out["bw_bytes"], out["bw"] = float64(s.OK)/seconds, bw, bw>>10
	}
	least, most, mean, deviation := moments(s.iops)
	kib := float64(blockSize) / 1024
	out["iops_min"], out["iops_max"], out["iops_mean"], out["iops_stddev"], out["iops_samples"] = uint64(least), uint64(most), mean, deviation, len(s.iops)
	out["bw_min"], out["bw_max"], out["bw_mean"], out["bw_dev"], out["bw_samples"] = uint64(least*kib), uint64(most*kib), mean*kib, deviation*kib, len(s.iops)
	out["bw_agg"] = 0.0
	if len(s.iops) > 0 {
		out["bw_agg"] = 100.0
	}
	return out
}

// moments are all 0 without a value; the deviation has the number of values in
// its denominator, as fio's has.
func moments(xs []float64) (least, most, mean, deviation float64) {
	for i, x := range xs {
		if i == 0 {
			least, most = x, x
		}
		least, most = min(least, x), max(most, x)
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		deviation += (x - mean) * (x - mean) / float64(len(xs))
	}
	return least, most, mean, math.Sqrt(deviation)
}
