package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

func config(batch int, rule iosetup.BatchRule) Config {
	return Config{Batch: batch, Rule: rule, Pattern: RandRead, Blocks: 1 << 20, NLB: 1, Runtime: time.Hour}
}

func started(t *testing.T, q Queue, cfg Config) *runner {
	t.Helper()
	r, err := newRunner(q, &cfg)
	require.NoError(t, err)
	return r
}

// TestB40Batching: exactly which calls a run makes when the drive completes no
// more than it is waited for: entries submitted and completions waited for.
func TestB40Batching(t *testing.T) {
	type call = [2]uint32 // submitted, waited for
	repeat := func(n int, c call) []call { return slices.Repeat([]call{c}, n) }
	tests := []struct {
		depth, batch int
		rule         iosetup.BatchRule
		fill, steady []call // until the queue is full, and from then on
		inFlight     float64
	}{
		{1, 1, iosetup.RuleFio, nil, []call{{1, 1}}, 1},
		{8, 2, iosetup.RuleFio, append(repeat(3, call{2, 0}), call{2, 1}), []call{{1, 1}}, 8},
		{16, 4, iosetup.RuleFio, append(repeat(3, call{4, 0}), call{4, 1}), []call{{1, 1}}, 16},
		{4, 4, iosetup.RuleFio, []call{{4, 1}}, []call{{1, 1}}, 4},
		{7, 3, iosetup.RuleFio, []call{{3, 0}, {3, 0}, {1, 1}}, []call{{1, 1}}, 7},
		{1, 1, iosetup.RuleTIOUring, nil, []call{{1, 1}}, 1},
		{8, 2, iosetup.RuleTIOUring, repeat(3, call{2, 0}), []call{{2, 2}}, 8},
		{16, 4, iosetup.RuleTIOUring, repeat(3, call{4, 0}), []call{{4, 4}}, 16},
		{4, 4, iosetup.RuleTIOUring, nil, []call{{4, 4}}, 4},
		{7, 3, iosetup.RuleTIOUring, []call{{3, 0}, {3, 0}, {1, 3}}, []call{{3, 3}}, 7},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d_%d/%s", tt.depth, tt.batch, tt.rule), func(t *testing.T) {
			k := lazy()
			q := newRingQueue(t, tt.depth, k)
			r := started(t, q, config(tt.batch, tt.rule))
			for range tt.fill {
				r.turn()
			}
			start, most := r.snapshot(), 0
			answer := k.Answer
			k.Answer = func(e ringtest.Entry) (int32, uint64, bool) {
				most = max(most, q.InFlight())
				return answer(e)
			}
			const turns = 50
			for range turns {
				r.turn()
			}
			require.NoError(t, r.fatal)
			var got []call
			for _, e := range k.Enters {
				got = append(got, call{e.ToSubmit, e.MinComplete})
			}
			require.Equal(t, append(tt.fill, slices.Repeat(tt.steady, turns)...), got)
			require.Equal(t, tt.depth, most, "the queue is as deep as asked, and no deeper")
			stop := r.snapshot()
			w := window(&start, &stop)
			require.Equal(t, tt.inFlight, w.InFlight)
			require.EqualValues(t, turns, w.Enters)
			require.EqualValues(t, turns*int(tt.steady[0][0]), w.Submitted)
			require.Equal(t, w.Submitted, w.Reaped)
			require.Equal(t, w.Reaped, w.OK)

			require.NoError(t, r.drain())
			require.Zero(t, q.InFlight())
			require.Equal(t, r.total.Issued, r.total.OK)
			slices.Sort(r.free)
			for i, slot := range r.free {
				require.Equal(t, i, slot, "every slot is free once")
			}
			require.Len(t, r.free, tt.depth)
		})
	}
}

// TestB40FioReapsAtMostABatch although more is there; t/io_uring's rule takes
// all.
func TestB40FioReapsAtMostABatch(t *testing.T) {
	for rule, want := range map[iosetup.BatchRule]int{iosetup.RuleFio: 2, iosetup.RuleTIOUring: 8} {
		q := newRingQueue(t, 8, &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, true }})
		r := started(t, q, config(8, rule))
		r.turn()
		require.NoError(t, r.drain())
		r.cfg.Batch = 2
		for range 4 { // fills the queue
			if rule == iosetup.RuleTIOUring {
				r.cfg.Batch = 8
			}
			before := r.total.OK
			r.turn()
			if n := int(r.total.OK - before); n > 0 {
				require.Equal(t, want, n)
			}
		}
		require.NoError(t, r.drain())
		require.NoError(t, r.fatal)
	}
}

