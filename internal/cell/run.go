package cell

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/blockio"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// queue is what the two kinds of queue offer beside the run loop's needs.
type queue interface {
	workload.Queue
	Settings() passthru.Settings
	Close() error
}

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
	q, nlb, err := s.open1(d, step)
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
	rule := workload.RuleFio
	if s.cfg.Rule == compare.RuleTIOUring {
		rule = workload.RuleTIO
	}
	res, err := workload.Run(ctx, q, workload.Config{
		Batch: step.Depth.Batch, Rule: rule, Pattern: workload.Pattern(s.cfg.RW), Seed: s.cfg.Seed + uint64(step.Order),
		Blocks: d.Limits().Blocks, NLB: nlb, Warmup: s.cfg.Warmup, Runtime: s.cfg.Runtime,
	})
	if res != nil {
		sample = s.sample(res, q.Settings())
	}
	return sample, stopIfGone(err)
}

func (s *Set) open1(d *passthru.Device, step compare.Step) (queue, uint32, error) {
	cfg := passthru.QueueConfig{
		Depth: step.Depth.QD, BufferSize: s.cfg.BlockSize, Poll: step.Path.Polled(),
		PlainBuffers: !s.cfg.FixedBuffers, PlainFile: !s.cfg.RegisteredFiles,
		// All paths alike: the thread does nothing else while it waits.
		HoldP: true,
	}
	if step.Path.Passthru() {
		q, err := d.NewQueue(cfg)
		if err != nil {
			return nil, 0, err
		}
		return q, q.Settings().BlocksPerBuffer, nil
	}
	q, err := blockio.NewQueue(d, cfg)
	if err != nil {
		return nil, 0, err
	}
	return q, q.Settings().BlocksPerBuffer, nil
}

// stopIfGone ends the comparison where no further cell can succeed: the drive
// is gone, or no longer answers, and each cell would wait for the stall limit.
func stopIfGone(err error) error {
	if errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ENXIO) || errors.Is(err, uringcmd.ErrStalled) {
		return fmt.Errorf("%w: %w", compare.ErrStop, err)
	}
	return err
}

func (s *Set) sample(r *workload.Result, set passthru.Settings) compare.Sample {
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
		Settings: compare.Settings{
			Polled: set.Polled, FixedBuffers: s.fixedText(set), RegisteredFiles: set.RegisteredFile,
			RegisteredRing: set.RegisteredRing, RingFlags: set.Flags.Names(),
		},
		Errors: r.Errors,
	}
}

func (s *Set) fixedText(set passthru.Settings) string {
	switch {
	case !s.cfg.FixedBuffers:
		return compare.FixedOff
	case set.FixedBuffers == fixedbuf.Whole:
		return compare.FixedWhole
	case set.FixedBuffers == fixedbuf.PerSlot:
		return compare.FixedPerSlot
	}
	return fmt.Sprintf("plain (%s)", set.FixedReason)
}
