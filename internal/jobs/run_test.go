package jobs

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// TestJobsAddUp: per device, per job, in all, with every sample.
func TestJobsAddUp(t *testing.T) {
	c := testConfig(2)
	c.Warmup = 50 * time.Millisecond
	qs := []*fakeQueue{{took: time.Millisecond}, {took: 2 * time.Millisecond}, {took: time.Millisecond}}
	r := crewOf(t, c, qs...)
	measured := 0
	r.opt.Live = func(l Live) {
		if !l.Warmup {
			measured++
		}
		require.GreaterOrEqual(t, l.IOPS, 0.0)
		require.Equal(t, l.IOPS*512, l.BytesPerSecond)
		require.GreaterOrEqual(t, l.InFlight, 0.0)
		require.LessOrEqual(t, l.InFlight, 24.0)
		require.GreaterOrEqual(t, l.Remaining, time.Duration(0))
	}
	res, err := r.run(t.Context())
	require.NoError(t, err)
	require.Positive(t, measured)
	require.False(t, res.Interrupted)
	require.Equal(t, Schema, res.Schema)
	for i, q := range qs {
		require.True(t, q.closed)
		require.EqualValues(t, q.n, res.Jobs[i].Run.OK)
		require.Less(t, res.Jobs[i].OK, res.Jobs[i].Run.OK, "the warm-up is not in the window")
	}
	require.Equal(t, []string{"/dev/ng0n1"}, res.Jobs[2].Devices, "jobs take turns")
	require.Equal(t, res.Jobs[0].OK+res.Jobs[2].OK, res.Devices[0].OK)
	require.Equal(t, res.Jobs[1].OK, res.Devices[1].OK)
	require.Equal(t, res.Devices[0].OK+res.Devices[1].OK, res.Total.OK)
	require.Equal(t, res.Total.Run.Issued, res.Total.Run.OK)
	require.Equal(t, res.Devices[0].Ring.Enters+res.Devices[1].Ring.Enters, res.Total.Ring.Enters)
	require.GreaterOrEqual(t, res.Total.Samples.Count, 1)
	require.LessOrEqual(t, res.Total.Samples.Min, res.Total.Samples.Mean)
	require.InDelta(t, float64(res.Total.OK)/(float64(res.Total.WindowNS)/1e9), *res.Total.IOPS, 1)
}

// TestSharedRingCountsByDevice.
func TestSharedRingCountsByDevice(t *testing.T) {
	c := testConfig(2)
	c.SharedRing, c.Latency, c.RW, c.Number, c.Runtime = true, true, workload.RandRW, 1000, 0
	r := crewOf(t, c, &fakeQueue{}, &fakeQueue{})
	res, err := r.run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2000, res.Total.OK)
	require.EqualValues(t, 2000, res.Devices[0].OK+res.Devices[1].OK)
	for i := range res.Devices {
		require.Positive(t, res.Devices[i].OK)
		require.Nil(t, res.Devices[i].Ring)
		require.Len(t, res.Devices[i].Directions, 2)
		for _, d := range res.Devices[i].Directions {
			require.Equal(t, d.OK, d.Latency.Count)
		}
	}
	require.NotNil(t, res.Total.Ring)
	require.Equal(t, c.Devices, res.Jobs[0].Devices)
}

// TestOneJobFailsAllEnd, and what was measured is kept.
func TestOneJobFailsAllEnd(t *testing.T) {
	c := testConfig(2)
	c.Runtime = time.Hour
	r := crewOf(t, c, &fakeQueue{took: time.Millisecond}, &fakeQueue{took: time.Millisecond, broken: 20})
	res, err := r.run(t.Context())
	require.ErrorIs(t, err, uringcmd.ErrStalled)
	require.ErrorContains(t, err, "job 1")
	require.Empty(t, res.Jobs[0].Error)
	require.Positive(t, res.Devices[0].OK)
	require.Contains(t, res.Jobs[1].Error, "submit")
	require.Contains(t, res.Warnings[len(res.Warnings)-1], "not accounted for")
}

