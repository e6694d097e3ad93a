package sweep

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/trial"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Set is an open and checked device with its plan.
type Set struct {
	cfg    Config
	dev    *passthru.Device
	limits Limits
	kernel kernel
	cells  []Cell
	leaked error
}

// Open opens the device for reading and checks that every path and size can
// run. Where cfg has no sizes, it gets those of DefaultSizes; the sizes are
// written to cfg. Nothing has been read beyond Identify when Open fails.
func Open(cfg *Config) (*Set, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := trial.CheckCPU(cfg.CPU); err != nil {
		return nil, err
	}
	if _, err := uringcmd.ProbeKernel(); err != nil {
		return nil, err
	}
	d, err := passthru.Open(cfg.Device, nil)
	if err != nil {
		return nil, err
	}
	s := &Set{dev: d, limits: findLimits(d.Limits(), queueDir(d.BlockPath())), kernel: kernelOf(sys.KernelRelease(), blockio.SplitPolled())}
	if err := s.plan(cfg); err != nil {
		return nil, errors.Join(&passthru.OpError{Op: "sweep", Path: cfg.Device, Err: err}, d.Close())
	}
	return s, nil
}

func (s *Set) plan(cfg *Config) error {
	if err := checkPaths(s.dev, cfg.Paths); err != nil {
		return err
	}
	if len(cfg.Sizes) == 0 {
		for _, n := range DefaultSizes(unit(s.dev), s.limits.OneCommand) {
			if s.anyPath(cfg.Paths, n) {
				cfg.Sizes = append(cfg.Sizes, n)
			}
		}
	}
	if err := checkSizes(s.dev, &s.limits, s.kernel, cfg); err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil { // now with all its cells
		return err
	}
	s.cfg, s.cells = *cfg, cfg.cells()
	return nil
}

// anyPath tells whether any path can run reads of n bytes.
func (s *Set) anyPath(paths []Path, n int) bool {
	for _, p := range paths {
		if reason(s.dev, &s.limits, s.kernel, Cell{n, p}) == "" {
			return true
		}
	}
	return false
}

// Device is the open device.
func (s *Set) Device() *passthru.Device { return s.dev }

// Close closes the device. Its error also says which cells left commands with
// the kernel for good.
func (s *Set) Close() error { return errors.Join(s.leaked, s.dev.Close()) }

// Run measures all cells in interleaved rounds. If it ends early, the result so
// far comes beside the error. ToolVersion and Environment are the caller's to
// fill.
func (s *Set) Run(ctx context.Context, progress func(compare.Progress)) (*Result, error) {
	r := &Result{Schema: Schema, Config: s.cfg, Limits: s.limits}
	for _, c := range s.cells {
		r.Cells = append(r.Cells, CellResult{Cell: c, Commands: s.pieces(c), NotRun: reason(s.dev, &s.limits, s.kernel, c)})
	}
	task := trial.Task{
		Settings: s.cfg.Settings, Cells: len(s.cells), Progress: progress,
		Skip: func(i int) bool { return r.Cells[i].NotRun != "" },
		Label: func(i int) compare.Cell {
			return compare.Cell{Device: s.cfg.Device, Path: iosetup.Path(s.cells[i].String()), Depth: iosetup.Depth{QD: s.cfg.QD, Batch: 1}}
		},
		Run: func(ctx context.Context, step trial.Step) (compare.Sample, error) {
			return trial.OnThread(s.cfg.CPU, func() (compare.Sample, error) { return s.cell(ctx, step) })
		},
	}
	outcome, rounds, err := task.Execute(ctx)
	r.Outcome = outcome
	for i := range r.Cells {
		r.Cells[i].Rounds = rounds[i]
	}
	r.Summarize()
	return r, err
}

func (s *Set) pieces(c Cell) int {
	if c.Path.Passthru() {
		return 1
	}
	return s.limits.Pieces(c.BlockSize)
}

// stopIfGone ends the sweep where no further cell can succeed: the drive is
// gone, or no longer answers, and each cell would wait for the stall limit.
func stopIfGone(err error) error {
	if errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO) || errors.Is(err, uringcmd.ErrStalled) {
		return fmt.Errorf("%w: %w", compare.ErrStop, err)
	}
	return err
}
