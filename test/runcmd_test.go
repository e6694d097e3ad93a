package test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/passthru"
)

// liveForm is t/io_uring's line.
var liveForm = regexp.MustCompile(`^IOPS=[0-9.]+[KM]?, BW=[0-9.]+(MiB|GiB)/s, IOS/call=[0-9]+/[0-9]+, inflight=[0-9]+( \(warm-up\))?$`)

// runRecord runs nvmepass run and decodes its record, which it holds against
// itself.
func runRecord(t *testing.T, code int, args ...string) *jobs.Result {
	t.Helper()
	got, out, errs := nvmepass(t, append([]string{"run", "-o", "json"}, args...)...)
	require.Equal(t, code, got, errs)
	res, err := jobs.Decode(strings.NewReader(out))
	require.NoError(t, err, errs)
	requireSound(t, res)
	return res
}

// requireSound: counts add up, over directions, jobs and devices.
func requireSound(t *testing.T, res *jobs.Result) {
	t.Helper()
	addUp := func(f *jobs.Figures) {
		t.Helper()
		r := f.Run
		require.Equal(t, r.Issued, r.OK+r.Failed+r.Cancelled)
		require.LessOrEqual(t, f.OK, r.OK)
		require.Equal(t, f.OK*uint64(res.Config.BlockSize), f.Bytes)
		var ok, failed uint64
		for _, d := range f.Directions {
			ok, failed = ok+d.OK, failed+d.Failed
		}
		require.Equal(t, []uint64{f.OK, f.Failed}, []uint64{ok, failed})
		if f.IOPS != nil {
			require.InEpsilon(t, float64(f.OK)/(float64(f.WindowNS)/1e9)+1, *f.IOPS+1, 1e-6)
		}
	}
	addUp(&res.Total)
	var byDevice, byJob compare.Counts
	var okDevice, okJob uint64
	for i := range res.Devices {
		addUp(&res.Devices[i].Figures)
		r := res.Devices[i].Run
		byDevice = compare.Counts{Issued: byDevice.Issued + r.Issued, OK: byDevice.OK + r.OK, Failed: byDevice.Failed + r.Failed, Cancelled: byDevice.Cancelled + r.Cancelled}
		okDevice += res.Devices[i].OK
	}
	for i := range res.Jobs {
		addUp(&res.Jobs[i].Figures)
		r := res.Jobs[i].Run
		byJob = compare.Counts{Issued: byJob.Issued + r.Issued, OK: byJob.OK + r.OK, Failed: byJob.Failed + r.Failed, Cancelled: byJob.Cancelled + r.Cancelled}
		okJob += res.Jobs[i].OK
	}
	require.Equal(t, res.Total.Run, byDevice)
	require.Equal(t, res.Total.Run, byJob)
	require.Equal(t, []uint64{res.Total.OK, res.Total.OK}, []uint64{okDevice, okJob})
}

// TestRunCommandPaths: each path runs in its mode, with a live line per second
// on standard error alone.
func TestRunCommandPaths(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1})
	for _, path := range paths {
		code, out, errs := nvmepass(t, "run", d.Path(), "--path", path, "--runtime", "2500ms", "--warmup", "200ms", "-o", "json", "--progress", "plain")
		require.Zero(t, code, errs)
		res, err := jobs.Decode(strings.NewReader(out))
		require.NoError(t, err)
		requireSound(t, res)
		require.Positive(t, res.Total.OK)
		require.Equal(t, strings.HasSuffix(path, "-poll"), res.Jobs[0].Settings.Polled)
		require.Equal(t, d.Controller().SN, res.Environment.Devices[0].Serial)
		require.LessOrEqual(t, *res.Total.Ring.MeanInFlight, 128.0)
		require.NotNil(t, res.Total.Samples)
		require.GreaterOrEqual(t, res.Total.Samples.Max, res.Total.Samples.Mean)
		lines := 0
		for line := range strings.Lines(errs) {
			require.Regexp(t, liveForm, strings.TrimSpace(line))
			lines++
		}
		require.GreaterOrEqual(t, lines, 1, errs)
	}
}