// TestB06RunEndsWhenACommandIsRefused: those before it are published, counted
// and drained; the others were never in flight.
func TestB06RunEndsWhenACommandIsRefused(t *testing.T) {
	k := &ringtest.Kernel{}
	q := newRingQueue(t, 8, k)
	q.refuse = 5 // slots go out as 3, 2, 1, 0 and then 7, 6, 5, 4
	res, err := Run(t.Context(), q, config(4, iosetup.RuleFio))
	require.ErrorIs(t, err, errRefused)
	require.Equal(t, Counts{Issued: 6, OK: 6}, res.Total)
	require.Len(t, k.Consumed, 6)
	require.Zero(t, q.InFlight())

	r := started(t, q, config(4, iosetup.RuleFio))
	r.turn()
	r.turn()
	require.ErrorIs(t, r.fatal, errRefused)
	require.NoError(t, r.drain())
	slices.Sort(r.free)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, r.free)
}

// TestB06EnterFails: what is published stays in flight and is drained once the
// kernel takes it.
func TestB06EnterFails(t *testing.T) {
	k := &ringtest.Kernel{}
	k.OnEnter = func(n, _, flags uint32) (int, syscall.Errno) {
		if len(k.Enters) == 3 {
			return 0, syscall.EBADR
		}
		return k.Default(n, flags), 0
	}
	res, err := Run(t.Context(), newRingQueue(t, 8, k), config(2, iosetup.RuleFio))
	require.ErrorIs(t, err, syscall.EBADR)
	require.Equal(t, Counts{Issued: 6, OK: 6}, res.Total)
}

// TestB14EveryResultIsCountedOnce, under its own name.
func TestB14EveryResultIsCountedOnce(t *testing.T) {
	results := []int32{0, 0x285, -22, 0, 0x4080, -4, 0x80}
	i := 0
	k := &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) {
		i++
		return results[(i-1)%len(results)], 0, true
	}}
	q := newRingQueue(t, 4, k)
	q.errOf = func(c uringcmd.Completion) error {
		if c.Res > 0 {
			return &nvme.StatusError{Status: nvme.Status(c.Res)}
		}
		return &passthru.KernelError{Errno: syscall.Errno(-c.Res)}
	}
	r := started(t, q, config(2, iosetup.RuleTIOUring))
	for i < 7*10 {
		r.turn()
	}
	require.NoError(t, r.drain())
	require.NoError(t, r.fatal)
	n := uint64(len(k.Consumed))
	require.Equal(t, n, r.total.Issued)
	require.Equal(t, n, r.total.OK+r.total.Failed+r.total.Cancelled)
	sum := uint64(0)
	for _, c := range r.errors {
		sum += c
	}
	require.Equal(t, r.total.Failed+r.total.Cancelled, sum)
	require.Equal(t, r.errors["EINTR"], r.total.Cancelled)
	require.GreaterOrEqual(t, r.total.Cancelled, uint64(10))
	require.Equal(t, r.errors["EINVAL"]*2, r.errors["LBA Out of Range (0x80)"], "Do Not Retry does not make another kind")
	require.Len(t, r.errors, 4)
	require.Contains(t, r.errors, "Compare Failure (0x285)")
}

// TestShortCommandsCountAsOK: a result that is not OKResult is asked about.
func TestShortCommandsCountAsOK(t *testing.T) {
	q := newRingQueue(t, 2, &ringtest.Kernel{})
	q.okRes, q.errOf = 4096, func(uringcmd.Completion) error { return nil }
	r := started(t, q, config(1, iosetup.RuleTIOUring))
	r.turn()
	require.NoError(t, r.drain())
	require.Equal(t, Counts{Issued: 1, OK: 1}, r.total)
}

