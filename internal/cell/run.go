package cell

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/ioqueue"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Run runs one cell. It works on an OS thread of its own, which ends with the
// cell, so that pinning leaves no trace; no garbage is collected meanwhile.
func (s *Set) Run(ctx context.Context, step compare.Step) (compare.Sample, error) {
	type outcome struct {
		sample compare.Sample
		err    error
	}
	done := make(chan outcome)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends here
		sample, err := s.run(ctx, step)
		done <- outcome{sample, err}
	}()
	o := <-done
	return o.sample, o.err
}

func (s *Set) run(ctx context.Context, step compare.Step) (sample compare.Sample, err error) {
	if s.cfg.CPU != nil {
		if err := sys.PinThread(*s.cfg.CPU); err != nil {
			return sample, fmt.Errorf("pin to CPU %d: %w", *s.cfg.CPU, err)
		}
	}
	d := s.devices[step.Device]
	mode, err := iosetup.ModeVariant(s.cfg.Mode, step.Variant)
	if err != nil {
		return sample, err
	}
	q, err := ioqueue.Open([]*passthru.Device{d}, ioqueue.Config{
		Path: step.Path, Mode: mode, Depth: step.Depth.QD, BufferSize: s.cfg.BlockSize,
		// All paths alike: the thread does nothing else while it waits.
		HoldP: true,
	})
	if err != nil {
		return sample, stopIfGone(err)
	}
	defer func() {
		cerr := q.Close()
		if errors.As(cerr, new(*uringcmd.LeakError)) {
			s.leaked = errors.Join(s.leaked, fmt.Errorf("%v: %w", step.Cell, cerr))
		}
		err = errors.Join(err, cerr)
	}()

	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	res, err := workload.Run(ctx, s.delay(q, step.Round), workload.Config{
		Batch: step.Depth.Batch, Rule: s.cfg.Rule, Pattern: workload.Pattern(s.cfg.RW), Seed: s.cfg.Seed + uint64(step.Order),
		Blocks: d.Limits().Blocks, NLB: q.Settings().BlocksPerBuffer, Warmup: s.cfg.Warmup, Runtime: s.cfg.Runtime,
	})
	if res != nil {
		sample = s.sample(res, ioqueue.Effective(q.Settings(), &mode))
	}
	return sample, stopIfGone(err)
}

// stopIfGone ends the comparison where no further cell can succeed: the drive
// is gone, or no longer answers, and each cell would wait for the stall limit.
func stopIfGone(err error) error {
	if errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO) || errors.Is(err, uringcmd.ErrStalled) {
		return fmt.Errorf("%w: %w", compare.ErrStop, err)
	}
	return err
}

func (s *Set) sample(r *workload.Result, effective iosetup.Effective) compare.Sample {
	w := r.Window
	var inFlight *float64
	if w.InFlight > 0 { // 0 is no submission: a batch counts before it is sent
		inFlight = compare.Float(w.InFlight)
	}
	return compare.Sample{
		WindowNS: w.Time.Nanoseconds(),
		OK:       w.OK, Failed: w.Failed, Cancelled: w.Cancelled,
		Run:           compare.Counts{Issued: r.Total.Issued, OK: r.Total.OK, Failed: r.Total.Failed, Cancelled: r.Total.Cancelled},
		Bytes:         w.OK * uint64(s.cfg.BlockSize),
		Enters:        w.Enters,
		SubmitPerCall: compare.Float(float64(w.Submitted) / float64(w.Enters)),
		ReapPerCall:   compare.Float(float64(w.Reaped) / float64(w.Enters)),
		MeanInFlight:  inFlight,
		UserCPUNS:     w.UserCPU.Nanoseconds(), SystemCPUNS: w.SystemCPU.Nanoseconds(),
		Settings: effective,
		Errors:   r.Errors,
	}
}