// pair are two drives on which one ring can run.
func pair(t *testing.T) (a, b *passthru.Device) {
	return device(t, want{lba: 512, ms: 0, poll: 1}), device(t, want{lba: 512, ms: 0, serial: "null"})
}

// TestRunCommandTwoDrives is S5: one thread and ring per drive, results for each
// and in all.
func TestRunCommandTwoDrives(t *testing.T) {
	a, b := pair(t)
	res := runRecord(t, 0, a.Path(), b.Path(), "--qd", "1", "--path", "block", "--runtime", "1500ms")
	require.Len(t, res.Devices, 2)
	require.Len(t, res.Jobs, 2)
	require.Equal(t, 1, res.Config.Depth.Batch)
	for i := range res.Devices {
		require.Positive(t, res.Devices[i].OK)
		require.InDelta(t, 1, *res.Devices[i].Ring.MeanInFlight, 0.01)
	}
	require.LessOrEqual(t, *res.Total.IOPS, *res.Devices[0].IOPS+*res.Devices[1].IOPS+1)

	code, out, errs := nvmepass(t, "run", a.Path(), b.Path(), "--qd", "1", "--path", "block", "--runtime", "300ms", "--cpu", "0-1", "--progress", "none")
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	for _, s := range []string{a.Path(), b.Path(), "total", "Jobs", "2 rings"} {
		require.Contains(t, out, s)
	}
}

// TestRunCommandSharedRing: one ring drives two drives, each with its share of
// the depth; several rings drive one.
func TestRunCommandSharedRing(t *testing.T) {
	a, b := pair(t)
	for _, path := range []string{"passthru", "block"} {
		res := runRecord(t, 0, a.Path(), b.Path(), "--shared-ring", "--path", path, "--runtime", "1s", "--qd", "16", "--batch", "1", "--latency")
		require.Len(t, res.Jobs, 1)
		require.Len(t, res.Devices, 2)
		for i := range res.Devices {
			require.Positive(t, res.Devices[i].OK)
			require.Nil(t, res.Devices[i].Ring, "it cannot be told apart")
			require.Equal(t, res.Devices[i].OK, res.Devices[i].Directions[0].Latency.Count)
		}
		p50, ok := res.Devices[1].Directions[0].Latency.At(50)
		require.True(t, ok)
		require.Greater(t, time.Duration(p50), 1500*time.Microsecond, "it takes 2 ms a command")
	}
	for _, path := range []string{"passthru", "block-poll"} {
		res := runRecord(t, 0, a.Path(), "--numjobs", "3", "--path", path, "--qd", "4", "--runtime", "500ms")
		require.Len(t, res.Jobs, 3)
	}
	several := []string{"run", a.Path(), "--numjobs", "3", "--path", "passthru-poll", "--qd", "4", "--runtime", "500ms", "--progress", "none"}
	code, out, errs := nvmepass(t, several...)
	if strings.HasPrefix(sys.KernelRelease(), "6.1.") { // which that crashes
		require.Equal(t, 2, code)
		require.Contains(t, errs, "crash the kernel")
		return
	}
	require.Zero(t, code, errs)
	require.Contains(t, strings.Join(strings.Fields(out), " "), "3 jobs poll")
}

// TestRunCommandMemory: a run at depth 128 stays below 32 MiB of resident
// memory, and collects no garbage while it measures.
func TestRunCommandMemory(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1})
	bin := tool(t)
	for _, args := range [][]string{{"--bs", "4k"}, {"--bs", "4k", "--path", "block", "--latency"}} {
		cmd := exec.Command(bin, append([]string{"run", d.Path(), "--runtime", "3500ms", "--progress", "plain"}, args...)...)
		cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")
		errs, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		status := ""
		var during []string
		lines := bufio.NewScanner(errs)
		for lines.Scan() {
			if liveForm.MatchString(lines.Text()) {
				b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
				require.NoError(t, err)
				if len(b) > 0 {
					status = string(b)
				}
			}
			during = append(during, lines.Text())
		}
		require.NoError(t, cmd.Wait())
		first, last := -1, -1
		for i, line := range during {
			if liveForm.MatchString(line) {
				if last = i; first < 0 {
					first = i
				}
			}
		}
		require.GreaterOrEqual(t, first, 0)
		for _, line := range during[first:last] {
			require.NotContains(t, line, "gc ", "garbage was collected during the window")
		}
		peak := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindStringSubmatch(status)
		require.NotNil(t, peak, status)
		kib, err := strconv.Atoi(peak[1])
		require.NoError(t, err)
		t.Logf("%v: peak resident memory %d KiB", args, kib)
		require.Less(t, kib, 30<<10, "the limit is 32 MiB")
	}
}

