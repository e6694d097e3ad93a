package test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/ioqueue"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/nopbench"
	"github.com/nvmepass/nvmepass/internal/sweep"
	"github.com/nvmepass/nvmepass/internal/syncio"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/units"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// unhurried is nvmepass, tried again where the machine stood still for so long
// that a window ended before it began.
func unhurried(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	for range 5 {
		code, stdout, stderr = nvmepass(t, args...)
		if code != 3 || !strings.Contains(stdout, "give a longer --runtime") {
			break
		}
	}
	return code, stdout, stderr
}

// TestNopCommand: both operations run on every kernel, in any mode, and
// add up.
func TestNopCommand(t *testing.T) {
	device(t, want{}) // marks the machine as one to test on
	for _, args := range [][]string{
		{}, {"--ablate", "--depths", "16_4"}, {"--batch-rule", "fio", "--sqpoll", "--sqpoll-idle", "10ms", "--depths", "8_2"},
	} {
		for _, op := range []nopbench.Op{nopbench.NOP, nopbench.URINGCmd} {
			code, out, errs := unhurried(t, append([]string{"nop", "--op", string(op), "--rounds", "3", "--runtime", "150ms", "--warmup", "0", "--progress", "none", "-o", "json"}, args...)...)
			require.Zero(t, code, "%s%s", out, errs)
			res, err := nopbench.Decode(strings.NewReader(out))
			require.NoError(t, err)
			require.Equal(t, res.Totals.Issued, res.Totals.OK)
			for _, c := range res.Cells {
				require.Equal(t, 3, c.Measured, "%v: %+v", c.Cell, c.Rounds)
				require.Positive(t, *c.IOPS.Median)
			}
			require.Equal(t, sys.KernelRelease(), res.Environment.Kernel)
		}
	}
}

// sizesAround are sizes below, at and above the limit of one command.
func sizesAround(d *passthru.Device) []int {
	limit := int(d.Limits().MaxTransfer)
	return []int{4096, limit, limit + 16<<10, 2 * limit}
}

// TestSweepCommand: every cell is measured or says why not; one command is
// never exceeded in silence, and nothing hangs.
func TestSweepCommand(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1})
	sizes := sizesAround(d)
	var list []string
	for _, n := range sizes {
		list = append(list, units.FormatSize(int64(n)))
	}
	args := []string{"sweep", d.Path(), "--rounds", "3", "--runtime", "150ms", "--warmup", "0", "--progress", "none", "--bs-list", strings.Join(list, ",")}
	code, out, errs := unhurried(t, append(args, "-o", "json")...)
	require.Zero(t, code, "%s%s", out, errs)
	res, err := sweep.Decode(strings.NewReader(out))
	require.NoError(t, err)
	require.Equal(t, res.Totals.Issued, res.Totals.OK)
	require.Len(t, res.Cells, len(sizes)*6)
	require.Equal(t, sizes[2], res.FirstAbove())
	for i := range res.Cells {
		c := &res.Cells[i]
		above := c.BlockSize > sizes[1]
		if !c.Path.Passthru() {
			require.Equal(t, above, c.Commands > 1, c.Cell)
		}
		switch {
		case above && c.Path.Passthru():
			require.Contains(t, c.NotRun, "one command never carries more")
		case c.Path == sweep.BlockPoll && res.Limits.MaySplit(c.BlockSize) && blockio.SplitPolled() != nil:
			require.Equal(t, blockio.SplitPolled().Error(), c.NotRun)
		default:
			require.Empty(t, c.NotRun, c.Cell)
			require.Equal(t, 3, c.Measured, "%v: %+v", c.Cell, c.Rounds)
			require.Positive(t, *c.BytesPerSecond.Median)
			polled := c.Path.PolledRing() || c.Path == sweep.SyncPoll && syncio.Polls(sys.KernelRelease())
			require.Equal(t, polled, c.Rounds[0].Sample.Settings.Polled, c.Cell)
			require.InEpsilon(t, *c.IOPS.Median*float64(c.BlockSize), *c.BytesPerSecond.Median, 1e-6)
			continue
		}
		require.Empty(t, c.Rounds)
		require.Nil(t, c.IOPS.Median)
	}

	code, out, errs = unhurried(t, append(args, "--baseline", "series-2020b", "--qd", "4", "--rounds", "1", "--paths", "block,block-poll")...)
	require.Zero(t, code, "%s%s", out, errs)
	for _, s := range []string{"> " + list[2], "series-2020b", "3167", "no intervals and no verdicts"} {
		require.Contains(t, out, s)
	}
	code, _, errs = nvmepass(t, "sweep", d.Path(), "--bs-list", list[3], "--paths", "passthru")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "never carries more")
	code, _, errs = nvmepass(t, "sweep", d.Path(), "--bs-list", "700")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "--bs-list 700")
}

// TestB04SweepWithoutPollQueues is refused with the boot option, and runs without
// polling.
func TestB04SweepWithoutPollQueues(t *testing.T) {
	d := device(t, want{poll: -1, ms: 0})
	code, out, errs := nvmepass(t, "sweep", d.Path())
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Contains(t, errs, "nvme.poll_queues=")
	code, out, errs = unhurried(t, "sweep", d.Path(), "--paths", "block,passthru,sync", "--bs-list", "4k", "--rounds", "1", "--runtime", "50ms", "--warmup", "0")
	require.Zero(t, code, errs)
	require.Contains(t, out, "passthru")
}

