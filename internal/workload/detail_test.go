package workload

import (
	"math"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/ringtest"
)

// rwQueue is a ringQueue that also writes, and remembers what each slot did.
type rwQueue struct {
	*ringQueue
	reads, writes int
}

func (q *rwQueue) ReadBatch(slots []int, slbas []uint64, nlb uint32) error {
	err := q.ringQueue.ReadBatch(slots, slbas, nlb)
	if err == nil {
		q.reads += len(slots)
	}
	return err
}

func (q *rwQueue) WriteBatch(slots []int, slbas []uint64, nlb uint32) error {
	err := q.ringQueue.ReadBatch(slots, slbas, nlb)
	if err == nil {
		q.writes += len(slots)
	}
	return err
}

func rw(t *testing.T, depth int, k *ringtest.Kernel) *rwQueue {
	return &rwQueue{ringQueue: newRingQueue(t, depth, k)}
}

// TestMixCountsBothDirections: shares are as asked for, and the cells add up to
// the totals.
func TestMixCountsBothDirections(t *testing.T) {
	for _, pattern := range []Pattern{RandRW, ReadWrite} {
		for _, share := range []float64{0, 0.3, 1} {
			q := rw(t, 16, lazy())
			cfg := config(4, iosetup.RuleTIOUring)
			cfg.Pattern, cfg.ReadShare, cfg.Count = pattern, share, 20_000
			res, err := Run(t.Context(), q, cfg)
			require.NoError(t, err)
			require.Len(t, res.Cells, 2)
			require.Equal(t, Counts{Issued: 20_000, OK: 20_000}, res.Total)
			require.EqualValues(t, q.reads, res.Cells[0].OK)
			require.EqualValues(t, q.writes, res.Cells[1].OK)
			require.InDelta(t, share, float64(q.reads)/20_000, 0.02)
			require.EqualValues(t, 20_000, res.Window.Cells[0].OK+res.Window.Cells[1].OK, "the window of a count has all of it")
			require.EqualValues(t, 20_000, res.Window.OK)
		}
	}
}

// TestWritesWrite: a pattern that writes reads nothing.
func TestWritesWrite(t *testing.T) {
	for _, p := range []Pattern{RandWrite, Write} {
		q := rw(t, 4, lazy())
		cfg := config(2, iosetup.RuleFio)
		cfg.Pattern, cfg.Count = p, 1000
		_, err := Run(t.Context(), q, cfg)
		require.NoError(t, err)
		require.Equal(t, []int{0, 1000}, []int{q.reads, q.writes})
	}
}

// TestCountIsExact, whatever the batch, and leaves out the warm-up.
func TestCountIsExact(t *testing.T) {
	for _, rule := range []iosetup.BatchRule{iosetup.RuleFio, iosetup.RuleTIOUring} {
		for _, count := range []uint64{1, 5, 7, 1001} {
			q := newRingQueue(t, 7, lazy())
			cfg := config(3, rule)
			cfg.Count = count
			res, err := Run(t.Context(), q, cfg)
			require.NoError(t, err)
			require.Equal(t, Counts{Issued: count, OK: count}, res.Total)
			require.Equal(t, count, res.Window.OK)
			require.Nil(t, res.Cells)
		}
	}
	q := newRingQueue(t, 7, lazy())
	cfg := config(3, iosetup.RuleFio)
	cfg.Count, cfg.Warmup = 100, 5*time.Millisecond
	res, err := Run(t.Context(), q, cfg)
	require.NoError(t, err)
	require.Greater(t, res.Total.Issued, uint64(100), "and a warm-up before")
	require.GreaterOrEqual(t, res.Window.OK, uint64(100), "of which nothing is counted")
	require.LessOrEqual(t, res.Window.OK, uint64(107), "but what it left in flight")
}