// TestRunCommandSignals: SIGUSR1 prints the line; SIGINT and SIGTERM end the
// run, which prints what it has; a second one ends it at once.
func TestRunCommandSignals(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0})
	bin := tool(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.Command(bin, "run", d.Path(), "--runtime", "100", "-o", "json", "--progress", "none")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		require.NoError(t, cmd.Start())
		awaitQueue(t, cmd.Process.Pid, d)
		time.Sleep(200 * time.Millisecond)
		require.NoError(t, cmd.Process.Signal(syscall.SIGUSR1))
		time.Sleep(time.Second)
		require.NoError(t, cmd.Process.Signal(sig))
		_ = cmd.Wait()
		require.Equal(t, 130, cmd.ProcessState.ExitCode(), errs.String())
		require.Regexp(t, liveForm, strings.TrimSpace(errs.String()))
		res, err := jobs.Decode(&out)
		require.NoError(t, err)
		require.True(t, res.Interrupted)
		require.Positive(t, res.Total.OK)
		requireSound(t, res)
	}
	// On a drive that takes its time to drain, a second signal ends the process
	// instead of waiting. How long the kernel then takes over it is the kernel's.
	slow := device(t, want{serial: "slow", ms: 0})
	cmd := exec.Command(bin, "run", slow.Path(), "--runtime", "100", "--qd", "4096", "--batch", "4096", "--progress", "none")
	require.NoError(t, cmd.Start())
	awaitQueue(t, cmd.Process.Pid, slow)
	time.Sleep(200 * time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	time.Sleep(300 * time.Millisecond)
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Wait()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok && status.Signaled(), "ended by itself with %d", cmd.ProcessState.ExitCode())
	require.Equal(t, syscall.SIGINT, status.Signal())
}

// awaitQueue waits until a process has a drive open twice: for itself and for a
// queue.
func awaitQueue(t *testing.T, pid int, d *passthru.Device) {
	t.Helper()
	require.Eventually(t, func() bool {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		open := 0
		for _, fd := range fds {
			if target, err := os.Readlink(fd); err == nil && target == d.Path() {
				open++
			}
		}
		return open >= 2
	}, 30*time.Second, 20*time.Millisecond)
}

// TestRunCommandClosedPipe: who no longer reads is not told about it.
func TestRunCommandClosedPipe(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0})
	bin := tool(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	cmd := exec.Command(bin, "run", d.Path(), "--runtime", "200ms", "--progress", "none")
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &errs
	_ = cmd.Run()
	require.NoError(t, w.Close())
	require.Empty(t, errs.String())
	require.False(t, cmd.ProcessState.Success())
}

// TestRunCommandLoads: counts, rates, distributions and regions.
func TestRunCommandLoads(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1})
	res := runRecord(t, 0, d.Path(), "--number-ios", "1234", "--rw", "read", "--size", "64k", "--offset", "1m", "--bs", "1k")
	require.EqualValues(t, 1234, res.Total.Run.Issued)
	require.EqualValues(t, 1234, res.Total.OK)
	res = runRecord(t, 0, d.Path(), "--io-size", "1m", "--bs", "4k", "--numjobs", "2", "--random-distribution", "zipf:1.1")
	require.EqualValues(t, 512, res.Total.OK, "256 for each job")

	for _, args := range [][]string{{"--rate-iops", "500"}, {"--rate", "250k"}, {"--rate-iops", "500", "--rate-process", "poisson"}} {
		res = runRecord(t, 0, append([]string{d.Path(), "--runtime", "2s", "--latency", "--random-distribution", "pareto:0.2"}, args...)...)
		require.Less(t, *res.Total.IOPS, 600.0, "%v", args) // 1000 commands; a Poisson process may have some more
		require.Greater(t, *res.Total.IOPS, 250.0, "%v", args)
		require.Equal(t, res.Total.OK, res.Total.Directions[0].Latency.Count)
	}
	slow := device(t, want{serial: "slow", ms: 0})
	res = runRecord(t, 0, slow.Path(), "--rate-iops", "2000", "--runtime", "2s", "--latency", "--qd", "8")
	require.Contains(t, strings.Join(res.Warnings, "\n"), "not reached")
	p50, _ := res.Total.Directions[0].Latency.At(50)
	require.Greater(t, time.Duration(p50), 100*time.Millisecond, "a drive of 400 IOPS falls behind, and latencies say so")
}

