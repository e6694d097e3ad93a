package nopbench

import (
	"context"
	"errors"
	"fmt"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/ioqueue"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/nopio"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/trial"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Bench measures a configuration.
type Bench struct {
	cfg    Config
	cells  []Cell
	null   *passthru.Device // nil for NOPs
	leaked error
	kernel sys.RingKernel // nil but in fault tests
}

// Open checks the configuration and what it needs of this machine, and opens
// /dev/null where commands go there.
func Open(cfg Config) (*Bench, error) {
	cfg.Normalize()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := trial.CheckCPU(cfg.CPU); err != nil {
		return nil, err
	}
	if _, err := uringcmd.ProbeKernel(); err != nil {
		return nil, err
	}
	b := &Bench{cfg: cfg, cells: cfg.cells()}
	if cfg.Op == URINGCmd {
		var err error
		if b.null, err = passthru.OpenNull(passthru.NullConfig{}); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Close closes what Open opened. Its error also says which cells left commands
// with the kernel for good.
func (b *Bench) Close() error {
	if b.null == nil {
		return b.leaked
	}
	return errors.Join(b.leaked, b.null.Close())
}

// Run measures all cells in interleaved rounds. If it ends early, the result so
// far comes beside the error. ToolVersion and Environment are the caller's to
// fill.
func (b *Bench) Run(ctx context.Context, progress func(compare.Progress)) (*Result, error) {
	task := trial.Task{
		Settings: b.cfg.Settings, Cells: len(b.cells), Progress: progress,
		Label: func(i int) compare.Cell {
			c := b.cells[i]
			return compare.Cell{Path: iosetup.Path(c.Op), Depth: c.Depth, Variant: c.Variant}
		},
		Run: func(ctx context.Context, step trial.Step) (compare.Sample, error) {
			return trial.OnThread(b.cfg.CPU, func() (compare.Sample, error) { return b.cell(ctx, step) })
		},
	}
	outcome, rounds, err := task.Execute(ctx)
	r := &Result{Schema: Schema, Outcome: outcome, Config: b.cfg}
	for i, c := range b.cells {
		r.Cells = append(r.Cells, CellResult{Cell: c, Rounds: rounds[i]})
	}
	r.Summarize()
	return r, err
}

// queue is what a cell drives.
type queue interface {
	workload.Queue
	Close() error
}

// cell runs one cell on the calling thread.
func (b *Bench) cell(ctx context.Context, step trial.Step) (sample compare.Sample, err error) {
	c := b.cells[step.Cell]
	mode, err := iosetup.ModeVariant(b.cfg.Mode, c.Variant)
	if err != nil {
		return sample, err
	}
	open := b.openNOP
	run := workload.Config{
		Batch: c.Depth.Batch, Rule: b.cfg.Rule, Warmup: b.cfg.Warmup, Runtime: b.cfg.Runtime,
		Pattern: workload.Read, Blocks: 1, NLB: 1, // a NOP has no address
	}
	if c.Op == URINGCmd {
		open = b.openNull
		run.Pattern, run.Blocks, run.Seed = workload.RandRead, b.null.Limits().Blocks, b.cfg.Seed+uint64(step.Order)
	}
	q, effective, err := open(c.Depth.QD, &mode)
	if err != nil {
		return sample, err
	}
	defer func() {
		cerr := q.Close()
		if errors.As(cerr, new(*uringcmd.LeakError)) {
			b.leaked = errors.Join(b.leaked, fmt.Errorf("%v: %w", c, cerr))
		}
		err = errors.Join(err, cerr)
	}()
	sample, err = trial.Measure(ctx, q, run, 0, effective)
	if errors.Is(err, uringcmd.ErrStalled) {
		err = fmt.Errorf("%w: %w", compare.ErrStop, err)
	}
	return sample, err
}

func (b *Bench) openNOP(depth int, m *iosetup.Mode) (queue, iosetup.Effective, error) {
	q, err := nopio.Open(nopio.Config{
		Depth: depth, Linear: m.Array != iosetup.ArrayIndex, Rewind: m.Array == iosetup.ArrayRewind, SQPoll: ioqueue.SQPoll(m),
		Without: ioqueue.Without(m), NoRegisteredRing: !m.RegisteredRing, HoldP: true, Kernel: b.kernel,
	})
	if err != nil {
		return nil, iosetup.Effective{}, err
	}
	return q, iosetup.Effective{FixedBuffers: iosetup.FixedOff, RegisteredRing: q.Registered(), RingFlags: q.Flags().Names()}, nil
}

func (b *Bench) openNull(depth int, m *iosetup.Mode) (queue, iosetup.Effective, error) {
	q, err := ioqueue.Open([]*passthru.Device{b.null}, ioqueue.Config{Path: iosetup.Passthru, Mode: *m, Depth: depth, HoldP: true})
	if err != nil {
		return nil, iosetup.Effective{}, fmt.Errorf("%w; NVMe commands to /dev/null need Linux 6.0, NOPs (--op nop) do not", err)
	}
	return q, ioqueue.Effective(q.Settings(), m), nil
}
