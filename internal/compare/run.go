package compare

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrStop ends a comparison when the error of a cell wraps it: the device is gone, say, and no further cell can succeed.
var ErrStop = errors.New("no further cell can run")

// completeShare is the share of the wanted window from which a run that was cancelled meanwhile still counts as whole.
const completeShare = 0.95

// Progress is the state of a comparison just before and just after a step.
type Progress struct {
	// Step is the one that starts or has ended.
	Step Step
	// Ended is false before the step and true after it.
	Ended bool
	// Err is why the ended step has no figure; nil when it has one.
	Err error
	// Done of Steps have ended.
	Done, Steps int
	// Rounds is the number of rounds wanted.
	Rounds int
	// Failed counts the ended steps that have no figure.
	Failed int
	// Elapsed is the time since the start; Remaining is estimated from the steps so far.
	Elapsed, Remaining time.Duration
}

// Run carries out the plan of cfg: it calls runCell for each step, one after the other, and returns what was measured. The
// progress function, which may be nil, is called before and after each step.
//
// A step whose runCell returns an error is recorded with it and the plan goes on. runCell may return a sample beside its error;
// it counts in the totals only.
//
// Run ends early when ctx is done or an error of runCell wraps [ErrStop]. It then returns the result so far, marked as
// interrupted, together with the cause. An invalid cfg gives a nil result and the error of [Config.Validate].
func Run(
	ctx context.Context, cfg Config, runCell func(context.Context, Step) (Sample, error), progress func(Progress),
) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	plan := Plan(cfg)
	res := newResult(cfg)
	index := make(map[Cell]int, len(res.Cells))
	for i := range res.Cells {
		index[res.Cells[i].Cell] = i
	}
	begin := time.Now()
	p := Progress{Steps: len(plan), Rounds: cfg.Rounds}
	report := func(ended bool, err error) {
		p.Ended, p.Err, p.Elapsed = ended, err, time.Since(begin)
		p.Remaining = remaining(cfg, p)
		if progress != nil {
			progress(p)
		}
	}
	var stop error
	for _, step := range plan {
		if stop = context.Cause(ctx); stop != nil {
			break
		}
		p.Step = step
		report(false, nil)
		started := time.Now()
		sample, err := runCell(ctx, step)
		if errors.Is(err, ErrStop) {
			stop = err
		}
		round, err := newRound(cfg, step, started, sample, err, ctx.Err() != nil)
		if round.Interrupted {
			stop = context.Cause(ctx)
		}
		cell := &res.Cells[index[step.Cell]]
		cell.Rounds = append(cell.Rounds, round)
		p.Done++
		if err != nil {
			p.Failed++
		}
		report(true, err)
		if stop != nil {
			break
		}
	}
	if stop != nil {
		res.Interrupted, res.StopReason = true, stop.Error()
	}
	res.Finished = timestamp(time.Now())
	res.aggregate()
	if stop != nil {
		return res, fmt.Errorf("compare: ended after %d of %d steps: %w", p.Done, p.Steps, stop)
	}
	return res, nil
}

func newResult(cfg Config) *Result {
	res := &Result{Schema: Schema, Started: timestamp(time.Now()), Config: cfg, Warnings: []string{}}
	res.Environment.normalize()
	for _, c := range cfg.cells() {
		res.Cells = append(res.Cells, CellResult{Cell: c, Rounds: []Round{}})
	}
	return res
}

// newRound records one step. The error it returns is the reason why the round is not used.
func newRound(cfg Config, step Step, started time.Time, sample Sample, err error, cancelled bool) (Round, error) {
	round := Round{Round: step.Round, Order: step.Order, Started: timestamp(started)}
	window := time.Duration(sample.WindowNS)
	switch {
	case cancelled && (err != nil || float64(window) < completeShare*float64(cfg.Runtime)):
		round.Interrupted = true
		if err == nil {
			err = fmt.Errorf("interrupted after %v of %v", window.Round(time.Millisecond), cfg.Runtime)
		}
	case err == nil:
		err = sample.check()
	}
	if err != nil {
		round.Error = err.Error()
	}
	if err == nil || sample.Run != (Counts{}) || sample.WindowNS != 0 {
		sample.normalize()
		rates := sample.Rates()
		round.Sample, round.Rates = &sample, &rates
	}
	return round, err
}

// remaining estimates the time for the steps that have not ended: from those that have, else from the configuration.
func remaining(cfg Config, p Progress) time.Duration {
	left := float64(p.Steps - p.Done)
	if p.Done == 0 {
		return time.Duration(min(left*float64(cfg.Warmup+cfg.Runtime), 1<<62))
	}
	return time.Duration(float64(p.Elapsed) / float64(p.Done) * left)
}

// timestamp drops what JSON does not keep: the monotonic clock, the zone, and digits that mean nothing here.
func timestamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
