package workload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/sys"
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

// writer is a Queue for patterns that write.
type writer interface {
	WriteBatch(slots []int, slbas []uint64, nlb uint32) error
}

// Config is one run.
type Config struct {
	// Batch is the number of commands per system call, 1 to the queue's depth.
	Batch int
	Rule  iosetup.BatchRule
	// Pattern and Seed choose addresses within the region of Blocks logical
	// blocks from First, random ones by Distribution. The other patterns begin
	// at the share Start of the region, 0 to below 1.
	Pattern       Pattern
	Distribution  Distribution
	Seed          uint64
	First, Blocks uint64
	Start         float64
	// NLB is the length of each command in logical blocks.
	NLB uint32
	// ReadShare is the share of reads of the mixed patterns, 0 to 1.
	ReadShare float64
	// Build publishes the command of a slot, for patterns of commands that
	// the queue has no batch call for: Pattern.Commands.
	Build func(slot int, slba uint64) error
	// Count ends the run after so many commands were issued in the window; 0 is
	// no limit. All of them end in it, as do those that a warm-up left in flight.
	Count uint64
	// Rate is the most commands per second, 0 for no limit: at even distances,
	// or as a Poisson process. Latencies then count from the times due.
	Rate    float64
	Poisson bool
	// Latency has every command timed, by one reading of the clock per batch
	// submitted and one per batch reaped.
	Latency bool
	// Devices is the number of devices that share the queue: slot i belongs to
	// device i mod Devices. 0 is 1.
	Devices int
	// Warmup is run and not measured; Runtime is the window. RunLed has them
	// from its Control.
	Warmup, Runtime time.Duration
}

