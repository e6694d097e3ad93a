package test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// workRun is a short random-read run.
func workRun(d *passthru.Device, batch int, rule iosetup.BatchRule, runtime time.Duration) workload.Config {
	return workload.Config{Batch: batch, Rule: rule, Pattern: workload.RandRead, Seed: 1, Blocks: d.Limits().Blocks, NLB: 1, Runtime: runtime}
}

func requireAddsUp(t *testing.T, r *workload.Result) {
	t.Helper()
	require.Equal(t, r.Total.Issued, r.Total.OK+r.Total.Failed+r.Total.Cancelled)
}

// TestB05AllDepthsFinish runs every path at every pair of queue depth and batch
// under both rules.
func TestB05AllDepthsFinish(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1})
	for _, path := range paths {
		for _, depth := range [][2]int{{1, 1}, {3, 3}, {8, 2}, {16, 4}, {128, 32}} {
			for _, rule := range []iosetup.BatchRule{iosetup.RuleFio, iosetup.RuleTIOUring} {
				t.Run(fmt.Sprintf("%s/%d_%d/%s", path, depth[0], depth[1], rule), func(t *testing.T) {
					owned(t, func(t *testing.T) {
						q, err := openPath(d, path, passthru.QueueConfig{Depth: depth[0], HoldP: true})
						require.NoError(t, err)
						var res *workload.Result
						// A starved guest may not fill the queue in the first time.
						for runtime := 150 * time.Millisecond; runtime < 10*time.Second && (res == nil || res.Window.OK == 0); runtime *= 8 {
							res, err = workload.Run(context.Background(), q, workRun(d, depth[1], rule, runtime))
							require.NoError(t, err)
							requireAddsUp(t, res)
						}
						require.Positive(t, res.Window.OK)
						require.Zero(t, res.Total.Failed, "%v", res.Errors)
						s := q.Stats()
						require.Zero(t, s.Stale)
						require.Zero(t, s.Overflow)
						require.Zero(t, s.Dropped)
						require.NoError(t, q.Close())
					})
				})
			}
		}
	}
}

// TestB04PolledMeansPolled: a polled run raises no interrupts of the drive, and
// one that is not polled does.
func TestB04PolledMeansPolled(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1})
	for _, path := range paths {
		before := interrupts(t)
		var ok uint64
		owned(t, func(t *testing.T) {
			q, err := openPath(d, path, passthru.QueueConfig{Depth: 8})
			require.NoError(t, err)
			res, err := workload.Run(context.Background(), q, workRun(d, 2, iosetup.RuleFio, 300*time.Millisecond))
			require.NoError(t, err)
			ok = res.Total.OK
			require.NoError(t, q.Close())
		})
		grown := interrupts(t) - before
		if strings.HasSuffix(path, "-poll") {
			require.Less(t, grown, ok/20+20, "%s: %d commands, %d interrupts", path, ok, grown)
		} else {
			require.Greater(t, grown, ok/20, "%s: %d commands, %d interrupts", path, ok, grown)
		}
	}
}

// ioQueue matches the name of an I/O queue's interrupt; q0 is the admin queue's.
var ioQueue = regexp.MustCompile(`^nvme\d+q[1-9]\d*$`)

// interrupts sums /proc/interrupts over the I/O queues of all controllers: with
// multipath the kernel chooses which one serves.
func interrupts(t *testing.T) (sum uint64) {
	t.Helper()
	b, err := os.ReadFile("/proc/interrupts")
	require.NoError(t, err)
	for line := range strings.SplitSeq(string(b), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 3 || !ioQueue.MatchString(fields[len(fields)-1]) {
			continue
		}
		for _, f := range fields[1:] {
			var n uint64
			if _, err := fmt.Sscan(f, &n); err != nil {
				break
			}
			sum += n
		}
	}
	return sum
}

