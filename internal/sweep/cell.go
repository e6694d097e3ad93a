package sweep

import (
	"context"
	"errors"
	"fmt"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/ioqueue"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/syncio"
	"github.com/nvmepass/nvmepass/internal/trial"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// queue is what a cell drives.
type queue interface {
	workload.Queue
	Close() error
}

// cell runs one cell on the calling thread.
func (s *Set) cell(ctx context.Context, step trial.Step) (sample compare.Sample, err error) {
	c := s.cells[step.Cell]
	open := s.openRing
	if c.Path.Synchronous() {
		open = s.openSync
	}
	q, effective, nlb, err := open(c)
	if err != nil {
		return sample, stopIfGone(err)
	}
	defer func() {
		cerr := q.Close()
		if errors.As(cerr, new(*uringcmd.LeakError)) {
			s.leaked = errors.Join(s.leaked, fmt.Errorf("%v: %w", c, cerr))
		}
		err = errors.Join(err, cerr)
	}()
	sample, err = trial.Measure(ctx, q, workload.Config{
		Batch: 1, Rule: iosetup.RuleFio, Pattern: workload.RandRead, Seed: s.cfg.Seed + uint64(step.Order),
		Blocks: s.dev.Limits().Blocks, NLB: nlb, Warmup: s.cfg.Warmup, Runtime: s.cfg.Runtime,
	}, uint64(c.BlockSize), effective)
	return sample, stopIfGone(err)
}

func (s *Set) openRing(c Cell) (queue, iosetup.Effective, uint32, error) {
	q, err := ioqueue.Open([]*passthru.Device{s.dev}, ioqueue.Config{
		Path: c.Path.Ring(), Mode: s.cfg.Mode, Depth: s.cfg.QD, BufferSize: c.BlockSize,
		// All paths alike: the thread does nothing else while it waits.
		HoldP: true,
		// A cell that must not be split is not run; see reason.
		AllowSplit: true,
	})
	if err != nil {
		return nil, iosetup.Effective{}, 0, err
	}
	return q, ioqueue.Effective(q.Settings(), &s.cfg.Mode), q.Settings().BlocksPerBuffer, nil
}

func (s *Set) openSync(c Cell) (queue, iosetup.Effective, uint32, error) {
	cfg := syncio.Config{Path: s.dev.BlockPath(), LBA: s.dev.Layout().LBASize, BufferSize: c.BlockSize, Poll: c.Path == SyncPoll}
	if s.cfg.HugePages {
		cfg.HugePages = fixedbuf.HugeTLB
	}
	q, err := syncio.Open(cfg)
	if err != nil {
		return nil, iosetup.Effective{}, 0, err
	}
	effective := iosetup.Effective{
		Polled: c.Path == SyncPoll && s.kernel.syncPolls, FixedBuffers: iosetup.FixedOff, HugePages: q.HugePages(), Vectored: true,
	}
	return q, effective, uint32(c.BlockSize) / s.dev.Layout().LBASize, nil
}
