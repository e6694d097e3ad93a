package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nvmepass/nvmepass/internal/compare"
)

// Outcome is what a plan gave.
type Outcome struct {
	// Started and Finished are in UTC, to the millisecond.
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Interrupted says that the plan was not carried out to its end; StopReason
	// says why.
	Interrupted bool   `json:"interrupted"`
	StopReason  string `json:"stop_reason"`
	// Totals are the sums over all samples, warm-up and drain included.
	Totals compare.Counts `json:"totals"`
}

// Task is a set of cells to run.
type Task struct {
	Settings
	// Cells is their number. Skip, which may be nil, names those that are not
	// run.
	Cells int
	Skip  func(cell int) bool
	// Label names a cell in progress reports.
	Label func(cell int) compare.Cell
	// Run runs one cell. It may return a sample beside its error, which then
	// counts in the totals only.
	Run func(ctx context.Context, step Step) (compare.Sample, error)
	// Progress is called before and after each step; it may be nil.
	Progress func(compare.Progress)
}

// Execute carries out the task. It returns the rounds of each cell in the order in
// which they ran; a cell that was not run has none.
//
// It ends early when ctx is done or an error of a cell wraps compare.ErrStop. It
// then returns what it has, marked as interrupted, together with the cause.
func (t *Task) Execute(ctx context.Context) (Outcome, [][]Round, error) {
	var plan []Step
	for _, step := range Plan(t.Cells, t.Rounds, t.Seed) {
		if t.Skip == nil || !t.Skip(step.Cell) {
			step.Order = len(plan) + 1
			plan = append(plan, step)
		}
	}
	rounds := make([][]Round, t.Cells)
	for i := range rounds {
		rounds[i] = []Round{}
	}
	begin := time.Now()
	out := Outcome{Started: timestamp(begin)}
	p := compare.Progress{Steps: len(plan), Rounds: t.Rounds}
	report := func(ended bool, err error) {
		p.Ended, p.Err, p.Elapsed = ended, err, time.Since(begin)
		p.Remaining = t.remaining(p)
		if t.Progress != nil {
			t.Progress(p)
		}
	}
	var stop error
	for _, step := range plan {
		if stop = context.Cause(ctx); stop != nil {
			break
		}
		p.Step = compare.Step{Cell: t.Label(step.Cell), Round: step.Round, Order: step.Order}
		report(false, nil)
		started := time.Now()
		sample, err := t.Run(ctx, step)
		if errors.Is(err, compare.ErrStop) {
			stop = err
		}
		round, err := newRound(&t.Settings, step, started, sample, err, ctx.Err() != nil)
		if round.Interrupted {
			stop = context.Cause(ctx)
		}
		rounds[step.Cell] = append(rounds[step.Cell], round)
		if round.Sample != nil {
			add(&out.Totals, round.Sample.Run)
		}
		p.Done++
		if err != nil {
			p.Failed++
		}
		report(true, err)
		if stop != nil {
			break
		}
	}
	out.Finished = timestamp(time.Now())
	if stop != nil {
		out.Interrupted, out.StopReason = true, stop.Error()
		return out, rounds, fmt.Errorf("ended after %d of %d runs: %w", p.Done, p.Steps, stop)
	}
	return out, rounds, nil
}

func add(sum *compare.Counts, c compare.Counts) {
	sum.Issued += c.Issued
	sum.OK += c.OK
	sum.Failed += c.Failed
	sum.Cancelled += c.Cancelled
}

// remaining estimates the time for the steps that have not ended: from those
// that have, else from the settings.
func (t *Task) remaining(p compare.Progress) time.Duration {
	left := float64(p.Steps - p.Done)
	if p.Done == 0 {
		return time.Duration(min(left*float64(t.Warmup+t.Runtime), 1<<62))
	}
	return time.Duration(float64(p.Elapsed) / float64(p.Done) * left)
}