// TestRunCommandErrors: failed commands are counted by name, and the exit code
// is 3.
func TestRunCommandErrors(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, serial: "bad"})
	res := runRecord(t, 3, d.Path(), "--rw", "read", "--offset", "1044480", "--size", "8k", "--runtime", "300ms", "--qd", "4")
	require.Positive(t, res.Total.Run.Failed)
	require.Positive(t, res.Total.OK)
	require.NotEmpty(t, res.Errors)
	require.NotContains(t, res.Errors, "EIO", "a status is no errno")
}

// TestRunCommandFormats that are not JSON of our own.
func TestRunCommandFormats(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1})
	run := func(format string) string {
		code, out, errs := nvmepass(t, "run", d.Path(), "--runtime", "1200ms", "--latency", "-o", format, "--progress", "none")
		require.Zero(t, code, errs)
		return out
	}
	rows, err := csv.NewReader(strings.NewReader(run("csv"))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 4, "header, total, one device, one job")
	require.Contains(t, run("bench"), " IOPS ")
	var fio struct {
		Jobs []struct {
			Read struct {
				TotalIOs uint64  `json:"total_ios"`
				IOPS     float64 `json:"iops"`
				Clat     struct {
					Percentile map[string]int64
				} `json:"clat_ns"`
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(run("fio")), &fio))
	require.Positive(t, fio.Jobs[0].Read.TotalIOs)
	require.Positive(t, fio.Jobs[0].Read.Clat.Percentile["99.000000"])

	save := t.TempDir() + "/run.json"
	code, out, errs := nvmepass(t, "run", d.Path(), "--runtime", "200ms", "--save", save, "--progress", "none")
	require.Zero(t, code, errs)
	require.Contains(t, out, "IOPS")
	f, err := os.Open(save)
	require.NoError(t, err)
	defer f.Close()
	_, err = jobs.Decode(f)
	require.NoError(t, err)
}

// TestRunCommandWrites on every kind of write, and reads what they left.
func TestRunCommandWrites(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1, write: true})
	zero(t, d, 4<<20)
	for _, rw := range []string{"randwrite", "write", "randrw", "rw", "randtrim", "trim", "randzeroes", "zeroes"} {
		for _, path := range paths {
			block := strings.HasPrefix(path, "block")
			if commands := strings.HasSuffix(rw, "trim") || strings.HasSuffix(rw, "zeroes"); commands && block {
				continue
			}
			t.Run(rw+"/"+path, func(t *testing.T) {
				if path == "passthru-poll" && strings.HasSuffix(rw, "zeroes") && strings.HasPrefix(sys.KernelRelease(), "6.1.") {
					code, _, errs := nvmepass(t, "run", d.Path(), "--rw", rw, "--path", path, "--allow-write", "--runtime", "1")
					require.Equal(t, 2, code)
					require.Contains(t, errs, "crash the kernel")
					return
				}
				res := runRecord(t, 0, d.Path(), "--rw", rw, "--path", path, "--number-ios", "2000", "--bs", "1k", "--offset", "1m", "--size", "1m", "--qd", "16", "--allow-write", "--progress", "none")
				require.EqualValues(t, 2000, res.Total.OK)
				for _, dir := range res.Total.Directions {
					require.Positive(t, dir.OK, dir.Direction)
				}
			})
		}
	}
	zeros := make([]byte, 4<<20)
	read := func() []byte {
		b := make([]byte, 4<<20)
		_, err := d.ReadAt(b, 0)
		require.NoError(t, err)
		return b
	}
	// The last pattern zeroed the region, each block of it.
	require.Equal(t, zeros, read())
	runRecord(t, 0, d.Path(), "--rw", "write", "--number-ios", "1024", "--bs", "1k", "--offset", "1m", "--size", "1m", "--allow-write", "--progress", "none")
	b := read()
	require.Equal(t, zeros[:1<<20], b[:1<<20], "nothing before the region is touched")
	require.Equal(t, zeros[2<<20:], b[2<<20:], "nor behind it")
	for i := 1 << 20; i < 2<<20; i += 512 {
		require.NotEqual(t, zeros[:512], b[i:i+512], "block at byte %d was not written", i)
	}
	zero(t, d, 4<<20)
}