// TestB01DriveErrorsAreNoSuccess: on a drive with unreadable sectors, failed
// commands are counted as failed, by their own name on each path, and never in
// the rate.
func TestB01DriveErrorsAreNoSuccess(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, serial: "bad"})
	for _, path := range []string{"passthru", "block"} {
		owned(t, func(t *testing.T) {
			q, err := openPath(d, path, passthru.QueueConfig{Depth: 4})
			require.NoError(t, err)
			cfg := workRun(d, 2, iosetup.RuleFio, 300*time.Millisecond)
			cfg.First, cfg.Blocks, cfg.Pattern = 2040, 16, workload.Read
			res, err := workload.Run(context.Background(), q, cfg)
			require.NoError(t, err)
			requireAddsUp(t, res)
			require.Positive(t, res.Total.Failed)
			require.Positive(t, res.Total.OK)
			var texts []string
			for text, n := range res.Errors {
				texts = append(texts, fmt.Sprintf("%s: %d", text, n))
			}
			if path == "block" {
				require.True(t, res.Errors["EIO"]+res.Errors["ENODATA"] == res.Total.Failed, texts) // a medium error is ENODATA since 5.x
			} else {
				require.Len(t, res.Errors, 1, texts)
				require.NotContains(t, res.Errors, "EIO", "a status is no errno")
			}
			t.Logf("%s: %d ok, %v", path, res.Total.OK, texts)

			require.NoError(t, q.Read(0, 2048, 1))
			var done [1]uringcmd.Completion
			n, err := q.Reap(1, done[:])
			require.NoError(t, err)
			require.Equal(t, 1, n)
			err = q.Err(done[0])
			if path == "block" {
				require.True(t, errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENODATA), err)
			} else {
				var status *nvme.StatusError
				require.ErrorAs(t, err, &status)
				require.Contains(t, err.Error(), "slba=0x800")
			}
			require.NoError(t, q.Close())
		})
	}
}

// TestB40DepthHasAnEffect: the queue is as full as asked, and on a drive with a
// fixed delay more depth gives more I/Os per second. The machine may stop for a
// while at any time, so that one of three tries is enough for the latter.
func TestB40DepthHasAnEffect(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, serial: "null"})
	for _, path := range []string{"passthru", "block"} {
		grew := false
		for try := 0; try < 3 && !grew; try++ {
			last := 0.0
			grew = true
			for _, depth := range []int{1, 4, 16} {
				owned(t, func(t *testing.T) {
					q, err := openPath(d, path, passthru.QueueConfig{Depth: depth})
					require.NoError(t, err)
					res, err := workload.Run(context.Background(), q, workRun(d, 1, iosetup.RuleFio, 500*time.Millisecond))
					require.NoError(t, err)
					rate := float64(res.Window.OK) / res.Window.Time.Seconds()
					require.InEpsilon(t, float64(depth), res.Window.InFlight, 0.1)
					t.Logf("%s depth %d: %.0f IOPS, %.2f in flight", path, depth, rate, res.Window.InFlight)
					grew = grew && rate > 1.5*last
					last = rate
					require.NoError(t, q.Close())
				})
			}
		}
		require.True(t, grew, path)
	}
}

// TestB02SignalStorm: profiling signals, the runtime's own and foreign ones do
// not lose or double a command on a slow drive.
func TestB02SignalStorm(t *testing.T) {
	d := device(t, want{serial: "slow", ms: 0})
	profile, err := os.CreateTemp(t.TempDir(), "cpu")
	require.NoError(t, err)
	require.NoError(t, pprof.StartCPUProfile(profile))
	defer pprof.StopCPUProfile()
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond):
				_ = syscall.Kill(os.Getpid(), syscall.SIGURG)
			}
		}
	}()
	defer close(stop)
	for _, hold := range []bool{false, true} {
		for _, path := range []string{"passthru", "block"} {
			owned(t, func(t *testing.T) {
				q, err := openPath(d, path, passthru.QueueConfig{Depth: 8, HoldP: hold})
				require.NoError(t, err)
				res, err := workload.Run(context.Background(), q, workRun(d, 2, iosetup.RuleFio, time.Second))
				require.NoError(t, err)
				requireAddsUp(t, res)
				require.Positive(t, res.Total.OK)
				require.Zero(t, res.Total.Failed+res.Total.Cancelled, "%v", res.Errors)
				s := q.Stats()
				require.Zero(t, s.Stale)
				require.Equal(t, s.Submitted, s.Reaped)
				require.NoError(t, q.Close())
			})
		}
	}
}