func TestErrorText(t *testing.T) {
	for want, err := range map[string]error{
		"EIO":                            &blockio.TransferError{Res: -5},
		"short transfer":                 &blockio.TransferError{Res: 512, Length: 4096},
		"EINTR":                          &passthru.KernelError{Errno: syscall.EINTR},
		"errno 4000":                     &passthru.KernelError{Errno: 4000},
		"Invalid Field in Command (0x2)": &nvme.StatusError{Status: 0x4002},
		"result that is no success, status or errno": errors.New("res 0x10000"),
	} {
		require.Equal(t, want, errorText(fmt.Errorf("wrapped: %w", err)))
	}
	require.ErrorIs(t, &blockio.TransferError{}, io.ErrUnexpectedEOF)
}

// TestB47DriveGone: the run ends with its counts.
func TestB47DriveGone(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ENODEV, syscall.ENXIO} {
		n := 0
		k := &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) {
			if n++; n > 20 {
				return -int32(errno), 0, true
			}
			return 0, 0, true
		}}
		q := newRingQueue(t, 8, k)
		res, err := Run(t.Context(), q, config(2, iosetup.RuleFio))
		require.ErrorIs(t, err, errno)
		require.EqualValues(t, 20, res.Total.OK)
		require.Positive(t, res.Total.Failed)
		require.Equal(t, res.Total.Issued, res.Total.OK+res.Total.Failed)
		require.Zero(t, q.InFlight())
	}
}

// TestB44NothingCompletes: the stall limit ends the run; nothing waits for it
// twice but Close, which leaks on purpose.
func TestB44NothingCompletes(t *testing.T) {
	for _, rule := range []iosetup.BatchRule{iosetup.RuleFio, iosetup.RuleTIOUring} {
		k := &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, false }}
		q := newRingQueue(t, 4, k)
		res, err := Run(t.Context(), q, config(2, rule))
		require.ErrorIs(t, err, uringcmd.ErrStalled)
		require.NotContains(t, err.Error(), "drain")
		require.Equal(t, Counts{Issued: 4}, res.Total)
		require.Equal(t, 4, q.InFlight())
		var leak *uringcmd.LeakError
		require.ErrorAs(t, q.Close(), &leak)
		require.Equal(t, 4, leak.InFlight)
	}
}

// TestB44StallInDrain: likewise when the run time is over already.
func TestB44StallInDrain(t *testing.T) {
	k := &ringtest.Kernel{Answer: func(ringtest.Entry) (int32, uint64, bool) { return 0, 0, false }}
	q := newRingQueue(t, 4, k)
	r := started(t, q, config(2, iosetup.RuleFio))
	r.turn()
	require.ErrorIs(t, r.drain(), uringcmd.ErrStalled)
	require.ErrorContains(t, r.drain(), "drain: ")
}

// TestB44CancelledAnywhere: everything in flight is collected and counted, and
// the window is what was measured of it.
func TestB44CancelledAnywhere(t *testing.T) {
	for _, where := range []string{"before", "warm-up", "window", "drain"} {
		t.Run(where, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			k := lazy()
			q := newRingQueue(t, 8, k)
			cfg := config(2, iosetup.RuleFio)
			switch where {
			case "before":
				cancel()
			case "warm-up":
				cfg.Warmup = time.Hour
			}
			r := started(t, q, cfg)
			enter := k.OnEnter
			k.OnEnter = func(n, minComplete, flags uint32) (int, syscall.Errno) {
				switch {
				case where == "drain" && r.ctl.word.Load()&phaseMask == ending, where != "drain" && len(k.Enters) == 10:
					cancel()
				case where == "drain" && len(k.Enters) == 10:
					r.ctl.word.Store(ending) // as the timer does
				}
				return enter(n, minComplete, flags)
			}
			res, err := r.run(ctx)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, res.Total.Issued, res.Total.OK)
			require.EqualValues(t, len(k.Consumed), res.Total.Issued)
			require.Zero(t, q.InFlight())
			switch where {
			case "before", "warm-up":
				require.Equal(t, Window{}, res.Window)
			default:
				require.Positive(t, res.Window.Time)
				require.Less(t, res.Window.OK, res.Total.OK, "what was drained is not in the window")
			}
		})
	}
}