// TestOneJobCannotOpen: none runs.
func TestOneJobCannotOpen(t *testing.T) {
	q := &fakeQueue{}
	r := crewOf(t, testConfig(2), q, nil)
	res, err := r.run(t.Context())
	require.ErrorContains(t, err, "cannot be opened")
	require.Nil(t, res)
	require.True(t, q.closed)
	require.Zero(t, q.n)
}

func TestInterruptedRunKeepsItsFigures(t *testing.T) {
	for _, warmup := range []time.Duration{0, time.Hour} {
		c := testConfig(1)
		c.Runtime, c.Warmup = time.Hour, min(warmup, compare.MaxRuntime)
		r := crewOf(t, c, &fakeQueue{took: time.Millisecond})
		ctx, cancel := context.WithCancel(t.Context())
		r.opt.Live = func(l Live) {
			if l.IOPS > 0 {
				cancel()
			}
		}
		res, err := r.run(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.True(t, res.Interrupted)
		require.Positive(t, res.Total.Run.OK)
		require.Equal(t, res.Total.Run.Issued, res.Total.Run.OK)
		if warmup == 0 {
			require.Positive(t, res.Total.OK)
		} else {
			require.Zero(t, res.Total.OK)
			require.Nil(t, res.Total.IOPS)
			require.Contains(t, res.Warnings, "the run ended before its measured window began: there are no figures")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err := crewOf(t, testConfig(1), &fakeQueue{}).run(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, res)
}

// TestFailuresAreCountedAndNamed.
func TestFailuresAreCountedAndNamed(t *testing.T) {
	c := testConfig(1)
	c.Number, c.Runtime = 1000, 0
	r := crewOf(t, c, &fakeQueue{res: func(n int) int32 { return []int32{0, -5, 0, -4}[n%4] }})
	res, err := r.run(t.Context())
	require.NoError(t, err)
	require.Equal(t, compare.Counts{Issued: 1000, OK: 500, Failed: 250, Cancelled: 250}, res.Total.Run)
	require.Equal(t, map[string]uint64{"EIO": 250, "EINTR": 250}, res.Errors)
	require.Len(t, res.Warnings, 2+len(r.jobs[0].effect.Missing(c.Mode)))
}

// TestStatusIsAnsweredOutOfTurn.
func TestStatusIsAnsweredOutOfTurn(t *testing.T) {
	c := testConfig(1)
	r := crewOf(t, c, &fakeQueue{took: time.Millisecond})
	status := make(chan struct{}, 1)
	status <- struct{}{}
	var asked atomic.Int32
	r.opt.Interval, r.opt.Status = time.Hour, status
	r.opt.Live = func(l Live) {
		if l.Asked {
			asked.Add(1)
		}
	}
	res, err := r.run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, asked.Load())
	require.Nil(t, res.Total.Samples, "no second was whole")
}

// TestNoGarbageIsCollected while jobs run, and everything is as before
// afterwards.
func TestNoGarbageIsCollected(t *testing.T) {
	percent, procs := debug.SetGCPercent(100), runtime.GOMAXPROCS(0)
	defer debug.SetGCPercent(percent)
	limit := debug.SetMemoryLimit(-1)
	var begun, ended runtime.MemStats
	first := true
	r := crewOf(t, testConfig(1), &fakeQueue{took: time.Millisecond})
	r.opt.Live = func(Live) {
		if first {
			runtime.ReadMemStats(&begun)
			first = false
		}
		_ = append([]byte(nil), make([]byte, 1<<20)...)
		runtime.ReadMemStats(&ended)
	}
	_, err := r.run(t.Context())
	require.NoError(t, err)
	require.NotZero(t, ended.NumGC)
	require.Equal(t, begun.NumGC, ended.NumGC)
	require.Equal(t, 100, debug.SetGCPercent(100))
	require.Equal(t, limit, debug.SetMemoryLimit(-1))
	require.Equal(t, procs, runtime.GOMAXPROCS(0))
}

func TestRateNotReachedIsSaid(t *testing.T) {
	c := testConfig(1)
	c.RateIOPS, c.Latency = 1_000_000, true
	res, err := crewOf(t, c, &fakeQueue{took: time.Millisecond}).run(t.Context())
	require.NoError(t, err)
	require.Contains(t, res.Warnings[len(res.Warnings)-1], "rate of 1000000 IOPS was not reached")
}