// TestB03ThreadChurnOnDrive: threads that end all the time take nothing along.
func TestB03ThreadChurnOnDrive(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0})
	stop := make(chan struct{})
	for range 4 {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				ended := make(chan struct{})
				go func() {
					runtime.LockOSThread()
					close(ended)
				}()
				<-ended
				time.Sleep(time.Millisecond)
			}
		}()
	}
	defer close(stop)
	workers := make(chan error, 4)
	for range 4 {
		go func() {
			q, err := d.NewQueue(passthru.QueueConfig{Depth: 32})
			if err != nil {
				workers <- err
				return
			}
			res, err := workload.Run(context.Background(), q, workRun(d, 8, iosetup.RuleFio, 2*time.Second))
			if err == nil && (res.Total.OK == 0 || res.Total.Issued != res.Total.OK) {
				err = fmt.Errorf("%+v %v", res.Total, res.Errors)
			}
			workers <- errors.Join(err, q.Close())
		}()
	}
	for range 4 {
		require.NoError(t, <-workers)
	}
}

// TestB03WrongThreadOnDrive: a queue used from elsewhere says so and goes on.
func TestB03WrongThreadOnDrive(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0})
	owned(t, func(t *testing.T) {
		q, err := d.NewQueue(passthru.QueueConfig{Depth: 2})
		require.NoError(t, err)
		require.NoError(t, q.Read(0, 0, 1))
		elsewhere := make(chan error, 2)
		go func() {
			elsewhere <- q.Submit(1)
			elsewhere <- q.Close()
		}()
		require.ErrorIs(t, <-elsewhere, uringcmd.ErrWrongThread)
		require.ErrorIs(t, <-elsewhere, uringcmd.ErrWrongThread)
		var done [2]uringcmd.Completion
		n, err := q.Reap(1, done[:])
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.NoError(t, q.Close())
	})
}

// TestB44CancelAtDepth: a cancelled run at depth 256 on a slow drive drains,
// and memory that is used right after is not written to.
func TestB44CancelAtDepth(t *testing.T) {
	d := device(t, want{serial: "slow", ms: 0})
	for _, path := range []string{"passthru", "block"} {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		owned(t, func(t *testing.T) {
			q, err := openPath(d, path, passthru.QueueConfig{Depth: 256})
			require.NoError(t, err)
			res, err := workload.Run(ctx, q, workRun(d, 32, iosetup.RuleFio, time.Hour))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			requireAddsUp(t, res)
			require.Zero(t, q.InFlight())
			require.NoError(t, q.Close())
		})
		cancel()
		fresh, err := sys.MapAnonymous(256<<20, false)
		require.NoError(t, err)
		time.Sleep(100 * time.Millisecond)
		for i := 0; i < len(fresh); i += 64 {
			if fresh[i] != 0 {
				t.Fatalf("byte %d of fresh memory was written to", i)
			}
		}
		require.NoError(t, sys.Unmap(fresh))
	}
}

// TestB44CloseDrains: Close alone, with a full queue in flight, waits for all.
func TestB44CloseDrains(t *testing.T) {
	d := device(t, want{serial: "slow", ms: 0})
	for _, path := range []string{"passthru", "block"} {
		owned(t, func(t *testing.T) {
			q, err := openPath(d, path, passthru.QueueConfig{Depth: 32})
			require.NoError(t, err)
			for i := range 32 {
				require.NoError(t, q.Read(i, uint64(i), 1))
			}
			require.NoError(t, q.Submit(0))
			require.NoError(t, q.Close())
		})
	}
}

