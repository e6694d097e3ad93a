package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/nopbench"
	"github.com/nvmepass/nvmepass/internal/sweep"
	"github.com/nvmepass/nvmepass/internal/trial"
)

// Fio writes a comparison in the shape of fio's JSON output, so that tools that read
// fio's results read these: a job for each cell, whose name is path, QD_batch and, of
// several, the device. A job's iops and bw are those of all its measured rounds
// together, its samples (iops_min, iops_stddev and so on) the rounds. What fio has
// and this program does not measure is 0.
func Fio(w io.Writer, r *compare.Result) error {
	c := &r.Config
	doc := fioRun{r.ToolVersion, r.Finished, trialOptions(c.RW, c.Seed, c.Runtime, c.Warmup)}
	doc.options["bs"] = strconv.Itoa(c.BlockSize)
	var jobs []map[string]any
	for i := range r.Cells {
		cell := &r.Cells[i]
		name := string(cell.Path) + "-" + cell.Depth.String() + cell.Variant
		if len(c.Devices) > 1 {
			name += "-" + strings.TrimPrefix(cell.Device, "/dev/")
		}
		s := newCellSums(c.BlockSize)
		for j := range cell.Rounds {
			round := &cell.Rounds[j]
			used := round.Error == "" && round.Rates != nil && round.Rates.IOPS != nil
			var iops float64
			if used {
				iops = *round.Rates.IOPS
			}
			s.add(round.Sample, used, iops)
		}
		job := newFioJob(name, r.Started, cell.Depth.QD, pathOptions(cell.Device, cell.Path, cell.Depth, c.Mode))
		s.fill(job, "read")
		job["nvmepass"] = map[string]any{
			"emulated": r.Environment.Emulated, "variant": cell.Variant, "iops": cell.IOPS, "ratio_to_block": cell.RatioToBlock, "errors": s.errors,
		}
		jobs = append(jobs, job)
	}
	return doc.write(w, jobs)
}

// SweepFio writes a sweep as [Fio] does a comparison: a job for each cell that was
// run, whose name is path and block size in bytes.
func SweepFio(w io.Writer, r *sweep.Result) error {
	c := &r.Config
	doc := fioRun{r.ToolVersion, r.Finished, trialOptions("randread", c.Seed, c.Runtime, c.Warmup)}
	var jobs []map[string]any
	for i := range r.Cells {
		cell := &r.Cells[i]
		if cell.NotRun != "" {
			continue
		}
		var options map[string]string
		if cell.Path.Synchronous() {
			options = map[string]string{"filename": c.Device, "ioengine": "pvsync2", "hipri": flag01(cell.Path == sweep.SyncPoll), "iodepth": "1"}
		} else {
			options = pathOptions(c.Device, cell.Path.Ring(), iosetup.Depth{QD: c.QD, Batch: c.QD}, c.Mode)
		}
		options["bs"] = strconv.Itoa(cell.BlockSize)
		job := newFioJob(fmt.Sprintf("%s-%d", cell.Path, cell.BlockSize), r.Started, c.QD, options)
		s := trialSums(cell.Rounds, cell.BlockSize)
		s.fill(job, "read")
		job["nvmepass"] = map[string]any{
			"emulated": r.Environment.Emulated, "bytes_per_second": cell.BytesPerSecond, "commands_per_read": cell.Commands, "cliff": cell.Cliff != nil, "errors": s.errors,
		}
		jobs = append(jobs, job)
	}
	return doc.write(w, jobs)
}

// NopFio writes a measurement of the ring alone as [Fio] does a comparison: a job
// for each cell, whose name is operation and QD_batch. fio's readers find the
// commands among the reads, which move no data.
func NopFio(w io.Writer, r *nopbench.Result) error {
	c := &r.Config
	doc := fioRun{r.ToolVersion, r.Finished, trialOptions("read", c.Seed, c.Runtime, c.Warmup)}
	var jobs []map[string]any
	for i := range r.Cells {
		cell := &r.Cells[i]
		options := ringOptions(cell.Depth, c.Mode)
		options["ioengine"] = "io_uring"
		if cell.Op == nopbench.URINGCmd {
			options["ioengine"], options["cmd_type"] = "io_uring_cmd", "nvme"
		}
		job := newFioJob(fmt.Sprintf("%s-%s%s", cell.Op, cell.Depth, cell.Variant), r.Started, cell.Depth.QD, options)
		s := trialSums(cell.Rounds, 0)
		s.fill(job, "read")
		job["nvmepass"] = map[string]any{
			"emulated": r.Environment.Emulated, "variant": cell.Variant, "ns_per_op": cell.NSPerOp, "ratio_to_base": cell.RatioToBase, "errors": s.errors,
		}
		jobs = append(jobs, job)
	}
	return doc.write(w, jobs)
}