// TestDevicesShareAQueue: counts go by slot.
func TestDevicesShareAQueue(t *testing.T) {
	q := rw(t, 6, lazy())
	cfg := config(3, iosetup.RuleTIOUring)
	cfg.Devices, cfg.Pattern, cfg.ReadShare, cfg.Count = 3, RandRW, 0.5, 6000
	res, err := Run(t.Context(), q, cfg)
	require.NoError(t, err)
	require.Len(t, res.Cells, 6, "two directions on three devices")
	sum := Counts{}
	for _, c := range res.Cells {
		require.Positive(t, c.OK)
		require.Equal(t, c.Issued, c.OK)
		sum.Issued, sum.OK = sum.Issued+c.Issued, sum.OK+c.OK
	}
	require.Equal(t, res.Total, sum)
}

// TestFailuresByCell: failed and cancelled commands are those of a cell, too.
func TestFailuresByCell(t *testing.T) {
	n := 0
	k := &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) {
		n++
		return []int32{0, -5, -4, 0}[n%4], 0, true
	}}
	q := rw(t, 4, k)
	cfg := config(2, iosetup.RuleTIOUring)
	cfg.Pattern, cfg.ReadShare, cfg.Count = RandRW, 0.5, 4000
	res, err := Run(t.Context(), q, cfg)
	require.NoError(t, err)
	sum := Counts{}
	for _, c := range res.Cells {
		require.Equal(t, c.Issued, c.OK+c.Failed+c.Cancelled)
		sum = Counts{sum.Issued + c.Issued, sum.OK + c.OK, sum.Failed + c.Failed, sum.Cancelled + c.Cancelled}
	}
	require.Equal(t, res.Total, sum)
	require.EqualValues(t, 2000, sum.Failed+sum.Cancelled)
}

// TestLatencyIsOfTheWindow: every command that ends well in it is recorded
// once, no other.
func TestLatencyIsOfTheWindow(t *testing.T) {
	k := lazy()
	q := newRingQueue(t, 8, k)
	cfg := config(2, iosetup.RuleTIOUring)
	cfg.Warmup, cfg.Latency = time.Hour, true
	r := started(t, q, cfg)
	enter := k.OnEnter
	k.OnEnter = func(n, minComplete, flags uint32) (int, syscall.Errno) {
		switch len(k.Enters) { // as the timers do
		case 20:
			r.ctl.Measure()
		case 60:
			r.ctl.End()
		}
		return enter(n, minComplete, flags)
	}
	res, err := r.run(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 80, res.Window.OK)
	require.EqualValues(t, 80, res.Window.Latency[0].Count())
	require.Greater(t, res.Total.OK, res.Window.OK)
}

// TestRateIsKept: no more is issued than is due, and latencies count from when
// it was due, so that a stall shows in all that waited for it (coordinated
// omission).
func TestRateIsKept(t *testing.T) {
	k := lazy()
	q := newRingQueue(t, 4, k)
	cfg := config(4, iosetup.RuleFio)
	cfg.Rate, cfg.Latency, cfg.Count = 10_000, true, 300
	const stall = 50 * time.Millisecond
	answered := 0
	k.Answer = func(ringtest.Entry) (int32, uint64, bool) {
		if answered++; answered == 100 {
			time.Sleep(stall)
		}
		return 0, 0, true
	}
	began := time.Now()
	res, err := Run(t.Context(), q, cfg)
	took := time.Since(began)
	require.NoError(t, err)
	require.GreaterOrEqual(t, took, 29*time.Millisecond, "300 commands at 10000 a second")
	s := res.Window.Latency[0].Summary()
	require.EqualValues(t, 300, s.Count)
	// One command slept; those that were due meanwhile waited, too.
	p90, _ := s.At(90)
	require.Greater(t, time.Duration(p90), stall/2)
}