type runner struct {
	q       Queue
	cfg     *Config
	ctl     *Control
	meter   *Meter
	addr    [2]*addresses // by number of the direction
	started bool          // the window
	began   func()        // is called when it begins, unless nil
	end     *time.Timer   // of the window, of a run that is not led

	// Of cfg, so that no batch compares strings.
	fio, mixed, timed bool

	free  []int // slots not in flight
	slbas []uint64
	done  []uringcmd.Completion
	okRes int32

	total           Counts
	inFlightSum     uint64
	inFlightSamples uint64
	errors          map[string]uint64
	fatal           error

	loopOf uringcmd.Loop // of turnReads
	drawn  []uint64      // its addresses
	ahead  []uint64      // those of drawn that are not used yet

	left   uint64  // commands that may still be issued
	detail *detail // nil unless more than the totals is asked for
	gen    random  // of the mix of reads and writes
	write  writer  // nil unless the pattern writes
	reads  [2]bool // by number of the direction
	pace   *pacer  // nil without a rate
	dueBuf []int64 // times of a batch that pace has due
	epoch  time.Time
	now    int64 // of the last batch, since epoch; only with pace or latency
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

// RunLed is Run with warm-up, window and end as ctl has them, which may lead
// other runs as well. Samples go to meter, if it is not nil.
func RunLed(q Queue, cfg Config, ctl *Control, meter *Meter) (*Result, error) {
	cfg.Warmup, cfg.Runtime = 0, 0
	r, err := newRunner(q, &cfg)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	r.ctl, r.meter = ctl, meter
	return r.loop()
}

func newRunner(q Queue, cfg *Config) (*runner, error) {
	if err := cfg.check(q); err != nil {
		return nil, err
	}
	r := &runner{
		q: q, cfg: cfg, ctl: &Control{}, okRes: q.OKResult(),
		free: make([]int, q.Depth()), slbas: make([]uint64, cfg.Batch), done: make([]uringcmd.Completion, q.Depth()),
		errors: map[string]uint64{}, left: math.MaxUint64, gen: random{^cfg.Seed}, epoch: time.Now(),
	}
	r.write, _ = q.(writer)
	r.fio, r.mixed, r.timed = cfg.Rule == iosetup.RuleFio, cfg.Pattern.Mixed(), cfg.Latency || cfg.Rate > 0
	for i, d := range cfg.Pattern.Directions() {
		var err error
		r.reads[i] = d == DirRead
		if r.addr[i], err = newAddresses(cfg, cfg.Seed+uint64(i)<<32); err != nil {
			return nil, err
		}
	}
	if cfg.Rate > 0 {
		r.pace, r.dueBuf = newPacer(cfg.Rate, cfg.Poisson, ^cfg.Seed<<1), make([]int64, cfg.Batch)
	}
	if cfg.Pattern.Mixed() || cfg.Devices > 1 || cfg.Latency {
		r.detail = newDetail(cfg, q.Depth())
	}
	for i := range r.free {
		r.free[i] = len(r.free) - 1 - i // slot 0 on top of the stack
	}
	return r, nil
}

func (cfg *Config) check(q Queue) error {
	if cfg.Batch < 1 || cfg.Batch > q.Depth() {
		return fmt.Errorf("batch %d: need 1 to the queue depth of %d", cfg.Batch, q.Depth())
	}
	if cfg.Rule != iosetup.RuleFio && cfg.Rule != iosetup.RuleTIOUring {
		return fmt.Errorf("batching rule %q: need %q or %q", cfg.Rule, iosetup.RuleFio, iosetup.RuleTIOUring)
	}
	if cfg.Warmup < 0 || cfg.Runtime < 0 || cfg.Warmup+cfg.Runtime < 0 {
		return fmt.Errorf("warm-up of %v and run time of %v: neither may be negative, nor their sum beyond 292 years", cfg.Warmup, cfg.Runtime)
	}
	if !slices.Contains(Patterns(), cfg.Pattern) {
		return fmt.Errorf("pattern %q: need one of %s", cfg.Pattern, list(Patterns()))
	}
	if _, ok := q.(writer); !ok && cfg.Pattern.Writes() && !cfg.Pattern.Commands() {
		return fmt.Errorf("pattern %q: this queue cannot write", cfg.Pattern)
	}
	if cfg.Pattern.Commands() != (cfg.Build != nil) {
		return fmt.Errorf("pattern %q: reads and writes need no builder of commands, and the others need one", cfg.Pattern)
	}
	if !(cfg.ReadShare >= 0 && cfg.ReadShare <= 1) {
		return fmt.Errorf("share of reads %v: need 0 to 1", cfg.ReadShare)
	}
	if !(cfg.Rate >= 0 && cfg.Rate <= 1e9) {
		return fmt.Errorf("rate of %v commands per second: need 0 (no limit) to 1e9", cfg.Rate)
	}
	if cfg.Devices < 0 || cfg.Devices > q.Depth() {
		return fmt.Errorf("%d devices: need 1 to the queue depth of %d, so that each has a slot", cfg.Devices, q.Depth())
	}
	return nil
}

// run has the timers of a run by itself.
func (r *runner) run(ctx context.Context) (*Result, error) {
	if r.cfg.Warmup == 0 {
		r.ctl.Measure()
	} else {
		t := time.AfterFunc(r.cfg.Warmup, func() { r.ctl.Measure() })
		defer t.Stop()
	}
	// The window's end is set when the loop begins it, so that a thread that
	// was kept from running has its window all the same.
	r.began = func() { r.end = time.AfterFunc(r.cfg.Runtime, r.ctl.End) }
	defer func() {
		if r.end != nil {
			r.end.Stop()
		}
	}()
	defer context.AfterFunc(ctx, r.ctl.End)()
	if ctx.Err() != nil {
		r.ctl.End() // now: the call above tells in its own time
	}
	res, err := r.loop()
	return res, errors.Join(err, ctx.Err())
}

// loop goes from batch to batch. Whatever is asked of it comes through the
// control word.
func (r *runner) loop() (*Result, error) {
	var start, stop snapshot
	seen := uint32(warmingUp)
	reader := r.reader()
	for {
		word := r.ctl.word.Load()
		if word != seen {
			seen = word
			if word&phaseMask == ending {
				break
			}
			if word&phaseMask == measuring && !r.started {
				start = r.begin()
			}
			r.sample(word / oneSample)
		}
		if r.fatal != nil || r.left == 0 {
			break
		}
		if reader != nil {
			r.turnReads(reader, seen)
		} else {
			r.turn()
		}
	}
	byCount := r.left == 0 && r.fatal == nil
	if !byCount {
		stop = r.snapshot()
	}
	r.keepLatency(byCount)
	drainErr := r.drain()
	if byCount { // then the window has every command of the count
		stop = r.snapshot()
	}
	r.sample(r.ctl.word.Load() / oneSample)
	res := &Result{Total: r.total, Window: window(&start, &stop), Errors: r.errors}
	if r.detail != nil {
		res.Cells = slices.Clone(r.detail.cells)
		if r.started {
			res.Window.Latency = r.detail.hist
		}
	}
	return res, errors.Join(r.fatal, drainErr)
}

// begin begins the window.
func (r *runner) begin() snapshot {
	r.started = true
	if r.began != nil {
		r.began()
	}
	if r.cfg.Count > 0 {
		r.left = r.cfg.Count
	}
	r.keepLatency(true)
	return r.snapshot()
}

// keepLatency says whether commands that end from now on are recorded: those of
// the window are.
func (r *runner) keepLatency(on bool) {
	if r.detail != nil {
		r.detail.timed = on && r.started
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
	if r.detail != nil {
		s.cells = slices.Clone(r.detail.cells)
	}
	s.userCPU, s.sysCPU = sys.ThreadCPU()
	s.at = time.Now()
	return s
}

// sample tells the meter where the run stands.
func (r *runner) sample(number uint32) {
	if r.meter == nil {
		return
	}
	stats := r.q.Stats()
	l := Live{
		Number: number, At: time.Now(), Total: r.total, InFlight: r.inFlightSum, Calls: r.inFlightSamples,
		Enters: stats.Enters, Submitted: stats.Submitted, Reaped: stats.Reaped,
	}
	var cells []Counts
	if r.detail != nil {
		cells = r.detail.cells
	}
	r.meter.set(&l, cells)
}