// zero overwrites the first n bytes, partition tables and all.
func zero(t *testing.T, d *passthru.Device, n int) {
	t.Helper()
	_, err := d.WriteAt(make([]byte, n), 0)
	require.NoError(t, err)
	tail := make([]byte, 1<<20)
	_, err = d.WriteAt(tail, d.Size()-int64(len(tail)))
	require.NoError(t, err)
}

// TestRunCommandHolds: nobody else gets the block node while a run writes.
func TestRunCommandHolds(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1, write: true})
	zero(t, d, 2<<20)
	bin := tool(t)
	for _, path := range []string{"passthru", "block"} {
		cmd := exec.Command(bin, "run", d.Path(), "--rw", "randwrite", "--allow-write", "--offset", "8m", "--size", "1m", "--runtime", "60", "--path", path, "--progress", "plain")
		errs, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(errs)
		for lines.Scan() && !liveForm.MatchString(lines.Text()) {
		}
		_, err = os.OpenFile(d.BlockPath(), os.O_RDONLY|syscall.O_EXCL, 0)
		require.ErrorIs(t, err, syscall.EBUSY)
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		_, _ = io.Copy(io.Discard, errs)
		_ = cmd.Wait()
		f, err := os.OpenFile(d.BlockPath(), os.O_RDONLY|syscall.O_EXCL, 0)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	zero(t, d, 16<<20)
}

// TestRunCommandMetadata: reads and writes on layouts with metadata and
// protection information.
func TestRunCommandMetadata(t *testing.T) {
	for _, w := range []want{{lba: 4096, ms: 64, extended: true, write: true}, {lba: 512, ms: 8, write: true}} {
		t.Run(w.String(), func(t *testing.T) {
			d := device(t, w)
			res := runRecord(t, 0, d.Path(), "--allow-write", "--force-overwrite", "--progress", "none", "--size", strconv.Itoa(int(d.DataLayout().Unit())*64), "--rw", "write", "--number-ios", "64", "--qd", "1")
			require.EqualValues(t, 64, res.Total.OK)
			require.EqualValues(t, d.DataLayout().Unit(), res.Config.BlockSize)
		})
	}
}

// TestZoneRunCommandAppends: appends fill the zones of the region once.
func TestZoneRunCommandAppends(t *testing.T) {
	d := device(t, want{lba: 4096, ms: 0, serial: "zns4k", write: true})
	res := runRecord(t, 0, d.Path(), "--rw", "append", "--size", "16m", "--allow-write", "--force-overwrite", "--bs", "16k", "--qd", "8", "--progress", "none")
	// Four zones of 3 MiB each in 16 MiB.
	require.EqualValues(t, 4*3<<20/(16<<10), res.Total.OK)
	require.Zero(t, res.Total.Run.Failed, "%v", res.Errors)
	res = runRecord(t, 0, d.Path(), "--rw", "append", "--numjobs", "2", "--size", "16m", "--allow-write", "--force-overwrite", "--number-ios", "10", "--progress", "none")
	require.EqualValues(t, 20, res.Total.OK)
	code, _, errs := nvmepass(t, "run", d.Path(), "--rw", "randwrite", "--allow-write", "--runtime", "1")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "append")
}

// ext2Image is a small file system: mke2fs -t ext2 -b 1024 -N 16 -m 0 FILE 256k.
func ext2Image(t *testing.T) []byte {
	t.Helper()
	f, err := os.Open("testdata/ext2.img.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	return b
}