// TestSamplesWhileRunning: a request is answered between two batches.
func TestSamplesWhileRunning(t *testing.T) {
	k := lazy()
	q := newRingQueue(t, 8, k)
	ctl, meter := &Control{}, &Meter{}
	require.Zero(t, meter.Read().Number)
	var asked atomic.Uint32
	enter := k.OnEnter
	k.OnEnter = func(n, minComplete, flags uint32) (int, syscall.Errno) {
		switch len(k.Enters) {
		case 10:
			asked.Store(ctl.Measure())
		case 30:
			require.Equal(t, asked.Load(), meter.Read().Number)
			require.Positive(t, meter.Read().Total.OK)
			asked.Store(ctl.Request())
		case 50:
			require.Equal(t, asked.Load(), meter.Read().Number)
			ctl.End()
		}
		return enter(n, minComplete, flags)
	}
	res, err := RunLed(q, config(2, iosetup.RuleTIOUring), ctl, meter)
	require.NoError(t, err)
	last := meter.Read()
	require.Equal(t, res.Total, last.Total, "the last sample is the end")
	require.EqualValues(t, 80, res.Window.OK)
	require.Equal(t, uint64(len(k.Enters)), last.Enters)
	ctl.Measure()
	require.EqualValues(t, ending, ctl.word.Load()&phaseMask, "an end is final")
}

func TestControlCountsRequests(t *testing.T) {
	c := &Control{}
	c.word.Store(math.MaxUint32 &^ phaseMask) // the number wraps around and leaves the phase alone
	require.Zero(t, c.Request())
	require.EqualValues(t, 1, c.Measure())
	require.EqualValues(t, measuring, c.word.Load()&phaseMask)
}

// TestCommandsAreBuilt one by one.
func TestCommandsAreBuilt(t *testing.T) {
	q := newRingQueue(t, 4, lazy())
	cfg := config(2, iosetup.RuleTIOUring)
	cfg.Pattern, cfg.Count, cfg.Blocks, cfg.NLB, cfg.Start = Trim, 6, 32, 8, 0.5
	var built []uint64
	cfg.Build = func(slot int, slba uint64) error {
		built = append(built, slba)
		return q.ReadBatch([]int{slot}, []uint64{slba}, 8)
	}
	_, err := Run(t.Context(), q, cfg)
	require.NoError(t, err)
	require.Equal(t, []uint64{16, 24, 0, 8, 16, 24}, built, "from the middle, and around")
}

func TestRunRefusesLoads(t *testing.T) {
	q := newRingQueue(t, 4, &ringtest.Kernel{})
	for text, change := range map[string]func(c *Config){
		"this queue cannot write":   func(c *Config) { c.Pattern = RandRW },
		"need no builder":           func(c *Config) { c.Pattern = Trim },
		"share of reads":            func(c *Config) { c.ReadShare = math.NaN() },
		"rate of":                   func(c *Config) { c.Rate = math.Inf(1) },
		"5 devices":                 func(c *Config) { c.Devices = 5 },
		"of the region":             func(c *Config) { c.Start = 1 },
		`pattern "x": need one of`:  func(c *Config) { c.Pattern = "x" },
		"no whole command of 8 blo": func(c *Config) { c.Blocks, c.NLB = 7, 8 },
	} {
		cfg := config(1, iosetup.RuleFio)
		change(&cfg)
		_, err := Run(t.Context(), q, cfg)
		require.ErrorContains(t, err, text)
	}
}

// TestDetailAllocatesNothing on the running kernel, with everything that can be
// asked for.
func TestDetailAllocatesNothing(t *testing.T) {
	for _, rate := range []float64{0, 1e8} {
		q := rw(t, 64, nil)
		cfg := config(16, iosetup.RuleTIOUring)
		cfg.Pattern, cfg.ReadShare, cfg.Latency, cfg.Devices, cfg.Rate, cfg.Poisson = RandRW, 0.5, true, 2, rate, rate > 0
		cfg.Distribution = Distribution{Zipf: 1.1}
		r := started(t, q, cfg)
		r.begin()
		require.Zero(t, testing.AllocsPerRun(500, r.turn))
		require.NoError(t, r.fatal)
		require.NoError(t, r.drain())
		require.Positive(t, r.total.OK)
	}
}
