package workload

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Queue is what a run drives; passthru.Queue and blockio.Queue are ones. All
// calls are per batch.
type Queue interface {
	Depth() int
	ReadBatch(slots []int, slbas []uint64, nlb uint32) error
	Submit(wait int) error
	Take(dst []uringcmd.Completion) int
	InFlight() int
	OKResult() int32
	Err(c uringcmd.Completion) error
	Stats() uringcmd.Stats
}

// Rule says how many commands are submitted and reaped at a time.
type Rule string

// Rules.
const (
	// RuleFio: submit up to Batch, and when the queue is full reap what is
	// there, at least 1 and at most Batch.
	RuleFio Rule = "fio"
	// RuleTIO is t/io_uring's: submit up to Batch; when the queue is full wait
	// for Batch, and reap all there is.
	RuleTIO Rule = "t/io_uring"
)

// Config is one run.
type Config struct {
	// Batch is the number of commands per system call, 1 to the queue's depth.
	Batch int
	Rule  Rule
	// Pattern and Seed choose addresses within the region of Blocks logical
	// blocks from First.
	Pattern       Pattern
	Seed          uint64
	First, Blocks uint64
	// NLB is the length of each command in logical blocks.
	NLB uint32
	// Warmup is run and not measured; Runtime is the window.
	Warmup, Runtime time.Duration
}

// Counts are numbers of commands.
type Counts struct {
	Issued, OK, Failed, Cancelled uint64
}

// Window is what happened between the end of the warm-up and the end of the
// run time.
type Window struct {
	Time                  time.Duration
	OK, Failed, Cancelled uint64
	Enters                uint64        // system calls
	Submitted, Reaped     uint64        // commands
	InFlight              float64       // mean, taken at each system call
	UserCPU, SystemCPU    time.Duration // of the calling thread
}

// Result is one run. Total.Issued = OK + Failed + Cancelled, unless Run returned
// uringcmd.ErrStalled: then what is missing is still in flight.
type Result struct {
	Total  Counts
	Window Window
	// Errors counts failed and cancelled commands by the text of their error.
	Errors map[string]uint64
}

// Phases of a run, in a word that timers advance and the loop reads per batch.
const (
	warmingUp = iota
	measuring
	ending
)

type runner struct {
	q     Queue
	cfg   *Config
	addr  *addresses
	phase atomic.Uint32

	free  []int // slots not in flight
	slbas []uint64
	done  []uringcmd.Completion
	okRes int32

	total           Counts
	inFlightSum     uint64
	inFlightSamples uint64
	errors          map[string]uint64
	fatal           error
}

// snapshot is everything that the window is the difference of.
type snapshot struct {
	at              time.Time
	total           Counts
	stats           uringcmd.Stats
	sum, samples    uint64
	userCPU, sysCPU time.Duration
}

// Run drives the queue until the run time has passed, ctx is done, or the drive
// is gone. Unless commands stall it drains the queue, so that every command is
// accounted for; the result is valid also beside an error.
func Run(ctx context.Context, q Queue, cfg Config) (*Result, error) {
	r, err := newRunner(q, &cfg)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	return r.run(ctx)
}

func newRunner(q Queue, cfg *Config) (*runner, error) {
	if cfg.Batch < 1 || cfg.Batch > q.Depth() {
		return nil, fmt.Errorf("batch %d: need 1 to the queue depth of %d", cfg.Batch, q.Depth())
	}
	if cfg.Rule != RuleFio && cfg.Rule != RuleTIO {
		return nil, fmt.Errorf("batching rule %q: need %q or %q", cfg.Rule, RuleFio, RuleTIO)
	}
	if cfg.Warmup < 0 || cfg.Runtime < 0 || cfg.Warmup+cfg.Runtime < 0 {
		return nil, fmt.Errorf("warm-up of %v and run time of %v: neither may be negative, nor their sum beyond 292 years", cfg.Warmup, cfg.Runtime)
	}
	addr, err := newAddresses(cfg.Pattern, cfg.First, cfg.Blocks, cfg.NLB, cfg.Seed)
	if err != nil {
		return nil, err
	}
	r := &runner{
		q: q, cfg: cfg, addr: addr, okRes: q.OKResult(),
		free: make([]int, q.Depth()), slbas: make([]uint64, cfg.Batch), done: make([]uringcmd.Completion, q.Depth()),
		errors: map[string]uint64{},
	}
	for i := range r.free {
		r.free[i] = len(r.free) - 1 - i // slot 0 on top of the stack
	}
	return r, nil
}

