package passthru_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

func entries(t *testing.T, dir string) int {
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	return len(list)
}

// ringMappings counts what a queue maps under a name: ring memory.
func ringMappings(t *testing.T) int {
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return strings.Count(string(maps), "io_uring")
}

func mappings(t *testing.T) int {
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return strings.Count(string(maps), "\n")
}

// TestB44RoundsLeaveNothing: opening, running and closing over and over leaves
// no descriptor, mapping or goroutine behind, also where a run was cancelled or
// setting up failed half-way.
func TestB44RoundsLeaveNothing(t *testing.T) {
	if _, err := uringcmd.ProbeKernel(); errors.Is(err, uringcmd.ErrDisabled) {
		ringtest.Missing(t, "io_uring", err)
	}
	d := passthru.NullDevice(nvme.Layout{LBASize: 4096, MetadataSize: 64}, nil)
	round := func(i int) {
		cfg := passthru.QueueConfig{
			Depth: 1 + i%70, BufferSize: 4096 << (i % 3), Guard: i%2 == 0, PlainBuffers: i%5 == 0, PlainFile: i%7 == 0, PlainRing: i%11 == 0, Linear: i%13 == 0,
		}
		if i%10 == 9 {
			cfg.BufferSize = 1000
			_, err := d.NewQueue(cfg)
			require.Error(t, err)
			return
		}
		q, err := d.NewQueue(cfg)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if i%4 == 0 {
			cancel()
		}
		res, err := workload.Run(ctx, q, workload.Config{
			Batch: 1 + i%cfg.Depth, Rule: iosetup.RuleFio, Pattern: workload.RandRead, Blocks: 1 << 30, NLB: q.Settings().BlocksPerBuffer, Runtime: 200 * time.Microsecond,
		})
		if i%4 == 0 {
			require.ErrorIs(t, err, context.Canceled)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, res.Total.Issued, res.Total.OK)
		require.Zero(t, q.InFlight())
		if i%6 == 0 { // closing with commands in flight
			require.NoError(t, q.ReadBatch([]int{0}, []uint64{0}, 1))
		}
		require.NoError(t, q.Close())
	}
	for i := range 70 {
		round(i)
	}
	fds, maps, goroutines := entries(t, "/proc/self/fd"), mappings(t), runtime.NumGoroutine()
	for i := range 300 {
		round(i)
	}
	require.Equal(t, fds, entries(t, "/proc/self/fd"))
	require.Zero(t, ringMappings(t))
	require.Less(t, mappings(t), maps+30, "a few come and go with the Go heap; 300 leaked ones would show")
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // the last ring's watchdog is on its way out
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
}

// TestRunOnTheRunningKernel: workload and queue together, every command ok and
// accounted for.
func TestRunOnTheRunningKernel(t *testing.T) {
	if _, err := uringcmd.ProbeKernel(); errors.Is(err, uringcmd.ErrDisabled) {
		ringtest.Missing(t, "io_uring", err)
	}
	for _, rule := range []iosetup.BatchRule{iosetup.RuleFio, iosetup.RuleTIOUring} {
		q, err := passthru.NullDevice(nvme.Layout{LBASize: 512}, nil).NewQueue(passthru.QueueConfig{Depth: 16, HoldP: true})
		require.NoError(t, err)
		var res *workload.Result
		// On a busy machine a short time may pass before the first command.
		for runtime := 5 * time.Millisecond; res == nil || res.Window.OK == 0; runtime *= 2 {
			before := q.Stats()
			res, err = workload.Run(t.Context(), q, workload.Config{
				Batch: 4, Rule: rule, Pattern: workload.Read, Blocks: 1000, NLB: 1, Runtime: runtime,
			})
			require.NoError(t, err)
			require.Equal(t, res.Total.Issued, res.Total.OK)
			require.Equal(t, res.Total.Issued, q.Stats().Reaped-before.Reaped)
		}
		require.LessOrEqual(t, res.Window.OK, res.Total.OK)
		require.Equal(t, res.Window.OK, res.Window.Reaped)
		require.Empty(t, res.Errors)
		require.LessOrEqual(t, res.Window.InFlight, 16.0)
		require.NoError(t, q.Close())
	}
}

// TestB01RunCountsEachKindApart: from the completion's res to the run's tally,
// through the real queue.
func TestB01RunCountsEachKindApart(t *testing.T) {
	k := &ringtest.Kernel{}
	q, err := passthru.NullDevice(nvme.Layout{LBASize: 512}, k).NewQueue(passthru.QueueConfig{Depth: 5})
	require.NoError(t, err)
	results := []int32{0, 0x285, -4, 0x4080, -22, 0x10000, -19}
	want := map[string]uint64{
		"Compare Failure (0x285)": 1, "EINTR": 1, "LBA Out of Range (0x80)": 1, "EINVAL": 1, "result that is no success, status or errno": 1, "ENODEV": 1,
	}
	n := 0
	k.Answer = func(ringtest.Entry) (int32, uint64, bool) {
		n++
		if n > len(results) {
			return 0, 0, true
		}
		return results[n-1], 0, true
	}
	res, err := workload.Run(t.Context(), q, workload.Config{
		Batch: 1, Rule: iosetup.RuleTIOUring, Pattern: workload.RandRead, Blocks: 1000, NLB: 1, Runtime: time.Hour,
	})
	require.ErrorContains(t, err, "the drive is gone", "which ends the run")
	require.Equal(t, workload.Counts{Issued: 7, OK: 1, Failed: 5, Cancelled: 1}, res.Total)
	require.Equal(t, want, res.Errors)
	require.NoError(t, q.Close())
}
