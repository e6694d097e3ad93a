package verify

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Schema is the version of a [Result], documented in docs/commands.md.
const Schema = "nvmepass.verify/1"

// Result is what came of a run. Blocks are logical blocks.
type Result struct {
	Schema string `json:"schema"`
	Device string `json:"device"`
	// Layout is that of the namespace, in short.
	Layout string `json:"layout"`
	Config Config `json:"config"`
	// FirstLBA and Blocks are the range.
	FirstLBA uint64 `json:"first_lba"`
	Blocks   uint64 `json:"blocks"`
	// Written, Verified and Mismatched count over all loops; Verified are those
	// that were read and compared, Mismatched are among them.
	Written    uint64 `json:"blocks_written"`
	Verified   uint64 `json:"blocks_verified"`
	Mismatched uint64 `json:"blocks_mismatched"`
	// Failed are commands that did not succeed; FailedBlocks is their length.
	Failed       uint64 `json:"commands_failed"`
	FailedBlocks uint64 `json:"blocks_failed"`
	// Generation is the last that was written or looked for.
	Generation uint32 `json:"generation"`
	// MetadataCompared says that metadata was, too.
	MetadataCompared bool `json:"metadata_compared"`
	// Interrupted says that the run was stopped before its end.
	Interrupted bool  `json:"interrupted"`
	ElapsedNS   int64 `json:"elapsed_ns"`
	// Mismatches and Failures are the first of each, at most
	// Config.MaxReports.
	Mismatches []Mismatch `json:"mismatches"`
	Failures   []Failure  `json:"failures"`
}

// Failure is a command that did not succeed.
type Failure struct {
	Op    string `json:"op"`
	SLBA  uint64 `json:"slba"`
	NLB   uint32 `json:"blocks"`
	Error string `json:"error"`
}

// Progress is how far a run is.
type Progress struct {
	// Op is what it does now, Loop which of Loops, from 1.
	Op          string
	Loop, Loops int
	// Done and Total are blocks over the whole run.
	Done, Total uint64
	Mismatched  uint64
	Elapsed     time.Duration
}

// Run verifies d, which has to be open for writing if the run writes. progress is
// called now and then, nil for nobody. A result comes with every error but those
// of the configuration; blocks that differ and commands that fail are no error of
// Run. When ctx is done the run stops, waits for what is in flight, and says so
// in the result.
func Run(ctx context.Context, d *passthru.Device, cfg Config, progress func(Progress)) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p, err := cfg.plan(d)
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	q, err := openQueue(d, &cfg, &p)
	if err != nil {
		return nil, err
	}
	r := &runner{
		cfg: &cfg, plan: p, q: q, progress: progress, start: time.Now(), slots: make([]span, cfg.QD), flush: func() error { return d.Flush(ctx) },
		image: NewImage(p.host, cfg.Seed, cfg.Metadata && cfg.passthru()),
		res: &Result{
			Schema: Schema, Device: d.Path(), Layout: d.Layout().String(), Config: cfg, FirstLBA: p.first, Blocks: p.blocks,
			MetadataCompared: cfg.Do != DoWrite && cfg.Metadata && cfg.passthru() && p.host.MetadataSize > 0, Mismatches: []Mismatch{}, Failures: []Failure{},
		},
	}
	err = r.run(ctx)
	r.res.ElapsedNS = time.Since(r.start).Nanoseconds()
	return r.res, errors.Join(err, q.Close())
}

// span is the command of a slot.
type span struct {
	slba uint64
	nlb  uint32
}

type runner struct {
	cfg      *Config
	plan     plan
	q        queue
	image    *Image
	res      *Result
	progress func(Progress)
	flush    func() error
	start    time.Time
	told     time.Time
	at       Progress
	slots    []span
	gone     error // the drive is no longer there, so that nothing more is sent
}