// TestWindowLeavesOutWarmup: its counts and its time are between the same two
// moments.
func TestWindowLeavesOutWarmup(t *testing.T) {
	k := lazy()
	q := newRingQueue(t, 8, k)
	cfg := config(2, iosetup.RuleTIOUring)
	cfg.Warmup = time.Hour
	r := started(t, q, cfg)
	enter := k.OnEnter
	k.OnEnter = func(n, minComplete, flags uint32) (int, syscall.Errno) {
		switch len(k.Enters) { // as the timers do
		case 20:
			r.ctl.word.Store(measuring)
		case 60:
			r.ctl.word.Store(ending)
		}
		return enter(n, minComplete, flags)
	}
	res, err := r.run(t.Context())
	require.NoError(t, err)
	require.Positive(t, res.Window.Time)
	w := res.Window
	w.Began, w.Time, w.UserCPU, w.SystemCPU = time.Time{}, 0, 0, 0
	require.Equal(t, Window{OK: 80, Enters: 40, Submitted: 80, Reaped: 80, InFlight: 8}, w)
	// The queue fills in 3 turns; the 57 others before the drain reap 2 each.
	require.Equal(t, Counts{Issued: 120, OK: 120}, res.Total)
}

// TestTimersEndARun: a short one ends by itself.
func TestTimersEndARun(t *testing.T) {
	cfg := config(2, iosetup.RuleFio)
	cfg.Warmup, cfg.Runtime = time.Millisecond, time.Millisecond
	res, err := Run(t.Context(), newRingQueue(t, 8, lazy()), cfg)
	require.NoError(t, err)
	require.Equal(t, res.Total.Issued, res.Total.OK)
}

func TestFatalInWarmupHasNoWindow(t *testing.T) {
	q := newRingQueue(t, 2, &ringtest.Kernel{})
	q.refuse = 0
	cfg := config(1, iosetup.RuleFio)
	cfg.Warmup = time.Hour
	res, err := Run(t.Context(), q, cfg)
	require.ErrorIs(t, err, errRefused)
	require.Equal(t, Window{}, res.Window)
}

func TestRunRefuses(t *testing.T) {
	tests := []struct {
		change func(c *Config)
		text   string
	}{
		{func(c *Config) { c.Batch = 0 }, "run: batch 0: need 1 to the queue depth of 4"},
		{func(c *Config) { c.Batch = 5 }, "run: batch 5: need 1 to the queue depth of 4"},
		{func(c *Config) { c.Rule = "fo" }, `run: batching rule "fo": need "fio" or "t/io_uring"`},
		{func(c *Config) { c.Blocks = 0 }, "run: region of 0 blocks"},
		{func(c *Config) { c.Pattern = "write" }, `run: pattern "write"`},
		{func(c *Config) { c.Runtime = -1 }, "negative"},
		{func(c *Config) { c.Warmup = -1 }, "negative"},
		{func(c *Config) { c.Warmup = math.MaxInt64 }, "292 years"},
	}
	q := newRingQueue(t, 4, &ringtest.Kernel{})
	for _, tt := range tests {
		cfg := config(1, iosetup.RuleFio)
		tt.change(&cfg)
		res, err := Run(t.Context(), q, cfg)
		require.ErrorContains(t, err, tt.text)
		require.Nil(t, res)
	}
}

// TestAddressesReachTheQueue in their order.
func TestAddressesReachTheQueue(t *testing.T) {
	k := &ringtest.Kernel{}
	q := newRingQueue(t, 4, k)
	cfg := config(2, iosetup.RuleTIOUring)
	cfg.Pattern, cfg.First, cfg.Blocks, cfg.NLB = Read, 100, 24, 8
	r := started(t, q, cfg)
	r.turn()
	r.turn()
	var got []uint64
	for _, e := range k.Consumed {
		got = append(got, q.slba(e))
	}
	require.Equal(t, []uint64{100, 108, 116, 100}, got)
	require.NoError(t, r.drain())
}

// TestTurnAllocatesNothing on the running kernel.
func TestTurnAllocatesNothing(t *testing.T) {
	for _, rule := range []iosetup.BatchRule{iosetup.RuleFio, iosetup.RuleTIOUring} {
		q := newRingQueue(t, 64, nil)
		r := started(t, q, config(16, rule))
		require.Zero(t, testing.AllocsPerRun(500, r.turn))
		require.NoError(t, r.fatal)
		require.NoError(t, r.drain())
		require.Greater(t, r.total.OK, uint64(500))
	}
}