// trialOptions are what all cells have in common.
func trialOptions(rw string, seed uint64, runtime, warmup time.Duration) map[string]string {
	return map[string]string{
		"rw": rw, "direct": "1", "randseed": strconv.FormatUint(seed, 10),
		"runtime": fmt.Sprint(runtime.Seconds()), "ramp_time": fmt.Sprint(warmup.Seconds()), "numjobs": "1",
	}
}

func pathOptions(device string, path iosetup.Path, depth iosetup.Depth, mode iosetup.Mode) map[string]string {
	o := ringOptions(depth, mode)
	maps.Copy(o, map[string]string{"filename": device, "ioengine": "io_uring", "hipri": flag01(path.Polled())})
	if path.Passthru() {
		o["ioengine"], o["cmd_type"] = "io_uring_cmd", "nvme"
	}
	return o
}

func ringOptions(depth iosetup.Depth, mode iosetup.Mode) map[string]string {
	return map[string]string{
		"iodepth": strconv.Itoa(depth.QD), "iodepth_batch_submit": strconv.Itoa(depth.Batch), "iodepth_batch_complete_min": "1",
		"iodepth_batch_complete_max": strconv.Itoa(depth.Batch), "fixedbufs": flag01(mode.FixedBuffers), "registerfiles": flag01(mode.RegisteredFiles),
	}
}

// cellSums are a cell's measured rounds together.
type cellSums struct {
	ok, bytes                  uint64
	windowNS, userNS, systemNS int64
	iops                       []float64
	blockSize                  int
	errors                     map[string]uint64
}

func newCellSums(blockSize int) *cellSums {
	return &cellSums{blockSize: blockSize, errors: map[string]uint64{}}
}

func trialSums(rounds []trial.Round, blockSize int) *cellSums {
	s := newCellSums(blockSize)
	for i := range rounds {
		round := &rounds[i]
		used := round.Used() && round.IOPS != nil
		var iops float64
		if used {
			iops = *round.IOPS
		}
		s.add(round.Sample, used, iops)
	}
	return s
}

// add takes a round; of one that is not used only the errors count.
func (s *cellSums) add(sample *compare.Sample, used bool, iops float64) {
	if sample == nil {
		return
	}
	for text, n := range sample.Errors {
		s.errors[text] += n
	}
	if !used {
		return
	}
	s.ok += sample.OK
	s.bytes += sample.Bytes
	s.windowNS += sample.WindowNS
	s.userNS += sample.UserCPUNS
	s.systemNS += sample.SystemCPUNS
	s.iops = append(s.iops, iops)
}

// fill writes the sums into a job, whose side is read, write or trim.
func (s *cellSums) fill(job map[string]any, side string) {
	job["elapsed"], job["job_runtime"] = s.windowNS/1e9, s.windowNS/1e6
	if len(s.errors) > 0 {
		job["error"] = fioFailed
	}
	out := newFioSide()
	job[side] = out
	out["total_ios"], out["io_bytes"], out["io_kbytes"], out["runtime"] = s.ok, s.bytes, s.bytes>>10, s.windowNS/1e6
	if s.windowNS > 0 {
		seconds := float64(s.windowNS) / 1e9
		bw := uint64(float64(s.bytes) / seconds)
		out["iops"], out["bw_bytes"], out["bw"] = float64(s.ok)/seconds, bw, bw>>10
		job["usr_cpu"], job["sys_cpu"] = 100*float64(s.userNS)/float64(s.windowNS), 100*float64(s.systemNS)/float64(s.windowNS)
	}
	if len(s.iops) > 0 {
		least, most, mean, deviation := moments(s.iops)
		fillSamples(out, s.blockSize, least, most, mean, deviation, len(s.iops))
	}
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