func (r *runner) run(ctx context.Context) error {
	passes := uint64(r.cfg.Loops)
	if r.cfg.Do == DoBoth {
		passes *= 2
	}
	r.at = Progress{Loops: r.cfg.Loops, Total: r.plan.blocks * passes}
	for loop := range r.cfg.Loops {
		r.at.Loop = loop + 1
		generation := r.cfg.Generation
		if r.cfg.Writes() {
			generation += uint32(loop)
		}
		r.image.Generation, r.res.Generation = generation, generation
		for _, write := range []bool{true, false} {
			if write && r.cfg.Do == DoRead || !write && r.cfg.Do == DoWrite {
				continue
			}
			if err := r.pass(ctx, write, uint64(loop)); err != nil || r.res.Interrupted {
				return err
			}
			if !write {
				continue
			}
			if err := r.flush(); err != nil {
				if ctx.Err() != nil {
					r.res.Interrupted = true
					return nil
				}
				return fmt.Errorf("flush what was written: %w", err)
			}
		}
	}
	return nil
}

// pass goes over the range once.
func (r *runner) pass(ctx context.Context, write bool, loop uint64) error {
	r.at.Op = DoRead
	if write {
		r.at.Op = DoWrite
	}
	todo := newOrder(r.plan.chunks, r.cfg.Random, r.cfg.Seed+loop)
	free := make([]int, 0, len(r.slots))
	for i := range r.slots {
		free = append(free, i)
	}
	done := make([]uringcmd.Completion, len(r.slots))
	ended := false
	for {
		for len(free) > 0 && !ended {
			if r.gone != nil {
				ended = true
				break
			}
			if ctx.Err() != nil {
				r.res.Interrupted, ended = true, true
				break
			}
			chunk, ok := todo.take()
			if !ok {
				ended = true
				break
			}
			slot := free[len(free)-1]
			if err := r.issue(slot, chunk, write); err != nil {
				return err
			}
			free = free[:len(free)-1]
		}
		if len(free) == len(r.slots) {
			return r.gone
		}
		if err := r.q.Submit(1); err != nil {
			return err
		}
		n := r.q.Take(done)
		for _, c := range done[:n] {
			r.finish(c, write)
			free = append(free, c.Slot)
		}
		r.tell()
	}
}

func (r *runner) issue(slot int, chunk uint64, write bool) error {
	begin := chunk * uint64(r.plan.nlb)
	s := span{r.plan.first + begin, uint32(min(uint64(r.plan.nlb), r.plan.blocks-begin))}
	r.slots[slot] = s
	data, meta := r.q.Buffer(slot), metadataOf(r.q, slot)
	if !write {
		// What the drive does not transfer must not pass for what it has.
		clear(data)
		clear(meta)
		return r.q.Read(slot, s.slba, s.nlb)
	}
	if err := r.image.Fill(data, meta, s.slba, s.nlb); err != nil {
		return err
	}
	return r.q.Write(slot, s.slba, s.nlb)
}

func (r *runner) finish(c uringcmd.Completion, write bool) {
	s := r.slots[c.Slot]
	r.at.Done += uint64(s.nlb)
	if err := r.q.Err(c); err != nil {
		r.res.Failed++
		r.res.FailedBlocks += uint64(s.nlb)
		if len(r.res.Failures) < r.cfg.MaxReports {
			r.res.Failures = append(r.res.Failures, Failure{r.at.Op, s.slba, s.nlb, err.Error()})
		}
		if errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO) {
			r.gone = err
		}
		return
	}
	if write {
		r.res.Written += uint64(s.nlb)
		return
	}
	data, meta := r.q.Buffer(c.Slot), metadataOf(r.q, c.Slot)
	for i := range int(s.nlb) {
		r.res.Verified++
		m := r.image.Check(data, meta, i, s.slba+uint64(i))
		if m == nil {
			continue
		}
		r.res.Mismatched++
		r.at.Mismatched = r.res.Mismatched
		if len(r.res.Mismatches) < r.cfg.MaxReports {
			r.res.Mismatches = append(r.res.Mismatches, *m)
		}
	}
}

// tell shows progress a few times a second.
func (r *runner) tell() {
	if r.progress == nil || time.Since(r.told) < 200*time.Millisecond {
		return
	}
	r.told = time.Now()
	r.at.Elapsed = r.told.Sub(r.start)
	r.progress(r.at)
}