// TestB44OpenRunClose: hundreds of rounds (thousands with envLong) leave no descriptor, mapping, locked
// memory, goroutine or thread behind.
func TestB44OpenRunClose(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1})
	rounds := long(300, 10_000)
	round := func(i int) {
		owned(t, func(t *testing.T) {
			again, err := passthru.Open(d.Path(), nil)
			require.NoError(t, err)
			q, err := openPath(again, paths[i%len(paths)], passthru.QueueConfig{Depth: 4})
			require.NoError(t, err)
			require.NoError(t, q.Read(0, 0, 1))
			require.NoError(t, q.Submit(0))
			require.NoError(t, q.Close())
			require.NoError(t, again.Close())
		})
	}
	for i := range 50 {
		round(i)
	}
	settle()
	before := resources(t)
	for i := range rounds {
		round(i)
	}
	settle()
	after := resources(t)
	require.LessOrEqual(t, after.fds, before.fds)
	if !raceDetector {
		require.LessOrEqual(t, after.maps, before.maps+8, "mappings")
	}
	require.LessOrEqual(t, after.goroutines, before.goroutines)
	require.LessOrEqual(t, after.lockedKB, before.lockedKB)
	t.Logf("%d rounds: %+v -> %+v", rounds, before, after)
}

func settle() {
	for range 20 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	debug.FreeOSMemory()
}

type used struct{ fds, maps, goroutines, lockedKB int }

func resources(t *testing.T) (u used) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	u = used{fds: len(fds), maps: strings.Count(string(maps), "\n"), goroutines: runtime.NumGoroutine()}
	for line := range strings.SplitSeq(string(status), "\n") {
		if v, ok := strings.CutPrefix(line, "VmLck:"); ok {
			_, err := fmt.Sscan(v, &u.lockedKB)
			require.NoError(t, err)
		}
	}
	return u
}

// TestB45HarshCollector runs the paths that hand memory to the kernel in a
// process whose collector runs all the time and overwrites what it frees.
func TestB45HarshCollector(t *testing.T) {
	device(t, want{lba: 512, ms: 0, write: true})
	cmd := exec.Command(os.Args[0], "-test.run", "^(TestIdentityAgreesWithSysfs|TestB30BlockNodeIsMapped|TestDataIsRight)$/^(lba=512|)$", "-test.v")
	cmd.Env = append(os.Environ(), "GOGC=1", "GODEBUG=gccheckmark=1,clobberfree=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestIdentityAgreesWithSysfs")
	require.Contains(t, string(out), "--- PASS: TestB30BlockNodeIsMapped")
	require.Contains(t, string(out), "--- PASS: TestDataIsRight/lba=512/")
}

// TestB36WrapOnDrive: more than three turns of both rings with sizes that are
// no powers of two.
func TestB36WrapOnDrive(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0})
	for _, path := range []string{"passthru", "block"} {
		for _, linear := range []bool{false, true} {
			owned(t, func(t *testing.T) {
				q, err := openPath(d, path, passthru.QueueConfig{Depth: 3, Linear: linear, Rewind: linear})
				require.NoError(t, err)
				forEach(t, q, 100, 1, func(slot int, slba uint64) error { return q.Read(slot, slba, 1) }, func(int, uint64) {})
				require.NoError(t, q.Close())
			})
		}
	}
}

// TestHotPathAllocatesNothing on the real driver, by every path.
func TestHotPathAllocatesNothing(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1})
	for _, path := range paths {
		owned(t, func(t *testing.T) {
			q, err := openPath(d, path, passthru.QueueConfig{Depth: 32})
			require.NoError(t, err)
			slots, slbas, done := make([]int, 32), make([]uint64, 32), make([]uringcmd.Completion, 32)
			for i := range slots {
				slots[i], slbas[i] = i, uint64(i)
			}
			allocs := testing.AllocsPerRun(50, func() {
				if err := q.ReadBatch(slots, slbas, 1); err != nil {
					panic(err)
				}
				for got := 0; got < 32; {
					n, err := q.Reap(32-got, done)
					if err != nil {
						panic(err)
					}
					got += n
				}
			})
			require.Zero(t, allocs, path)
			require.NoError(t, q.Close())
		})
	}
}