// TestInterruptedSweep: SIGINT ends the sweep, prints what was measured and
// marks it; exit code 130.
func TestInterruptedSweep(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0})
	bin := tool(t)
	cmd := exec.Command(bin, "sweep", d.Path(), "--paths", "passthru,sync", "--bs-list", "4k,8k", "--runtime", "2s", "-o", "json")
	var out bytes.Buffer
	cmd.Stdout = &out
	require.NoError(t, cmd.Start())
	time.Sleep(3 * time.Second)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	res, err := sweep.Decode(&out)
	require.NoError(t, err)
	require.True(t, res.Interrupted)
	require.Positive(t, res.Totals.OK)
}

// TestSplitPolledReads: where they are said to complete, polled reads that the
// block layer splits do, with the right data, into fixed and plain buffers;
// elsewhere a queue for them is refused unless asked for by name.
func TestSplitPolledReads(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1, write: true})
	bs := 2 * int(d.Limits().MaxTransfer)
	blocks := uint64(bs / 512)
	cfg := ioqueue.Config{Path: iosetup.BlockPoll, Mode: iosetup.DefaultMode(), Depth: 4, BufferSize: bs, StallLimit: 20 * time.Second}
	_, err := ioqueue.Open([]*passthru.Device{d}, cfg)
	require.ErrorContains(t, err, "may split reads")
	if err := blockio.SplitPolled(); err != nil {
		require.ErrorContains(t, err, sys.KernelRelease())
		return
	}
	for slba := uint64(0); slba < 4*blocks; slba += blocks / 2 {
		fill(t, d, slba, blocks/2, 7)
	}
	cfg.AllowSplit = true
	for _, fixed := range []bool{true, false} {
		owned(t, func(t *testing.T) {
			cfg.Mode.FixedBuffers = fixed
			q, err := ioqueue.Open([]*passthru.Device{d}, cfg)
			require.NoError(t, err)
			for slot := range 4 {
				require.NoError(t, q.Read(slot, uint64(slot)*blocks, uint32(blocks)))
			}
			done := make([]uringcmd.Completion, 4)
			for got := 0; got < 4; {
				require.NoError(t, q.Submit(1))
				n := q.Take(done)
				for _, c := range done[:n] {
					require.NoError(t, q.Err(c))
					require.True(t, bytes.Equal(stampedBlocks(uint64(c.Slot)*blocks, blocks, 7), q.Buffer(c.Slot)), "fixed %v, slot %d", fixed, c.Slot)
				}
				got += n
			}
			res, err := workload.Run(context.Background(), q, workload.Config{
				Batch: 1, Rule: iosetup.RuleFio, Pattern: workload.RandRead, Blocks: d.Limits().Blocks, NLB: uint32(blocks), Runtime: 200 * time.Millisecond,
			})
			require.NoError(t, err)
			requireAddsUp(t, res)
			require.Zero(t, res.Total.Failed, "%v", res.Errors)
			require.NoError(t, q.Close())
		})
	}
}

// TestSynchronousReads bring the same data as passthrough, and whether they are
// polled for is as the program says.
func TestSynchronousReads(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, poll: 1, write: true})
	fill(t, d, 100, 64, 3)
	for _, poll := range []bool{false, true} {
		q, err := syncio.Open(syncio.Config{Path: d.BlockPath(), LBA: 512, BufferSize: 16 << 10, Poll: poll})
		require.NoError(t, err)
		done := make([]uringcmd.Completion, 1)
		for _, slba := range []uint64{100, 132} {
			require.NoError(t, q.ReadBatch([]int{0}, []uint64{slba}, 32))
			require.NoError(t, q.Submit(1))
			require.Equal(t, 1, q.Take(done))
			require.NoError(t, q.Err(done[0]))
			require.True(t, bytes.Equal(stampedBlocks(slba, 32, 3), q.Buffer()))
		}
		require.NoError(t, q.ReadBatch([]int{0}, []uint64{d.Limits().Blocks}, 1), "beyond the end")
		require.NoError(t, q.Submit(1))
		require.Equal(t, 1, q.Take(done))
		require.Error(t, q.Err(done[0]))

		before := interrupts(t)
		res, err := workload.Run(context.Background(), q, workload.Config{
			Batch: 1, Rule: iosetup.RuleFio, Pattern: workload.RandRead, Blocks: d.Limits().Blocks, NLB: 32, Runtime: 300 * time.Millisecond,
		})
		require.NoError(t, err)
		requireAddsUp(t, res)
		require.Zero(t, res.Total.Failed, "%v", res.Errors)
		grown, ok := interrupts(t)-before, res.Total.OK
		if poll && syncio.Polls(sys.KernelRelease()) {
			require.Less(t, grown, ok/20+20, fmt.Sprint(ok))
		} else {
			require.Greater(t, grown, ok/20, "poll %v: %d reads", poll, ok)
		}
		require.NoError(t, q.Close())
	}
}