func (r *runner) run(ctx context.Context) (*Result, error) {
	end := func() { r.phase.Store(ending) }
	if r.cfg.Warmup == 0 {
		r.phase.Store(measuring)
	} else {
		t := time.AfterFunc(r.cfg.Warmup, func() { r.phase.CompareAndSwap(warmingUp, measuring) })
		defer t.Stop()
	}
	t := time.AfterFunc(r.cfg.Warmup+r.cfg.Runtime, end)
	defer t.Stop()
	defer context.AfterFunc(ctx, end)()
	if ctx.Err() != nil {
		end() // now: the call above tells in its own time
	}

	var start, stop snapshot
	started := false
	for {
		phase := r.phase.Load()
		if phase == ending || r.fatal != nil {
			stop = r.snapshot()
			break
		}
		if phase == measuring && !started {
			start, started = r.snapshot(), true
		}
		r.turn()
	}
	drainErr := r.drain()
	res := &Result{Total: r.total, Window: window(&start, &stop), Errors: r.errors}
	return res, errors.Join(r.fatal, drainErr, ctx.Err())
}

// turn is one batch: fill, submit, wait, reap.
func (r *runner) turn() {
	batch := r.cfg.Batch
	wait, limit := 0, len(r.done)
	n := min(batch, len(r.free))
	if n > 0 {
		slots := r.free[len(r.free)-n:]
		slbas := r.slbas[:n]
		r.addr.fill(slbas)
		before := r.q.InFlight()
		err := r.q.ReadBatch(slots, slbas, r.cfg.NLB)
		published := r.q.InFlight() - before
		r.total.Issued += uint64(published)
		r.free = r.free[:len(r.free)-n]
		if err != nil {
			// Those that were refused are not in flight: give them back.
			r.free = append(r.free, slots[published:]...)
			r.fatal = err
			return
		}
	}
	full := len(r.free) == 0
	if r.cfg.Rule == RuleFio {
		limit = batch
		if full {
			wait = 1
		}
	} else if full {
		wait = batch
	}
	r.inFlightSum += uint64(r.q.InFlight())
	r.inFlightSamples++
	if err := r.q.Submit(wait); err != nil {
		r.fatal = err
		return
	}
	if r.cfg.Rule == RuleFio && !full {
		return // fio fills the queue before it reaps
	}
	r.take(limit)
}

func (r *runner) take(limit int) int {
	n := r.q.Take(r.done[:limit])
	for i := range r.done[:n] {
		c := &r.done[i]
		if c.Res == r.okRes {
			r.total.OK++
		} else {
			r.fail(*c)
		}
		r.free = append(r.free, c.Slot)
	}
	return n
}

func (r *runner) fail(c uringcmd.Completion) {
	err := r.q.Err(c)
	if err == nil {
		r.total.OK++
		return
	}
	if errors.Is(err, passthru.ErrCancelled) {
		r.total.Cancelled++
	} else {
		r.total.Failed++
	}
	r.errors[errorText(err)]++
	if errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO) {
		r.fatal = err
	}
}

// drain collects everything in flight; the queue's stall limit bounds it. After
// a stall it does not wait for the limit once more: the queue's Close does.
func (r *runner) drain() error {
	if errors.Is(r.fatal, uringcmd.ErrStalled) {
		return nil
	}
	for r.q.InFlight() > 0 {
		if err := r.q.Submit(1); err != nil {
			return fmt.Errorf("drain: %w", err)
		}
		r.take(len(r.done))
	}
	return nil
}

func (r *runner) snapshot() snapshot {
	s := snapshot{total: r.total, stats: r.q.Stats(), sum: r.inFlightSum, samples: r.inFlightSamples}
	s.userCPU, s.sysCPU = sys.ThreadCPU()
	s.at = time.Now()
	return s
}

func window(a, b *snapshot) Window {
	if a.at.IsZero() {
		return Window{} // ended before the window began
	}
	w := Window{
		Time: b.at.Sub(a.at),
		OK:   b.total.OK - a.total.OK, Failed: b.total.Failed - a.total.Failed, Cancelled: b.total.Cancelled - a.total.Cancelled,
		Enters: b.stats.Enters - a.stats.Enters, Submitted: b.stats.Submitted - a.stats.Submitted, Reaped: b.stats.Reaped - a.stats.Reaped,
		UserCPU: b.userCPU - a.userCPU, SystemCPU: b.sysCPU - a.sysCPU,
	}
	if n := b.samples - a.samples; n > 0 {
		w.InFlight = float64(b.sum-a.sum) / float64(n)
	}
	return w
}
