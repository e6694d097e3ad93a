// Package nopio is a queue of commands that do nothing (IORING_OP_NOP): what a
// ring costs by itself, with no file, buffer or device behind it. It is driven
// by package workload like the queues of drives.
//
// A Queue belongs to the goroutine that opened it.
package nopio

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// Config is one queue. The fields are those of uringcmd.Config.
type Config struct {
	// Depth is the number of slots.
	Depth            int
	Linear, Rewind   bool
	SQPoll           *uringcmd.SQPoll
	Without          uringcmd.Flags
	NoRegisteredRing bool
	HoldP            bool
	StallLimit       time.Duration
	// Kernel replaces the running kernel in fault tests.
	Kernel sys.RingKernel
}

// Queue is a number of slots, each with a NOP in it.
type Queue struct {
	ring *uringcmd.Ring
}

// Open makes a ring of plain entries (64 and 16 bytes) and fills every slot
// once. The calling goroutine stays locked to its OS thread until Close.
func Open(cfg Config) (*Queue, error) {
	ring, err := uringcmd.New(uringcmd.Config{
		Slots: cfg.Depth, Linear: cfg.Linear, Rewind: cfg.Rewind, SQPoll: cfg.SQPoll, Without: cfg.Without,
		NoRegisteredRing: cfg.NoRegisteredRing, HoldP: cfg.HoldP, StallLimit: cfg.StallLimit, Kernel: cfg.Kernel,
	})
	if err != nil {
		return nil, fmt.Errorf("make NOP queue: %w", err)
	}
	for slot := range cfg.Depth {
		*ring.Entry(slot) = uringcmd.SQE{Opcode: uapi.OpNop, FD: -1}
	}
	if err := ring.Enable(); err != nil {
		return nil, errors.Join(fmt.Errorf("make NOP queue: %w", err), ring.Close())
	}
	return &Queue{ring}, nil
}

// Depth is the number of slots.
func (q *Queue) Depth() int { return q.ring.Slots() }

// ReadBatch publishes a NOP in each slot. There is nothing to read: addresses
// and length are not looked at.
func (q *Queue) ReadBatch(slots []int, _ []uint64, _ uint32) error {
	_, err := q.ring.PublishBatch(slots)
	return err
}

// ReadTurns goes round the loop of ReadBatch, Submit and Take; see
// uringcmd.Ring.Turns.
func (q *Queue) ReadTurns(slbas []uint64, _ uint32, l *uringcmd.Loop) (int, error) {
	return q.ring.Turns(slbas, -1, l)
}

// Submit sends everything published and waits; see uringcmd.Ring.Submit.
func (q *Queue) Submit(wait int) error { return q.ring.Submit(wait) }

// Take takes up to len(dst) completions that are there already.
func (q *Queue) Take(dst []uringcmd.Completion) int { return q.ring.Reap(dst) }

// InFlight counts published commands that were not reaped yet.
func (q *Queue) InFlight() int { return q.ring.InFlight() }

// OKResult is the Completion.Res of a NOP that succeeded.
func (q *Queue) OKResult() int32 { return 0 }

// Err is nil if the NOP of a completion succeeded.
func (q *Queue) Err(c uringcmd.Completion) error {
	switch {
	case c.Res == 0:
		return nil
	case c.Res < 0:
		errno := syscall.Errno(-int64(c.Res))
		return fmt.Errorf("NOP in slot %d: the kernel failed it: %w (errno %d)", c.Slot, errno, int(errno))
	}
	return fmt.Errorf("NOP in slot %d: result %d, and a NOP has none", c.Slot, c.Res)
}

// Stats counts what happened on the ring.
func (q *Queue) Stats() uringcmd.Stats { return q.ring.Stats() }

// Flags are the set-up flags that the kernel accepted.
func (q *Queue) Flags() uringcmd.Flags { return q.ring.Flags() }

// Registered tells whether the ring is entered by a registered index.
func (q *Queue) Registered() bool { return q.ring.Registered() }

// Close waits for all commands in flight and frees the ring; see
// uringcmd.Ring.Close.
func (q *Queue) Close() error { return q.ring.Close() }
