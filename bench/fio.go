package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// blockSize of the drive part's reads, in bytes.
const blockSize = 512

// fioArgs are a job that does what a cell of `nvmepass compare` does, with
// everything switched off that costs fio time and that compare does not do
// either: clock readings per command, statistics of the disk, the progress thread,
// the map of blocks that were read. Of its generators, tausworthe costs the least
// (null engine: 135 ns a command, with tausworthe64 145, with lfsr 150).
func fioArgs(cfg driveConfig, generic, block, path, depth string) []string {
	qd, batch, _ := strings.Cut(depth, "_")
	args := []string{
		"--name=" + path, "--rw=randread", "--bs=" + strconv.Itoa(blockSize), "--thread=1", "--numjobs=1",
		"--iodepth=" + qd, "--iodepth_batch_submit=" + batch, "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=" + batch,
		"--time_based=1", "--runtime=" + milliseconds(cfg.Runtime), "--ramp_time=" + milliseconds(cfg.Warmup),
		"--cpus_allowed=" + strconv.Itoa(cfg.CPU), "--norandommap=1", "--random_generator=tausworthe", "--readonly",
		"--gtod_reduce=1", "--disk_util=0", "--invalidate=0", "--eta=never", "--output-format=json",
	}
	// An engine's own options are known only after its name.
	if strings.HasPrefix(path, "passthru") {
		args = append(args, "--ioengine=io_uring_cmd", "--cmd_type=nvme", "--filename="+generic)
	} else {
		args = append(args, "--ioengine=io_uring", "--direct=1", "--filename="+block)
	}
	args = append(args, "--fixedbufs=1", "--registerfiles=1")
	if strings.HasSuffix(path, "-poll") {
		args = append(args, "--hipri=1")
	}
	return args
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }

// decodeFio reads fio's JSON, which messages may precede, and refuses a job that
// did not do what was asked. fio counts commands by their submission and bytes by
// their completion, so that up to qd commands of the warm-up are in the bytes
// alone.
func decodeFio(out []byte, qd uint64) (Sample, error) {
	begin := bytes.IndexByte(out, '{')
	if begin < 0 {
		return nil, fmt.Errorf("output of fio: no JSON: %s", tail(out))
	}
	var r struct {
		Jobs []struct {
			Error int `json:"error"`
			Read  struct {
				IOBytes  uint64  `json:"io_bytes"`
				TotalIOs uint64  `json:"total_ios"`
				ShortIOs uint64  `json:"short_ios"`
				IOPS     float64 `json:"iops"`
			} `json:"read"`
			UserCPU   float64 `json:"usr_cpu"` // % of the runtime
			SystemCPU float64 `json:"sys_cpu"`
		} `json:"jobs"`
	}
	if err := json.NewDecoder(bytes.NewReader(out[begin:])).Decode(&r); err != nil {
		return nil, fmt.Errorf("output of fio: %w: %s", err, tail(out))
	}
	if len(r.Jobs) != 1 {
		return nil, fmt.Errorf("output of fio: %d jobs: need one", len(r.Jobs))
	}
	j := &r.Jobs[0]
	read := &j.Read
	if j.Error != 0 {
		return nil, fmt.Errorf("output of fio: the job ended with error %d", j.Error)
	}
	if n := read.IOBytes / blockSize; read.TotalIOs == 0 || read.ShortIOs != 0 || read.IOBytes%blockSize != 0 || n < read.TotalIOs || n > read.TotalIOs+qd {
		return nil, fmt.Errorf("output of fio: %d reads, %d of them short, %d bytes in all: need reads of %d bytes each", read.TotalIOs, read.ShortIOs, read.IOBytes, blockSize)
	}
	s := Sample{metricIOPS: read.IOPS}
	if read.IOPS > 0 {
		s[metricCPU] = (j.UserCPU + j.SystemCPU) / 100 * 1e9 / read.IOPS
	}
	return s, nil
}
